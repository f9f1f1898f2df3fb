// Package mysql is the engine for MySQL and MariaDB.
package mysql

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"regexp"
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
// returns, if lock is not empty. If the process ends, the server finishes its statement before it releases the lock. If
// the process stops while it holds ChangeLock, and perhaps LOCK TABLES, the server ends the connection.
func (e Engine) withSession(
	ctx context.Context, db *sql.DB, t *engine.Table, lock string, f func(*sql.Conn) error,
) (err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()

	before, schema, err := readSettings(ctx, conn, t)
	if err != nil {
		return err
	}

	held := ""
	if lock != "" {
		held = lockName(lock, schema, t.Table)
		if err := getLock(ctx, conn, held); err != nil {
			return err
		}
	}
	defer restore(ctx, conn, before, held)

	if err := e.settings(t, lock, before).set(ctx, conn); err != nil {
		return err
	}

	return f(conn)
}

// settings are variables of a session.
type settings struct {
	lockWait   int64 // lock_wait_timeout, the longest wait for metadata locks, in seconds
	rowWait    int64 // innodb_lock_wait_timeout, the longest wait for row locks; statements of partitions wait for both
	autocommit int64 // without it MariaDB can't exchange a partition: the statement waits for its own transaction
	idle       int64 // wait_timeout, after which the server ends an idle connection, in seconds
}

// readSettings returns the settings of a connection, and the schema of the table.
func readSettings(ctx context.Context, conn *sql.Conn, t *engine.Table) (s settings, schema string, err error) {
	const query = `SELECT @@SESSION.lock_wait_timeout, @@SESSION.innodb_lock_wait_timeout,
	@@SESSION.autocommit, @@SESSION.wait_timeout, COALESCE(NULLIF(?, ''), DATABASE(), '')`
	row := conn.QueryRowContext(ctx, query, t.Schema)
	err = row.Scan(&s.lockWait, &s.rowWait, &s.autocommit, &s.idle, &schema)
	return s, schema, err
}

// settings returns the settings for a session with the lock.
func (e Engine) settings(t *engine.Table, lock string, before settings) settings {
	seconds := int64(e.Limit(t.LockTimeout) / time.Second)
	s := settings{lockWait: seconds, rowWait: seconds, autocommit: 1, idle: before.idle}
	switch lock {
	case engine.ChangeLock:
		s.idle = int64(e.Limit(t.IdleTimeout) / time.Second)
	case engine.ArchiveLock: // the callback of WithArchive may take hours
		s.idle = max(before.idle, maxIdle)
	}
	return s
}

func (s settings) set(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx,
		fmt.Sprintf("SET SESSION lock_wait_timeout = %d, SESSION innodb_lock_wait_timeout = %d, "+
			"SESSION autocommit = %d, SESSION wait_timeout = %d", s.lockWait, s.rowWait, s.autocommit, s.idle))
	return err
}

// lockName returns the name of a lock for GET_LOCK, at most 64 bytes. Servers may ignore the case of names.
func lockName(lock, schema, table string) string {
	sum := sha256.Sum256([]byte(strings.ToLower(schema + "\x00" + table)))
	return fmt.Sprintf("sqlflake/partition %s %x", lock, sum[:12])
}

// getLock takes a lock, or returns ErrBusy at once.
func getLock(ctx context.Context, conn *sql.Conn, lock string) error {
	var got sql.NullInt64
	err := conn.QueryRowContext(ctx, "SELECT GET_LOCK(?, 0)", lock).Scan(&got)
	switch {
	case err != nil:
		return err
	case !got.Valid:
		return fmt.Errorf("GET_LOCK('%s', 0) returned NULL: the server could not lock", lock)
	case got.Int64 != 1:
		return engine.ErrBusy
	}
	return nil
}

// restore restores the settings and releases the lock, if held is not empty. If it can't, it ends the connection, which
// does both.
func restore(ctx context.Context, conn *sql.Conn, before settings, held string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()

	err := before.set(ctx, conn)
	if err == nil && held != "" {
		_, err = conn.ExecContext(ctx, "DO RELEASE_LOCK(?)", held)
	}

	if err != nil {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	}
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
