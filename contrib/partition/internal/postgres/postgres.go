// Package postgres is the engine for PostgreSQL.
package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	_ "embed" // for the queries
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/contrib/internal/pgsql"
	"github.com/sqlflake/sqlflake/contrib/partition/internal/engine"
	"github.com/sqlflake/sqlflake/internal/sqltable"
)

// Engine is the engine for PostgreSQL 14 and later.
type Engine struct{}

// MaxName is 63: PostgreSQL cuts longer names.
func (Engine) MaxName() int { return 63 }

// Adjoins is false: there may be gaps between partitions.
func (Engine) Adjoins() bool { return false }

// PartitionBy names no partitions: they are tables, which are created later.
func (Engine) PartitionBy(t *engine.Table, _ []engine.Change) string {
	return "PARTITION BY RANGE (" + pgsql.Name(t.Key) + ")"
}

// SafePath is the search_path of a transaction once its table is found. In the session's own one a role that may only
// create objects in a schema could define the functions, operators and types that our SQL means to find in pg_catalog:
// what runs outside of such a transaction qualifies all of them. beginQuery sets it.
const SafePath = "pg_catalog, pg_temp"

// beginQuery finds a table of the search_path, or of a schema, makes the settings of a transaction, and takes the lock
// if it is not NULL. Parameters: the table, its schema or nothing, the lock, and the timeouts of locks and of an idle
// transaction. The key of the lock depends on the table's name instead of the OID, which changes when Adopt replaces
// the table. Without row_security a policy would hide rows from the owner (FORCE ROW LEVEL SECURITY), so it is an error
// then.
const beginQuery = `WITH located AS MATERIALIZED (
	SELECT n.nspname,
		pg_catalog.hashtextextended(pg_catalog.format('sqlflake/partition %s %I.%I', $3::pg_catalog.text, n.nspname,
			c.relname), 0) AS key
	FROM pg_catalog.pg_class AS c
	JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
	WHERE c.relname OPERATOR(pg_catalog.=) $1::pg_catalog.text
		AND CASE WHEN $2::pg_catalog.text OPERATOR(pg_catalog.=) '' THEN pg_catalog.pg_table_is_visible(c.oid)
			ELSE n.nspname OPERATOR(pg_catalog.=) $2::pg_catalog.text END
	LIMIT 1
)
SELECT nspname,
	CASE WHEN $3::pg_catalog.text IS NULL THEN true ELSE pg_catalog.pg_try_advisory_xact_lock(key) END,
	pg_catalog.concat(
		pg_catalog.set_config('lock_timeout', $4::pg_catalog.text, true),
		pg_catalog.set_config('idle_in_transaction_session_timeout', $5::pg_catalog.text, true),
		pg_catalog.set_config('row_security', 'off', true),
		pg_catalog.set_config('jit', 'off', true),
		pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true))
FROM located`

// lockSessionQuery finds the table in the same way, and takes the lock with the same key for the session.
const lockSessionQuery = `WITH located AS MATERIALIZED (
	SELECT pg_catalog.hashtextextended(pg_catalog.format('sqlflake/partition %s %I.%I', $3::pg_catalog.text, n.nspname,
		c.relname), 0) AS key
	FROM pg_catalog.pg_class AS c
	JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
	WHERE c.relname OPERATOR(pg_catalog.=) $1::pg_catalog.text
		AND CASE WHEN $2::pg_catalog.text OPERATOR(pg_catalog.=) '' THEN pg_catalog.pg_table_is_visible(c.oid)
			ELSE n.nspname OPERATOR(pg_catalog.=) $2::pg_catalog.text END
	LIMIT 1
)
SELECT pg_catalog.pg_try_advisory_lock(key), key, pg_catalog.concat(
	pg_catalog.set_config('lock_timeout', $4::pg_catalog.text, false),
	pg_catalog.set_config('idle_session_timeout', '0', false))
FROM located`

// Connect calls f in a transaction.
func (e Engine) Connect(
	ctx context.Context, db *sql.DB, t *engine.Table, change bool, f func(*engine.Table, engine.Querier) error,
) error {
	return e.transaction(ctx, db, t, sql.NullString{String: engine.ChangeLock, Valid: change}, !change, f)
}

// beginner is a sql.DB or a sql.Conn.
type beginner interface {
	BeginTx(ctx context.Context, options *sql.TxOptions) (*sql.Tx, error)
}

