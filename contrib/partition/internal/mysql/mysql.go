// Package mysql is the engine for MySQL and MariaDB.
package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/contrib/partition/internal/engine"
	"github.com/sqlflake/sqlflake/internal/sqltable"
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

// end releases all locks and ends the connection. The server would notice the end of the connection later: writers
// would wait until then, and the next call would take this one for another process.
func end(ctx context.Context, conn *sql.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()

	_, _ = conn.ExecContext(ctx, unlockTables) // after an error the connection ends anyway
	_, _ = conn.ExecContext(ctx, "DO RELEASE_ALL_LOCKS()")
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
	var got sql.NullBool
	err := conn.QueryRowContext(ctx, query, lock, t.Schema, strings.ToLower(t.Table)).Scan(&got)

	switch {
	case err != nil:
		return fmt.Errorf("GET_LOCK of %s for %v: %w", lock, t.Name, err)
	case !got.Valid:
		return fmt.Errorf("GET_LOCK of %s for %v returned NULL: the server could not lock", lock, t.Name)
	case !got.Bool:
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

// QuoteTable returns the name of a table in quotes, with its schema if it has one.
func QuoteTable(n engine.Name) string {
	return strings.TrimPrefix(quote(n.Schema)+"."+quote(n.Table), quote("")+".")
}

// literal returns a literal; plain is the server's mode NO_BACKSLASH_ESCAPES.
func literal(text string, plain bool) string {
	if !plain {
		text = strings.ReplaceAll(text, `\`, `\\`)
	}
	return "'" + strings.ReplaceAll(text, "'", "''") + "'"
}

// info is what information_schema says about the table.
type info struct {
	engine.Name
	kind, comment string
	keyType       string
	now           time.Time
	plain         bool // see engine.State
}

// readInfo reads the table.
func readInfo(ctx context.Context, q engine.Querier, t *engine.Table) (i info, err error) {
	const query = `SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, COALESCE(TABLE_COMMENT, ''),
	@@sql_mode LIKE '%NO_BACKSLASH_ESCAPES%', TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)),
	COALESCE((SELECT COLUMN_TYPE FROM information_schema.COLUMNS
		WHERE TABLE_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE()) AND TABLE_NAME = ? AND COLUMN_NAME = ?), '')
FROM information_schema.TABLES WHERE TABLE_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE()) AND TABLE_NAME = ?`
	var now int64
	row := q.QueryRowContext(ctx, query, t.Schema, t.Table, t.Key, t.Schema, t.Table)
	err = engine.Scan(row, t.NotFound(), &i.Schema, &i.Table, &i.kind, &i.comment, &i.plain, &now, &i.keyType)
	i.now = time.UnixMicro(now).UTC()
	return i, err
}

// Inspect reads the table, its partitions, and the tables that earlier calls detached.
func (e Engine) Inspect(ctx context.Context, q engine.Querier, t *engine.Table) (*engine.State, error) {
	i, err := readInfo(ctx, q, t)
	switch {
	case err != nil:
		return nil, err
	case i.kind != "BASE TABLE":
		return nil, fmt.Errorf("%w: %v is a %s", engine.ErrTable, i.Name, strings.ToLower(i.kind))
	}

	if err := t.CheckKey(i.Name, i.keyType, strings.HasPrefix(i.keyType, "bigint")); err != nil {
		return nil, err
	}

	st := &engine.State{Table: i.Name, Now: i.now, Plain: i.plain}
	if err := readParts(ctx, q, t, st, i); err != nil {
		return nil, err
	}
	if err := st.ReadDetached(ctx, q, detachedQuery, st.Table.Schema, engine.MarkWords); err != nil {
		return nil, err
	}

	if t.Keep || t.Archive != nil {
		if st.Trigger, err = readTrigger(ctx, q, st.Table); err != nil {
			return nil, err
		}
	}

	return st, e.matchExchangeTables(ctx, q, t, st)
}

// readParts reads the partitions of the table, and sets the default one apart.
func readParts(ctx context.Context, q engine.Querier, t *engine.Table, st *engine.State, i info) error {
	const query = `SELECT COALESCE(PARTITION_NAME, ''), SUBPARTITION_NAME IS NOT NULL,
	COALESCE(PARTITION_METHOD, ''), COALESCE(PARTITION_EXPRESSION, ''), COALESCE(PARTITION_DESCRIPTION, '')
FROM information_schema.PARTITIONS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? ORDER BY PARTITION_ORDINAL_POSITION`
	args := []any{st.Table.Schema, st.Table.Table}
	err := sqltable.Query(ctx, q, query, args, func(scan func(...any) error) (err error) {
		var p engine.Part
		var divided bool
		var method, expression, limit string
		if err := scan(&p.Table, &divided, &method, &expression, &limit); err != nil {
			return err
		}

		isRange := method == "RANGE" || method == "RANGE COLUMNS"
		switch {
		case p.Table == "":
			return fmt.Errorf("%w: %v is not partitioned: see Adopt", engine.ErrTable, st.Table)
		case !isRange, !isKey(expression, t.Key):
			return fmt.Errorf("%w: %v is partitioned by %s (%s), want RANGE (%s)",
				engine.ErrTable, st.Table, method, expression, t.Key)
		case divided:
			return fmt.Errorf("%w: %v has subpartitions", engine.ErrTable, st.Table)
		}

		p.Schema, p.Parent, p.Comment, p.Due = st.Table.Schema, st.Table, i.comment, t.Archive != nil
		p.Lo = engine.NoLow
		if n := len(st.Parts); n > 0 {
			p.Lo = st.Parts[n-1].Hi
		}

		if p.Hi, err = parseLimit(limit, strings.Contains(i.keyType, "unsigned")); err != nil {
			return fmt.Errorf("the bound of the partition %s: %w", p.Table, err)
		}

		st.Parts = append(st.Parts, p)
		return nil
	})

	splitParts(st)
	return err
}

// splitParts removes the default partition, and those to which no ID belongs, from the partitions.
func splitParts(st *engine.State) {
	last := slices.IndexFunc(st.Parts, func(p engine.Part) bool { return p.Hi == engine.NoHigh })
	switch {
	case last < 0:
		return
	case last == len(st.Parts)-1:
		st.Default, st.Parts = &st.Parts[last], st.Parts[:last]
	default:
		st.Parts = st.Parts[:last+1]
	}
}

// isKey reports whether an expression is the key. MariaDB shows it with other quotes in the mode ANSI_QUOTES.
func isKey(expression, key string) bool {
	ansi := `"` + strings.ReplaceAll(key, `"`, `""`) + `"`
	return strings.EqualFold(expression, quote(key)) || strings.EqualFold(expression, ansi)
}

