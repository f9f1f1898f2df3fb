package partition

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
)

// mysql is the engine of MySQL 8 and later and MariaDB 10.6 and later. Each statement that changes partitions commits
// by itself.
type mysql struct{}

func (mysql) maxName() int { return 64 }

func (e mysql) alone(ctx context.Context, db *sql.DB, s *Set, f func(querier) error) error {
	return e.session(ctx, db, s, changeLock, func(conn *sql.Conn) error { return f(conn) })
}

func (e mysql) look(ctx context.Context, db *sql.DB, s *Set, f func(querier) error) error {
	return e.session(ctx, db, s, "", func(conn *sql.Conn) error { return f(conn) })
}

// session calls f on a connection whose waits for locks are limited, and that holds a lock of GET_LOCK until f returns,
// if lock is not empty. If the process ends, the server finishes its statement before it releases the lock. If the
// process stops while it holds changeLock, and perhaps LOCK TABLES, the server ends the connection.
func (e mysql) session(ctx context.Context, db *sql.DB, s *Set, lock string, f func(*sql.Conn) error) (err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	var before mysqlSettings
	var schema string
	const query = `SELECT @@SESSION.lock_wait_timeout, @@SESSION.innodb_lock_wait_timeout, @@SESSION.autocommit,
	@@SESSION.wait_timeout, COALESCE(DATABASE(), '')`
	row := conn.QueryRowContext(ctx, query)
	if err := row.Scan(&before.tables, &before.rows, &before.autocommit, &before.idle, &schema); err != nil {
		return err
	}
	if s.table.schema != "" {
		schema = s.table.schema
	}
	idle := before.idle
	switch lock {
	case changeLock:
		idle = int64(e.limit(s.abandoned) / time.Second)
	case archiveLock: // the callback of WithArchive may take hours
		idle = max(idle, maxIdle)
	}
	if lock != "" {
		lock = lockName(lock, name{schema, s.table.table})
		var got sql.NullInt64
		if err := conn.QueryRowContext(ctx, "SELECT GET_LOCK(?, 0)", lock).Scan(&got); err != nil {
			return err
		}
		if !got.Valid {
			return fmt.Errorf("GET_LOCK('%s', 0) returned NULL: the server could not lock", lock)
		}
		if got.Int64 != 1 {
			return errBusy
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
	seconds := int64(e.limit(s.lockTimeout) / time.Second)
	if err := (mysqlSettings{tables: seconds, rows: seconds, autocommit: 1, idle: idle}).set(ctx, conn); err != nil {
		return err
	}
	return f(conn)
}

// maxIdle is the greatest wait_timeout of all platforms, in seconds.
const maxIdle = 2147483

// mysqlSettings are variables of a session. Statements that change partitions wait for locks of InnoDB too. MariaDB
// can't exchange a partition without autocommit: the statement waits for a lock of its transaction.
type mysqlSettings struct {
	tables, rows int64 // the longest waits for metadata locks and for those of InnoDB, in seconds
	autocommit   int64
	idle         int64 // after which the server ends the connection, in seconds
}

func (v mysqlSettings) set(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, fmt.Sprintf("SET SESSION lock_wait_timeout = %d, SESSION innodb_lock_wait_timeout = %d, "+
		"SESSION autocommit = %d, SESSION wait_timeout = %d", v.tables, v.rows, v.autocommit, v.idle))
	return err
}

// limit rounds up: 0 would be no wait on MariaDB.
func (mysql) limit(timeout time.Duration) time.Duration {
	return (timeout + time.Second - 1) / time.Second * time.Second
}

// lockName returns a name of at most 64 bytes. Servers may ignore the case of names.
func lockName(lock string, table name) string {
	sum := sha256.Sum256([]byte(strings.ToLower(table.schema + "\x00" + table.table)))
	return fmt.Sprintf("sqlflake/partition %s %x", lock, sum[:12])
}

// refusal is the text of ER_LOCK_WAIT_TIMEOUT and ER_LOCK_DEADLOCK in the errors of drivers. Their types are not
// imported: a driver would register itself in programs that use PostgreSQL too.
var refusal = regexp.MustCompile(`\b(Error|ERROR) (1205|1213)\b`)

func (mysql) refused(err error) bool { return err != nil && refusal.MatchString(err.Error()) }

// selectKey reads keys above the greatest int64, which an unsigned column may have, as that number.
func (mysql) selectKey(s *Set, p part) (query, key string) {
	from, key := tableMySQL(p.name), quoteMySQL(s.key)
	if p.parent.table != "" {
		from = fmt.Sprintf("%s PARTITION (%s)", tableMySQL(p.parent), quoteMySQL(p.table))
	}
	return fmt.Sprintf("SELECT CAST(LEAST(%s, %d) AS SIGNED) FROM %s", key, int64(noHigh), from), key
}

// taken is false: partitions do not share the names of tables.
func (mysql) taken(context.Context, querier, *state, string) (bool, error) { return false, nil }

func quoteMySQL(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

func tableMySQL(n name) string { return quoteMySQL(n.schema) + "." + quoteMySQL(n.table) }

// textMySQL returns a literal; plain is the server's mode NO_BACKSLASH_ESCAPES.
func textMySQL(text string, plain bool) string {
	if !plain {
		text = strings.ReplaceAll(text, `\`, `\\`)
	}
	return "'" + strings.ReplaceAll(text, "'", "''") + "'"
}
