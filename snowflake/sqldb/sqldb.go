// Package sqldb has the two arguments that every package of this module takes that sends SQL: a database and its
// dialect.
package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"
)

// ErrInvalid is wrapped by the errors of [Validate].
var ErrInvalid = errors.New("sqldb: invalid database")

// Dialect is the SQL that a database understands. The zero value is invalid.
type Dialect string

// The dialects.
const (
	Postgres Dialect = "postgres" // PostgreSQL 14 and later; not tested on CockroachDB and YugabyteDB
	MySQL    Dialect = "mysql"    // MySQL 8.4 and later, MariaDB 10.11 and later, with InnoDB
	SQLite   Dialect = "sqlite"   // SQLite 3.50.4 and later
)

// DB runs statements. *sql.DB, *sql.Conn and gorm.ConnPool implement it.
type DB interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Validate returns an error for a nil db, a nil pointer in it, a transaction, and an unknown dialect. A transaction is
// refused because its rollback would undo statements that issued IDs depend on.
func Validate(db DB, dialect Dialect) error {
	v := reflect.ValueOf(db)
	if isNilPointer := v.Kind() == reflect.Pointer && v.IsNil(); isNilPointer || !v.IsValid() {
		return fmt.Errorf("%w: nil (%T)", ErrInvalid, db)
	}
	if isTransaction(db) {
		return fmt.Errorf("%w: a transaction (%T), whose rollback would undo the statements; pass the database",
			ErrInvalid, db)
	}

	switch dialect {
	case Postgres, MySQL, SQLite:
		return nil
	}
	return fmt.Errorf("%w: unknown dialect %q, want Postgres, MySQL or SQLite", ErrInvalid, string(dialect))
}

// isTransaction reports whether db passes its statements to a transaction. What is stored in one may be rolled back
// after IDs were issued.
//
// A transaction has the methods Commit and Rollback, as *sql.Tx and what wraps one. The pool of gorm.io/sharding has
// them outside of transactions as well. It keeps what it wraps in an exported field ConnPool, as does every type that
// this looks into.
func isTransaction(db DB) bool {
	for {
		if _, ok := db.(interface {
			Commit() error
			Rollback() error
		}); !ok {
			return false
		}

		v := reflect.Indirect(reflect.ValueOf(db))
		if v.Kind() != reflect.Struct {
			return true
		}

		field, ok := v.Type().FieldByName("ConnPool")
		if !ok || len(field.Index) > 1 {
			return true
		}

		if db, ok = reflect.TypeAssert[DB](v.FieldByIndex(field.Index)); !ok {
			return true
		}
	}
}
