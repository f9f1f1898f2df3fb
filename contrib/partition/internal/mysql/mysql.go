// Package mysql is the engine for MySQL and MariaDB.
package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/contrib/partition/internal/engine"
)

// Engine is the engine for MySQL 8 and later and MariaDB 10.6 and later. Each statement that changes partitions commits
// by itself.
type Engine struct{}

// MaxName is the limit of the servers, in characters. It counts bytes here.
func (Engine) MaxName() int { return 64 }

// Adjoins is true.
func (Engine) Adjoins() bool { return true }

// Connect calls f on a connection with the lock, for a change.
func (e Engine) Connect(
	ctx context.Context, db *sql.DB, t *engine.Table, change bool, f func(*engine.Table, engine.Querier) error,
) error {
	lock := ""
	if change {
		lock = engine.ChangeLock
	}
	return e.withSession(ctx, db, t, lock, func(conn *sql.Conn) error { return f(t, conn) })
}

// maxIdle is the greatest wait_timeout of all platforms, in seconds.
const maxIdle = 2147483

// withSession calls f on a connection whose waits for locks are limited, and that holds a lock of GET_LOCK until f
// returns, if lock is not empty. The connection ends after f, and with it the lock and the settings. If the process
// ends, the server finishes its statement before it releases the lock. If the process stops while it holds
// ChangeLock, the server ends the connection.
func (e Engine) withSession(
	ctx context.Context, db *sql.DB, t *engine.Table, lock string, f func(*sql.Conn) error,
) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer end(ctx, conn)

	if lock != "" {
		if err := getLock(ctx, conn, t, lock); err != nil {
			return err
		}
	}
	if err := e.set(ctx, conn, t, lock); err != nil {
		return err
	}

	return f(conn)
}

// end releases the lock and ends the connection. The server would notice the end of the connection later, and the next
// call would take this one for another process.
func end(ctx context.Context, conn *sql.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()

	_, _ = conn.ExecContext(ctx, "DO RELEASE_ALL_LOCKS()") // after an error the connection ends anyway
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
}

// set makes the settings of a session with the lock: the longest waits for metadata locks and for row locks, as
// statements of partitions wait for both; autocommit, without which MariaDB can't exchange a partition, since the
// statement waits for its own transaction; and after how long the server ends an idle connection.
func (e Engine) set(ctx context.Context, conn *sql.Conn, t *engine.Table, lock string) error {
	idle := "@@SESSION.wait_timeout"
	switch lock {
	case engine.ChangeLock:
		idle = strconv.Itoa(int(e.Limit(t.IdleTimeout) / time.Second))
	case engine.ArchiveLock: // the callback of WithArchive may take hours
		idle = strconv.Itoa(maxIdle)
	}

	_, err := conn.ExecContext(ctx, fmt.Sprintf("SET SESSION lock_wait_timeout = %d, "+
		"SESSION innodb_lock_wait_timeout = %[1]d, SESSION autocommit = 1, SESSION wait_timeout = %[2]s",
		int(e.Limit(t.LockTimeout)/time.Second), idle))
	return err
}

// getLock takes a lock of a table, or returns ErrBusy at once. Servers may ignore the case of names.
func getLock(ctx context.Context, conn *sql.Conn, t *engine.Table, lock string) error {
	const query = "SELECT GET_LOCK(CONCAT('sqlflake/partition ', ?, ' ', " +
		"LEFT(SHA2(CONCAT(LOWER(COALESCE(NULLIF(?, ''), DATABASE(), '')), CHAR(0), ?), 256), 24)), 0)"
	var got sql.NullInt64
	err := conn.QueryRowContext(ctx, query, lock, t.Schema, strings.ToLower(t.Table)).Scan(&got)

	switch {
	case err != nil:
		return err
	case !got.Valid:
		return fmt.Errorf("GET_LOCK of %s for %v returned NULL: the server could not lock", lock, t.Name)
	case got.Int64 != 1:
		return engine.ErrBusy
	}
	return nil
}

// Limit rounds up: 0 would be no wait on MariaDB.
func (Engine) Limit(timeout time.Duration) time.Duration {
	return (timeout + time.Second - 1) / time.Second * time.Second
}

// refusal is the text of ER_LOCK_WAIT_TIMEOUT and ER_LOCK_DEADLOCK in the errors of drivers. Their types are not
// imported: a driver would register itself in programs that use PostgreSQL too.
var refusal = regexp.MustCompile(`\b(Error|ERROR) (1205|1213)\b`)

// Refused reports whether a statement got no lock.
func (Engine) Refused(err error) bool { return err != nil && refusal.MatchString(err.Error()) }

// Key reads keys above the greatest int64, which an unsigned column may have, as that number.
func (Engine) Key(
	ctx context.Context, q engine.Querier, t *engine.Table, p engine.Part, lo, hi int64, order string,
) (key int64, found bool, err error) {
	from, column := QuoteTable(p.Name), quote(t.Key)
	if p.Parent.Table != "" {
		from = fmt.Sprintf("%s PARTITION (%s)", QuoteTable(p.Parent), quote(p.Table))
	}
	query := fmt.Sprintf("SELECT CAST(LEAST(%s, %d) AS SIGNED) FROM %s", column, int64(engine.NoHigh), from)
	return engine.FindKey(ctx, q, query, column, lo, hi, order)
}

// Taken is false: partitions do not share the names of tables.
func (Engine) Taken(context.Context, engine.Querier, *engine.State, string) (bool, error) {
	return false, nil
}

func quote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// QuoteTable returns the name of a table in quotes.
func QuoteTable(n engine.Name) string { return quote(n.Schema) + "." + quote(n.Table) }

// literal returns a literal; plain is the server's mode NO_BACKSLASH_ESCAPES.
func literal(text string, plain bool) string {
	if !plain {
		text = strings.ReplaceAll(text, `\`, `\\`)
	}
	return "'" + strings.ReplaceAll(text, "'", "''") + "'"
}