// transaction calls f in a transaction, with the Set of the table in its schema. Its isolation level has to show what
// others have committed before the lock.
func (Engine) transaction(
	ctx context.Context, db beginner, t *engine.Table, lock sql.NullString, readOnly bool,
	f func(*engine.Table, engine.Querier) error,
) error {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted, ReadOnly: readOnly})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // an error after Commit, or of a connection that is closed anyway

	located := *t
	locked, settings := false, ""
	row := tx.QueryRowContext(ctx, beginQuery, t.Table, t.Schema, lock, milliseconds(t.LockTimeout),
		milliseconds(t.IdleTimeout))
	if err := engine.Scan(row, t.NotFound(), &located.Schema, &locked, &settings); err != nil {
		return err
	}
	if !locked {
		return engine.ErrBusy
	}

	if err := f(&located, tx); err != nil {
		return err
	}

	return tx.Commit()
}

// WithSession calls f on a connection that holds an advisory lock until f returns, outside of a transaction. The
// connection ends after f, and with it the settings, without which f could not take hours between two statements.
func (Engine) WithSession(
	ctx context.Context, db *sql.DB, t *engine.Table, lock string, f func(*sql.Conn) error,
) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Raw(func(any) error { return driver.ErrBadConn }) }()

	var key int64 // of the lock: it stays the same, whatever the name of the table is later
	locked, settings := false, ""
	row := conn.QueryRowContext(ctx, lockSessionQuery, t.Table, t.Schema, lock, milliseconds(t.LockTimeout))
	if err := engine.Scan(row, engine.ErrChanging, &locked, &key, &settings); err != nil {
		return err
	}
	if !locked {
		return engine.ErrBusy
	}

	return errors.Join(f(conn), unlock(ctx, conn, key))
}

// unlock releases a lock, which the server would do later than the next call may ask for it. It returns an error if the
// session does not have it any more.
func unlock(ctx context.Context, conn *sql.Conn, key int64) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()

	var unlocked bool
	err := conn.QueryRowContext(ctx, "SELECT pg_catalog.pg_advisory_unlock($1::bigint)", key).Scan(&unlocked)
	if err == nil && !unlocked {
		return errors.New("the session has lost its advisory lock: " +
			"does a pool such as PgBouncer give connections to transactions?")
	}
	return nil // after an error the connection ends anyway
}

// Limit is the lock timeout.
func (Engine) Limit(timeout time.Duration) time.Duration { return timeout }

// milliseconds rounds up, since 0 would be no limit. The greatest value of a setting is some 24 days.
func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%dms", min((d+time.Millisecond-1)/time.Millisecond, math.MaxInt32))
}

// Refused reports whether a statement got no lock.
func (Engine) Refused(err error) bool {
	state := sqltable.State(err)
	return state == "55P03" || state == "40P01" // lock_not_available, deadlock_detected
}

// Key reads the key from the partition itself, which is a table on PostgreSQL.
func (Engine) Key(
	ctx context.Context, q engine.Querier, t *engine.Table, p engine.Part, lo, hi int64, order string,
) (key int64, found bool, err error) {
	column := pgsql.Name(t.Key)
	return engine.FindKey(ctx, q, fmt.Sprintf("SELECT %s FROM %s", column, Quote(p.Name)), column, lo, hi, order)
}

// Taken looks for types too: each table has one.
func (Engine) Taken(ctx context.Context, q engine.Querier, st *engine.State, table string) (taken bool, err error) {
	const query = "SELECT to_regclass($1::text) IS NOT NULL OR to_regtype($1::text) IS NOT NULL"
	err = q.QueryRowContext(ctx, query, Quote(engine.Name{Schema: st.Table.Schema, Table: table})).Scan(&taken)
	return taken, err
}

// Quote returns the name of a table in quotes.
func Quote(n engine.Name) string { return pgsql.Name(n.Schema) + "." + pgsql.Name(n.Table) }

// tableQuery returns the table, and why it can't be maintained. Parameters: its name, its schema and the key.
//
//go:embed table.sql
var tableQuery string

// partsQuery returns the partitions of the table with an OID. pg_get_expr with the OID of the partition would wait for
// whoever has locked it.
const partsQuery = `SELECT c.oid::int8, n.nspname, c.relname, c.relkind IN ('p', 'f'),
	coalesce(pg_get_expr(c.relpartbound, 0), ''), i.inhdetachpending, coalesce(obj_description(c.oid, 'pg_class'), '')
FROM pg_inherits i
JOIN pg_class c ON c.oid = i.inhrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE i.inhparent = $1::int8::oid`

