package settled_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"
	"testing"

	"github.com/mattn/go-sqlite3"

	"github.com/sqlflake/sqlflake/contrib/settled"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

func TestSQLiteWriterHoldsTheBound(t *testing.T) {
	target := testdb.SQLite(t)
	target.DSN = strings.Replace(target.DSN, "_busy_timeout=10000", "_busy_timeout=1", 1)
	db := target.Open(t)
	exec(t, db, "CREATE TABLE events (id bigint PRIMARY KEY)")
	writer := session(t, db)
	read := readerOf(t, db, sqldb.SQLite, 0)
	exec(t, writer, "BEGIN IMMEDIATE")
	id := newGenerator(t, 1).MustNext()
	exec(t, writer, insert(id))
	if b, err := read(); err == nil || !strings.Contains(err.Error(), "database is locked") {
		t.Errorf("%+v, %v; want the driver's error while a transaction has the write lock", b, err)
	}
	exec(t, writer, "COMMIT")
	passes(t, id, read)
	exec(t, writer, "BEGIN IMMEDIATE", "COMMIT") // Read has given the lock back
}

func TestReadGivesBackTheLockOfABeginThatWasCancelled(t *testing.T) {
	target := testdb.SQLite(t)
	ctx, cancel := context.WithCancel(t.Context())
	db := sql.OpenDB(&cancelling{dsn: target.DSN, cancel: cancel})
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := settled.Read(ctx, db, sqldb.SQLite, snowflake.Default()); !errors.Is(err, context.Canceled) {
		t.Fatalf("%v, want context.Canceled", err)
	}
	exec(t, session(t, target.Open(t)), "BEGIN IMMEDIATE", "COMMIT")
}

// cancelling connects to SQLite with a driver that returns the context's error although BEGIN has succeeded.
type cancelling struct {
	driver.Connector
	dsn    string
	cancel func()
}

func (c *cancelling) Driver() driver.Driver { return &sqlite3.SQLiteDriver{} }

func (c *cancelling) Connect(context.Context) (driver.Conn, error) {
	conn, err := c.Driver().Open(c.dsn)
	if err != nil {
		return nil, err
	}
	return &cancellingConn{conn.(*sqlite3.SQLiteConn), c.cancel}, nil
}

type cancellingConn struct {
	*sqlite3.SQLiteConn
	cancel func()
}

func (c *cancellingConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	result, err := c.SQLiteConn.ExecContext(ctx, query, args)
	if strings.HasPrefix(query, "BEGIN") && err == nil {
		c.cancel()
		return nil, ctx.Err()
	}
	return result, err
}
