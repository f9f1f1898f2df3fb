package gormplugin

import (
	"context"
	"database/sql"
	"fmt"
	"reflect"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

// checkHandle returns an error if Open cannot keep a lease through the handle.
func checkHandle(db *gorm.DB) error {
	if db == nil || db.Config == nil || db.Statement == nil || db.Dialector == nil || db.Statement.ConnPool == nil {
		return fmt.Errorf("gormplugin: Open needs a handle of gorm.Open: %w", gorm.ErrInvalidDB)
	}
	if db.Error != nil {
		return fmt.Errorf("gormplugin: Open with a handle that has failed: %w", db.Error)
	}
	if _, ok := db.Plugins[Name]; ok {
		return fmt.Errorf("gormplugin: %s: %w", Name, gorm.ErrRegistered)
	}
	return checkPool(db.Statement.ConnPool)
}

// checkPool refuses what ends before the lease does.
func checkPool(pool gorm.ConnPool) error {
	switch pool.(type) {
	case gorm.TxCommitter:
		return fmt.Errorf("gormplugin: Open in a transaction, which would undo the lease: %w", gorm.ErrInvalidTransaction)
	case *sql.Conn:
		return fmt.Errorf("gormplugin: Open on a single connection, which ends before the lease: %w", gorm.ErrInvalidDB)
	case nil:
		return fmt.Errorf("gormplugin: Open on a handle without a pool of connections: %w", gorm.ErrInvalidDB)
	}
	return nil
}

// draws is how often a resolver is asked. One that chooses among two sources by chance gives one and the same each time
// once in two thousand million tries.
const draws = 32

// writePool returns the pool that a statement would get which writes to the table: plugins such as dbresolver choose it in
// a callback. It asks with a dry run, so that no plugin has to be known here.
func writePool(ctx context.Context, db *gorm.DB, table string) (gorm.ConnPool, error) {
	var first gorm.ConnPool
	for range draws {
		tx := db.Session(&gorm.Session{Context: ctx, DryRun: true, Logger: logger.Discard}).
			Exec("UPDATE " + table + " SET revision = revision WHERE worker < -1")
		if tx.Error != nil {
			return nil, fmt.Errorf("gormplugin: find the pool for writing: %w", tx.Error)
		}
		pool := unprepared(tx.Statement.ConnPool)
		if err := checkPool(pool); err != nil {
			return nil, err
		}
		switch {
		case first == nil:
			first = pool
		case !samePool(first, pool):
			return nil, fmt.Errorf("gormplugin: writes to the table %s go to several databases, and leases must be in one: "+
				"register a resolver with one source for this table: %w", table, gorm.ErrInvalidDB)
		}
	}
	return first, nil
}

// unprepared returns the pool below GORM's cache of prepared statements.
func unprepared(pool gorm.ConnPool) gorm.ConnPool {
	for {
		prepared, ok := pool.(*gorm.PreparedStmtDB)
		if !ok || prepared == nil {
			return pool
		}
		pool = prepared.ConnPool
	}
}

// samePool reports whether two pools are one. Of those that Go cannot compare it believes so.
func samePool(a, b gorm.ConnPool) bool {
	if !reflect.ValueOf(a).Comparable() || !reflect.ValueOf(b).Comparable() {
		return reflect.TypeOf(a) == reflect.TypeOf(b)
	}
	return a == b
}

// hasOneConnection reports whether whoever holds a connection of the pool keeps all others out.
func hasOneConnection(pool gorm.ConnPool) bool {
	db, ok := pool.(*sql.DB)
	if !ok {
		connector, has := pool.(gorm.GetDBConnector)
		if !has {
			return false
		}
		var err error
		if db, err = connector.GetDBConn(); err != nil || db == nil {
			return false
		}
	}
	return db.Stats().MaxOpenConnections == 1
}