// detachedQuery returns tables with a mark. It trusts a comment only if the owner of the table is trusted: reading a
// table of another role may execute code of that role. Parameters: the words of the mark, the table's OID and the key.
const detachedQuery = `SELECT c.oid::int8, n.nspname, c.relname, d.description
FROM pg_description d
JOIN pg_class c ON c.oid = d.objoid
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE d.classoid = 'pg_class'::regclass AND d.objsubid = 0 AND c.relkind = 'r' AND NOT c.relispartition
	AND strpos(d.description, $1::text) > 0
	AND (c.relowner = (SELECT t.relowner FROM pg_class t WHERE t.oid = $2::int8::oid)
		OR EXISTS (SELECT FROM pg_roles r WHERE r.oid = c.relowner AND (r.rolsuper OR r.rolname = current_user)))
	AND EXISTS (SELECT FROM pg_attribute a
		WHERE a.attrelid = c.oid AND a.attname = $3::text AND a.atttypid = 'int8'::regtype)
ORDER BY c.oid`

// Inspect reads the table, its partitions, and the tables that earlier calls detached.
func (e Engine) Inspect(ctx context.Context, q engine.Querier, t *engine.Table) (*engine.State, error) {
	var oid, now int64
	var unsuitable string
	st := &engine.State{Table: t.Name}
	row := q.QueryRowContext(ctx, tableQuery, t.Table, t.Schema, t.Key)
	err := engine.Scan(row, t.NotFound(), &oid, &st.Table.Schema, &unsuitable, &st.Owner, &st.Storage, &st.Grantees,
		&st.Identity, &now)
	if err != nil {
		return nil, err
	}
	if unsuitable != "" {
		return nil, fmt.Errorf("%w: %v %s", engine.ErrTable, st.Table, unsuitable)
	}

	st.Now = time.UnixMicro(now).UTC()
	if err := e.readParts(ctx, q, t, oid, st); err != nil {
		return nil, err
	}

	return st, st.ReadDetached(ctx, q, detachedQuery, engine.MarkWords, oid, t.Key)
}

// readParts reads the partitions of the table with the OID parent.
func (Engine) readParts(ctx context.Context, q engine.Querier, t *engine.Table, parent int64, st *engine.State) error {
	err := sqltable.Query(ctx, q, partsQuery, []any{parent}, func(scan func(...any) error) error {
		var p engine.Part
		var bound string
		err := scan(&p.OID, &p.Schema, &p.Table, &p.Fixed, &bound, &p.Pending, &p.Comment)
		if err != nil {
			return err
		}

		if bound == "DEFAULT" {
			st.Default = &p
			return nil
		}

		if p.Lo, p.Hi, err = parseBound(bound); err != nil {
			return fmt.Errorf("partition: the bounds of %v: %w", p.Name, err)
		}

		marked := p
		p.Reattached = marked.ReadMark(st.Table)
		wasDue := p.Reattached && marked.Due
		p.Due = t.Archive != nil || wasDue
		st.Parts = append(st.Parts, p)
		return nil
	})
	slices.SortFunc(st.Parts, func(a, b engine.Part) int { return cmp.Compare(a.Lo, b.Lo) })
	return err
}

// Bounds as PostgreSQL writes them. Without a bound the number is engine.NoLow or engine.NoHigh.
var (
	boundForm   = regexp.MustCompile(`^FOR VALUES FROM \('?(-?[0-9]+)'?\) TO \('?(-?[0-9]+)'?\)$`)
	withNumbers = strings.NewReplacer("(MINVALUE)", noLow, "(MAXVALUE)", noHigh)
	withWords   = strings.NewReplacer(noLow, "(MINVALUE)", noHigh, "(MAXVALUE)")
	noLow       = fmt.Sprintf("('%d')", int64(engine.NoLow))
	noHigh      = fmt.Sprintf("('%d')", int64(engine.NoHigh))
)

// parseBound reads bounds in the form of pg_get_expr.
func parseBound(text string) (lo, hi int64, err error) {
	if text == "" {
		return 0, 0, engine.ErrChanging
	}

	match := boundForm.FindStringSubmatch(withNumbers.Replace(text))
	if match == nil {
		return 0, 0, fmt.Errorf("%w: %q", engine.ErrTable, text)
	}

	lo, loErr := strconv.ParseInt(match[1], 10, 64)
	hi, hiErr := strconv.ParseInt(match[2], 10, 64)
	return lo, hi, errors.Join(loErr, hiErr)
}
