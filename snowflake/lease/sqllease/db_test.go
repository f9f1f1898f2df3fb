package sqllease_test

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
)

// TestNewSQLTakesWhatRunsStatements leases a worker through all that programs have
// in their hands, a connection among them, which a second statement at a time would
// stop.
func TestNewSQLTakesWhatRunsStatements(t *testing.T) {
	withGORM := func(t *testing.T, target testdb.Target, prepare bool) sqllease.DB {
		t.Helper()
		db, err := gorm.Open(target.Dialector(), &gorm.Config{PrepareStmt: prepare, Logger: logger.Discard})
		if err != nil {
			t.Fatal(err)
		}
		pool, err := db.DB()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = pool.Close() })
		return db.ConnPool
	}
	for name, open := range map[string]func(*testing.T, testdb.Target) sqllease.DB{
		"*sql.DB": func(t *testing.T, target testdb.Target) sqllease.DB { t.Helper(); return target.Open(t) },
		"*sql.Conn": func(t *testing.T, target testdb.Target) sqllease.DB {
			t.Helper()
			db := target.Open(t)
			conn, err := db.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = conn.Close() })
			return conn
		},
		"gorm.ConnPool":                          func(t *testing.T, target testdb.Target) sqllease.DB { t.Helper(); return withGORM(t, target, false) },
		"gorm.ConnPool with prepared statements": func(t *testing.T, target testdb.Target) sqllease.DB { t.Helper(); return withGORM(t, target, true) },
	} {
		t.Run(name, func(t *testing.T) {
			eachSQL(t, func(t *testing.T, target testdb.Target, dialect sqllease.Dialect) {
				store := newSQL(t, open(t, target), dialect)
				for epoch := range int64(3) {
					grant, err := store.Acquire(t.Context(), sqlRequest("n", 5, 5))
					if err != nil || grant.Worker != 5 || grant.Epoch != epoch+1 || grant.Horizon != 1000*epoch {
						t.Fatalf("%+v, %v", grant, err)
					}
					if _, err := store.Acquire(t.Context(), sqlRequest("n", 5, 5)); !errors.Is(err, lease.ErrNoWorker) {
						t.Errorf("a second owner: %v, want ErrNoWorker", err)
					}
					if _, err := store.Extend(t.Context(), grant.Claim, 1000*grant.Epoch, time.Hour); err != nil {
						t.Fatal(err)
					}
					if err := store.Release(t.Context(), grant.Claim, math.MaxInt64); err != nil {
						t.Fatal(err)
					}
				}
			})
		})
	}
}

func TestNewSQLRefusesNilPointers(t *testing.T) {
	var (
		db     *sql.DB
		conn   *sql.Conn
		other  *unusable
		values = []sqllease.DB{nil, db, conn, other}
	)
	for _, value := range values {
		if store, err := sqllease.New(value, sqllease.Postgres); store != nil || !errors.Is(err, lease.ErrOption) {
			t.Errorf("%T: %v, %v, want ErrOption", value, store, err)
		}
	}
	if _, err := sqllease.New(unusable{}, sqllease.Postgres); err != nil {
		t.Errorf("a value that is no pointer: %v", err)
	}
}

// unusable is no database.
type unusable struct{}

func (unusable) ExecContext(context.Context, string, ...any) (sql.Result, error) {
	return nil, errors.New("no database")
}

func (unusable) QueryContext(context.Context, string, ...any) (*sql.Rows, error) {
	return nil, errors.New("no database")
}

func TestMigrateRefusesConnectionsThatDoNotCommit(t *testing.T) {
	for _, on := range []bool{true, false} {
		target := withDSN(testdb.MariaDB, map[bool]string{true: "&autocommit=1", false: "&autocommit=0"}[on])(t)
		db, err := sql.Open("mysql", target.DSN)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		store, err := sqllease.New(db, sqllease.MySQL)
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Migrate(t.Context()); on != (err == nil) || !on && !errors.Is(err, lease.ErrOption) {
			t.Errorf("autocommit %v: %v", on, err)
		}
	}
}
