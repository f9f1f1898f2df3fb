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

// Engine is the engine of MySQL 8 and later and MariaDB 10.6 and later. Each statement that changes partitions commits
// by itself.
type Engine struct{}

// MaxName is the limit of the servers, in characters. It counts bytes here.
func (Engine) MaxName() int { return 64 }

// Adjoins is true.
func (Engine) Adjoins() bool { return true }

// DetachesConcurrently is false.
func (Engine) DetachesConcurrently() bool { return false }

func (e Engine) Connect(ctx context.Context, db *sql.DB, t *engine.Table, change bool, f func(*engine.Table, engine.Querier) error) error {
	lock := ""
	if change {
		lock = engine.ChangeLock
	}
	return e.WithSession(ctx, db, t, lock, func(conn *sql.Conn) error { return f(t, conn) })
}

// mysqlSettings are variables of a session: the longest waits for metadata locks and for InnoDB's row locks (statements
// that change partitions wait for both); autocommit, without which MariaDB can't exchange a partition, since the
// statement waits for a lock of its transaction; and the seconds after which the server ends an idle connection.
type mysqlSettings [4]int64

func (v mysqlSettings) set(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx,
		fmt.Sprintf("SET SESSION lock_wait_timeout = %d, SESSION innodb_lock_wait_timeout = %d, "+
			"SESSION autocommit = %d, SESSION wait_timeout = %d", v[0], v[1], v[2], v[3]))
	return err
}

// maxIdle is the greatest wait_timeout of all platforms, in seconds.
const maxIdle = 2147483

// WithSession calls f on a connection whose waits for locks are limited, and that holds a lock of GET_LOCK until f returns,
// if lock is not empty. If the process ends, the server finishes its statement before it releases the lock. If the
// process stops while it holds engine.ChangeLock, and perhaps LOCK TABLES, the server ends the connection.
func (e Engine) WithSession(ctx context.Context, db *sql.DB, t *engine.Table, lock string, f func(*sql.Conn) error) (err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()

	var before mysqlSettings
	var schema string
	row := conn.QueryRowContext(ctx, `SELECT @@SESSION.lock_wait_timeout, @@SESSION.innodb_lock_wait_timeout,
	@@SESSION.autocommit, @@SESSION.wait_timeout, COALESCE(NULLIF(?, ''), DATABASE(), '')`, t.Schema)
	if err := row.Scan(&before[0], &before[1], &before[2], &before[3], &schema); err != nil {
		return err
	}

	seconds := int64(e.Limit(t.LockTimeout) / time.Second)
	settings := mysqlSettings{seconds, seconds, 1, before[3]}
	switch lock {
	case engine.ChangeLock:
		settings[3] = int64(e.Limit(t.IdleTimeout) / time.Second)
	case engine.ArchiveLock: // the callback of WithArchive may take hours
		settings[3] = max(before[3], maxIdle)
	}

	if lock != "" {
		// The name has at most 64 bytes. Servers may ignore the case of names.
		sum := sha256.Sum256([]byte(strings.ToLower(schema + "\x00" + t.Table)))
		lock = fmt.Sprintf("sqlflake/partition %s %x", lock, sum[:12])
		var got sql.NullInt64
		if err := conn.QueryRowContext(ctx, "SELECT GET_LOCK(?, 0)", lock).Scan(&got); err != nil {
			return err
		}
		if !got.Valid {
			return fmt.Errorf("GET_LOCK('%s', 0) returned NULL: the server could not lock", lock)
		}
		if got.Int64 != 1 {
			return engine.ErrBusy
		}
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()

		resetErr := before.set(ctx, conn)
		if resetErr == nil && lock != "" {
			_, resetErr = conn.ExecContext(ctx, "DO RELEASE_LOCK(?)", lock)
		}

		if resetErr != nil { // the end of the connection does both
			_ = conn.Raw(func(any) error { return driver.ErrBadConn })
		}
	}()

	if err := settings.set(ctx, conn); err != nil {
		return err
	}

	return f(conn)
}

// Limit rounds up: 0 would be no wait on MariaDB.
func (Engine) Limit(timeout time.Duration) time.Duration {
	return (timeout + time.Second - 1) / time.Second * time.Second
}

// refusal is the text of ER_LOCK_WAIT_TIMEOUT and ER_LOCK_DEADLOCK in the errors of drivers. Their types are not
// imported: a driver would register itself in programs that use PostgreSQL too.
var refusal = regexp.MustCompile(`\b(Error|ERROR) (1205|1213)\b`)

func (Engine) Refused(err error) bool { return err != nil && refusal.MatchString(err.Error()) }

// Key reads keys above the greatest int64, which an unsigned column may have, as that number.
func (Engine) Key(
	ctx context.Context, q engine.Querier, t *engine.Table, p engine.Part, lo, hi int64, n int,
) (key int64, found bool, err error) {
	from, column := QuoteTable(p.Name), quote(t.Key)
	if p.Parent.Table != "" {
		from = fmt.Sprintf("%s PARTITION (%s)", QuoteTable(p.Parent), quote(p.Table))
	}
	query := fmt.Sprintf("SELECT CAST(LEAST(%s, %d) AS SIGNED) FROM %s", column, int64(engine.NoHigh), from)
	return engine.FindKey(ctx, q, query, column, lo, hi, n)
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
