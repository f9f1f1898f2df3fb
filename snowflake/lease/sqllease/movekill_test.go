package sqllease_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"testing"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// movingConn is a countedConn whose transactions count, too: their begin, and their commit as two, before and after it.
type movingConn struct{ countedConn }

func (c movingConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	c.counter.count()
	tx, err := c.Conn.(driver.ConnBeginTx).BeginTx(ctx, opts)
	return movingTx{tx, c.counter}, err
}

type movingTx struct {
	driver.Tx
	counter *counter
}

func (tx movingTx) Commit() error {
	tx.counter.count()
	err := tx.Tx.Commit()
	tx.counter.count()
	return err
}

type movingConnector struct{ *counter }

func (c movingConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.counter.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return movingConn{conn.(countedConn)}, nil
}

// movingStore returns a store on the tables of db that calls before with the number of each step of a move.
func movingStore(t *testing.T, db *sql.DB, target testdb.Target, dialect sqldb.Dialect, before func(n int64)) *sqllease.Store {
	t.Helper()
	pool := movingPool(db, target.DSN, before)
	t.Cleanup(func() { _ = pool.Close() })
	store, err := sqllease.New(pool, dialect)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func movingPool(db *sql.DB, dsn string, before func(n int64)) *sql.DB {
	return sql.OpenDB(movingConnector{&counter{driver: db.Driver(), dsn: dsn, before: before}})
}