const maxValue = "MAXVALUE"

// parseLimit reads the upper bound of a partition. The servers show the greatest int64 as MAXVALUE, and some bounds
// above it as negative numbers.
func parseLimit(text string, unsigned bool) (int64, error) {
	if text == maxValue {
		return engine.NoHigh, nil
	}

	limit, err := strconv.ParseInt(text, 10, 64)
	if isAbove := errors.Is(err, strconv.ErrRange) || limit < 0; unsigned && isAbove {
		return engine.NoHigh, nil
	}
	return limit, err
}

// detachedQuery returns tables with a mark. Parameters: the schema, and the words of the mark.
const detachedQuery = `SELECT 0, TABLE_SCHEMA, TABLE_NAME, TABLE_COMMENT
FROM information_schema.TABLES
WHERE TABLE_SCHEMA = ? AND TABLE_TYPE = 'BASE TABLE' AND LOCATE(?, TABLE_COMMENT) > 0
ORDER BY TABLE_NAME`

// readTrigger returns a trigger of the table that uses other tables, on MariaDB, which can't exchange a partition of
// such a table while it is locked: the statement waits for a lock of its transaction. It finds the words of statements,
// even in a string, but not tables that only a function uses, nor triggers that the user has no right to see: there the
// lock timeout ends the statement.
func readTrigger(ctx context.Context, q engine.Querier, table engine.Name) (found string, err error) {
	const query = `SELECT TRIGGER_NAME FROM information_schema.TRIGGERS
WHERE EVENT_OBJECT_SCHEMA = ? AND EVENT_OBJECT_TABLE = ? AND VERSION() LIKE '%MariaDB%' AND ACTION_STATEMENT REGEXP ?
ORDER BY TRIGGER_NAME LIMIT 1`
	const usesTables = `(?i)\b(INSERT|REPLACE|UPDATE|DELETE|SELECT|TABLE|CALL)\b`
	_, err = engine.One(q.QueryRowContext(ctx, query, table.Schema, table.Table, usesTables), &found)
	return found, err
}

// matchExchangeTables finds marked tables whose partition exists: an earlier call was interrupted before it dropped the
// partition, or before it exchanged the two. The lower bound of the partition may have changed since.
func (e Engine) matchExchangeTables(ctx context.Context, q engine.Querier, t *engine.Table, st *engine.State) error {
	var detached []engine.Part
	for _, l := range st.Detached {
		i := slices.IndexFunc(st.Parts, func(p engine.Part) bool { return p.Hi == l.Hi && p.TableName() == l.Table })
		if i < 0 {
			detached = append(detached, l)
			continue
		}

		p := &st.Parts[i]
		_, moved, err := e.Key(ctx, q, t, l, engine.NoLow, engine.NoHigh, engine.Least)
		if err != nil {
			return err
		}

		_, rest, err := e.Key(ctx, q, t, *p, engine.NoLow, engine.NoHigh, engine.Least)
		if err != nil {
			return err
		}

		p.ExchangeTable, p.Moved, p.Split, p.Due = l.Table, moved, moved && rest, p.Due || l.Due
	}

	st.Detached = detached
	return nil
}
