package sqllease_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"sync/atomic"
	"testing"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// counter is a connector that counts statements.
type counter struct {
	driver     driver.Driver
	dsn        string
	before     func(n int64) // called with the number of a statement before it is run; may be nil
	statements atomic.Int64
}

func (c *counter) count() {
	if n := c.statements.Add(1); c.before != nil {
		c.before(n)
	}
}

func (c *counter) Driver() driver.Driver { return c.driver }

func (c *counter) Connect(context.Context) (driver.Conn, error) {
	conn, err := c.driver.Open(c.dsn)
	if err != nil {
		return nil, err
	}
	return countedConn{conn, c}, nil
}

// countedConn has the two methods that database/sql tries first. A call that the driver skips with driver.ErrSkip
// counts as one statement, too.
type countedConn struct {
	driver.Conn
	counter *counter
}

func (c countedConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	c.counter.count()
	return c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
}

func (c countedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	c.counter.count()
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
}

func (c countedConn) BeginTx(context.Context, driver.TxOptions) (driver.Tx, error) {
	panic("a transaction was begun") // in a test: no store may do that
}

// countedStore returns a store on the table of db that calls before with the number of each statement of its calls.
func countedStore(
	t *testing.T, db *sql.DB, target testdb.Target, dialect sqldb.Dialect, before func(n int64),
) (*sqllease.Store, *counter) {
	t.Helper()
	count := &counter{driver: db.Driver(), dsn: target.DSN}
	pool := sql.OpenDB(count)
	t.Cleanup(func() { _ = pool.Close() })
	store := newSQL(t, pool, dialect)
	count.before = before
	count.statements.Store(0)
	return store, count
}

func TestStatementsPerCall(t *testing.T) {
	eachSQL(t, func(t *testing.T, target testdb.Target, dialect sqldb.Dialect) {
		store, count := countedStore(t, target.Open(t), target, dialect, nil)
		var claim leasestore.Claim
		acquire := func() { claim = mustAcquire(t, store, sqlRequest("n", 0, 0)).Claim }
		for _, step := range []struct {
			what string
			want int64
			call func()
		}{
			{"Migrate of a new store, when the table is there", map[bool]int64{true: 1, false: 3}[dialect == sqldb.SQLite], func() {
				db := sql.OpenDB(count)
				defer db.Close()
				newSQL(t, db, dialect)
			}},
			{"Acquire, the first of a namespace", 5, acquire},
			{"Extend", 1, func() { mustExtend(t, store, keep(claim), 10) }},
			{"Release", 1, func() { mustRelease(t, store, claim) }},
			{"Acquire that takes over", 2, acquire},
			{"Acquire when all are held", 2, func() {
				wantErr(t, "all are held", errOf(store.Acquire(t.Context(), sqlRequest("n", 0, 0))), lease.ErrNoWorker)
			}},
			{"Acquire of a number never taken", 3, func() { mustAcquire(t, store, sqlRequest("n", 1, 1)) }},
			{"Acquire with the same token", 1, func() {
				r := sqlRequest("n", 0, 0)
				r.Token = claim.Token
				mustAcquire(t, store, r)
			}},
			{"List", 1, func() { must(t, errOf(store.List(t.Context(), ""))) }},
		} {
			before := count.statements.Load()
			step.call()
			wantEqual(t, "the statements of "+step.what, count.statements.Load()-before, step.want)
		}
	})
}

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
	pool := sql.OpenDB(movingConnector{&counter{driver: db.Driver(), dsn: target.DSN, before: before}})
	t.Cleanup(func() { _ = pool.Close() })
	return newStore(t, pool, dialect)
}
