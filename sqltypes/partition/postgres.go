package partition

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// postgres is the engine of PostgreSQL 14 and later.
type postgres struct{}

func (postgres) maxName() int { return 63 }

// The locks of a table: for changes of its partitions, and for archiving a detached table, which may take hours.
const (
	changeLock  = "change"
	archiveLock = "archive"
)

// advisoryKey is the SQL of an advisory lock's key. It depends on the name instead of the OID, which changes when Adopt
// replaces the table.
const advisoryKey = `hashtextextended('sqlflake/partition ' || $3::text || ' ' || quote_ident(n.nspname) || '.' ||
	quote_ident(c.relname), 0)`

// tableByName selects the table: $1 is its name, $2 its schema or empty.
const tableByName = ` FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relname = $1::text AND CASE WHEN $2::text = '' THEN pg_table_is_visible(c.oid) ELSE n.nspname = $2::text END`

// abandoned is how long the server lets a transaction for changes be idle. It is never idle while its process lives: the
// server ends the transaction of a process that it can't reach any more.
const abandoned = 5 * time.Second

func (e postgres) connect(ctx context.Context, db *sql.DB, s *Set, change bool, f func(querier) error) error {
	return e.transaction(ctx, db, s, !change, func(tx *sql.Tx) error {
		if change {
			const query = "SELECT pg_try_advisory_xact_lock(" + advisoryKey + ")" + tableByName
			var locked bool
			found, err := one(tx.QueryRowContext(ctx, query, s.table.table, s.table.schema, changeLock), &locked)
			if err != nil {
				return err
			}
			if found && !locked { // a table that does not exist has no lock
				return errBusy
			}
		}
		return f(tx)
	})
}

// beginner is a sql.DB or a sql.Conn.
type beginner interface {
	BeginTx(ctx context.Context, options *sql.TxOptions) (*sql.Tx, error)
}

// transaction calls f in a transaction. Its isolation level has to show what others have committed before the lock.
// Without row_security a policy would hide rows from the owner (FORCE ROW LEVEL SECURITY), so it is an error then.
func (postgres) transaction(ctx context.Context, db beginner, s *Set, readOnly bool, f func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted, ReadOnly: readOnly})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // an error after Commit, or of a connection that is closed anyway
	const settings = `SELECT set_config('lock_timeout', $1::text, true), set_config('row_security', 'off', true),
	set_config('jit', 'off', true), set_config('idle_in_transaction_session_timeout', $2::text, true)`
	if _, err := tx.ExecContext(ctx, settings, milliseconds(s.lockTimeout), milliseconds(s.abandoned)); err != nil {
		return err
	}
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// session calls f on a connection that holds an advisory lock until f returns, outside of a transaction. It unlocks the
// same key, whatever the name of the table is then.
func (e postgres) session(ctx context.Context, db *sql.DB, s *Set, lock string, f func(*sql.Conn) error) (err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := conn.Close(); !errors.Is(closeErr, sql.ErrConnDone) { // which the caller knows already
			err = errors.Join(err, closeErr)
		}
	}()
	const query = `SELECT pg_try_advisory_lock(` + advisoryKey + `), ` + advisoryKey + `,
	current_setting('lock_timeout'), current_setting('idle_session_timeout')` + tableByName
	var locked bool
	var key int64
	var lockTimeout, idleTimeout string
	row := conn.QueryRowContext(ctx, query, s.table.table, s.table.schema, lock)
	found, err := one(row, &locked, &key, &lockTimeout, &idleTimeout)
	switch {
	case err != nil:
		return err
	case !found:
		return errChanging
	case !locked:
		return errBusy
	}
	const settings = `SELECT set_config('lock_timeout', $1::text, false),
	set_config('idle_session_timeout', $2::text, false)`
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		_, resetErr := conn.ExecContext(ctx, settings, lockTimeout, idleTimeout)
		unlocked := false
		if resetErr == nil {
			resetErr = conn.QueryRowContext(ctx, "SELECT pg_advisory_unlock($1::int8)", key).Scan(&unlocked)
		}
		if unlocked {
			return
		}
		_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // the end of the connection resets and unlocks all
		if resetErr == nil {
			err = errors.Join(err, errors.New("the session has lost its advisory lock: "+
				"does a pool such as PgBouncer give connections to transactions?"))
		}
	}()
	// f may take hours between two statements.
	if _, err := conn.ExecContext(ctx, settings, milliseconds(s.lockTimeout), "0"); err != nil {
		return err
	}
	return f(conn)
}

func (postgres) limit(timeout time.Duration) time.Duration { return timeout }

// milliseconds rounds up, since 0 would be no limit. The greatest value of a setting is some 24 days.
func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%dms", min((d+time.Millisecond-1)/time.Millisecond, math.MaxInt32))
}

func (postgres) refused(err error) bool {
	switch sqlState(err) {
	case "55P03", "40P01": // lock_not_available, deadlock_detected
		return true
	}
	return false
}

// sqlState returns the code of an error of the server. All drivers have this method.
func sqlState(err error) string {
	var server interface{ SQLState() string }
	if errors.As(err, &server) {
		return server.SQLState()
	}
	return ""
}

func (postgres) selectKey(s *Set, p part) (query, key string) {
	key = quoteName(s.key)
	return fmt.Sprintf("SELECT %s FROM %s", key, quoteTable(p.name)), key
}

// taken looks for types too: each table has one.
func (postgres) taken(ctx context.Context, q querier, st *state, table string) (taken bool, err error) {
	const query = "SELECT to_regclass($1::text) IS NOT NULL OR to_regtype($1::text) IS NOT NULL"
	err = q.QueryRowContext(ctx, query, quoteTable(name{st.table.schema, table})).Scan(&taken)
	return taken, err
}

// quoteName returns a name in the quotes of standard SQL.
func quoteName(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

func quoteTable(n name) string { return quoteName(n.schema) + "." + quoteName(n.table) }

// quoteText returns a literal, whatever standard_conforming_strings is.
func quoteText(text string) string {
	quoted := "'" + strings.ReplaceAll(text, "'", "''") + "'"
	if strings.Contains(text, `\`) {
		return "E" + strings.ReplaceAll(quoted, `\`, `\\`)
	}
	return quoted
}
