// Package connpool looks below the connection pools that GORM and its plugins wrap around a *sql.DB.
package connpool

import (
	"database/sql"
	"reflect"

	"gorm.io/gorm"
)

// Unwrap returns what a pool passes its statements to, usually the pool itself, and whether that is a transaction.
// sqllease.New decides in the same way.
func Unwrap(pool gorm.ConnPool) (inner gorm.ConnPool, transaction bool) {
	for {
		if _, ok := pool.(gorm.TxCommitter); !ok {
			return pool, false
		}

		v := reflect.Indirect(reflect.ValueOf(pool))
		if v.Kind() != reflect.Struct {
			return pool, true
		}

		// The wrapper of gorm.io/sharding always has the methods of a transaction.
		field, ok := v.Type().FieldByName("ConnPool")
		if !ok || len(field.Index) > 1 {
			return pool, true
		}

		next, ok := reflect.TypeAssert[gorm.ConnPool](v.FieldByIndex(field.Index))
		if !ok {
			return pool, true
		}
		pool = next
	}
}

// IsSharded reports whether gorm.io/sharding has wrapped the pool.
func IsSharded(pool gorm.ConnPool) bool {
	inner, _ := Unwrap(pool)
	return !Same(inner, pool)
}

// Unprepared returns the pool below GORM's cache of prepared statements, and below the wrapper that gorm.io/sharding
// makes for each statement.
func Unprepared(pool gorm.ConnPool) gorm.ConnPool {
	for {
		if prepared, ok := pool.(*gorm.PreparedStmtDB); ok && prepared != nil {
			pool = prepared.ConnPool
		} else if IsSharded(pool) {
			pool, _ = Unwrap(pool)
		} else {
			return pool
		}
	}
}

// Same reports whether two pools are one. It assumes so for pools of one type that Go cannot compare.
func Same(a, b gorm.ConnPool) bool {
	if !reflect.ValueOf(a).Comparable() || !reflect.ValueOf(b).Comparable() {
		return reflect.TypeOf(a) == reflect.TypeOf(b)
	}
	return a == b
}

// SQLDB returns the *sql.DB of a pool, or nil.
func SQLDB(pool gorm.ConnPool) *sql.DB {
	db, err := (&gorm.DB{Config: &gorm.Config{ConnPool: pool}}).DB()
	if err != nil {
		return nil
	}
	return db
}
