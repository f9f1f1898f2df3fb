package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/sqlflake/sqlflake/contrib/internal/pgsql"
	"github.com/sqlflake/sqlflake/contrib/partition/internal/engine"
)

// Engine is the engine of PostgreSQL 14 and later.
type Engine struct{}

// MaxName is 63: PostgreSQL cuts longer names.
func (Engine) MaxName() int { return 63 }

// Adjoins is false: there may be gaps between partitions.
func (Engine) Adjoins() bool { return false }

// DetachesConcurrently is true.
func (Engine) DetachesConcurrently() bool { return true }

// PartitionBy names no partitions: they are tables, which are created later.
func (Engine) PartitionBy(t *engine.Table, _ []engine.Change) string {
	return "PARTITION BY RANGE (" + pgsql.Name(t.Key) + ")"
}

// SafePath is the search_path of a transaction once its table is found. In the session's own one a role that may only
// create objects in a schema could define the functions, operators and types that our SQL means to find in pg_catalog:
// what runs outside of such a transaction qualifies all of them.
const SafePath = "pg_catalog, pg_temp"

// located is the table of the search_path, or of a schema: $1 is its name, $2 its schema or empty. The key of an
// advisory lock, $3, depends on the name instead of the OID, which changes when Adopt replaces the table.
const located = `WITH located AS MATERIALIZED (
	SELECT n.nspname, pg_catalog.current_setting('search_path') AS path,
		pg_catalog.hashtextextended(pg_catalog.format('sqlflake/partition %s %I.%I', $3::pg_catalog.text, n.nspname,
			c.relname), 0) AS key
	FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
	WHERE c.relname OPERATOR(pg_catalog.=) $1::pg_catalog.text
		AND CASE WHEN $2::pg_catalog.text OPERATOR(pg_catalog.=) '' THEN pg_catalog.pg_table_is_visible(c.oid)
			ELSE n.nspname OPERATOR(pg_catalog.=) $2::pg_catalog.text END
	LIMIT 1
)
`

// beginQuery also makes the settings of a transaction, after it has found the table, and takes the lock if $3 is not
// NULL. Without row_security a policy would hide rows from the owner (FORCE ROW LEVEL SECURITY), so it is an error
// then.
const beginQuery = located + `SELECT nspname, path,
	CASE WHEN $3::pg_catalog.text IS NULL THEN true ELSE pg_catalog.pg_try_advisory_xact_lock(key) END,
	pg_catalog.concat(pg_catalog.set_config('lock_timeout', $4::pg_catalog.text, true),
		pg_catalog.set_config('idle_in_transaction_session_timeout', $5::pg_catalog.text, true),
		pg_catalog.set_config('row_security', 'off', true), pg_catalog.set_config('jit', 'off', true),
		pg_catalog.set_config('search_path', '` + SafePath + `', true))
FROM located`

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
	ctx context.Context, db beginner, t *engine.Table, lock sql.NullString, readOnly bool, f func(*engine.Table, engine.Querier) error,
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
	found, err := engine.One(row, &located.Schema, &located.Path, &locked, &settings)
	switch {
	case err != nil:
		return err
	case !found:
		return t.NotFound()
	case !locked:
		return engine.ErrBusy
	}

	if err := f(&located, tx); err != nil {
		return err
	}

	return tx.Commit()
}

// WithSession calls f on a connection that holds an advisory lock until f returns, outside of a transaction. It unlocks the
// same key, whatever the name of the table is then.
func (e Engine) WithSession(ctx context.Context, db *sql.DB, t *engine.Table, lock string, f func(*sql.Conn) error) (err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := conn.Close(); !errors.Is(closeErr, sql.ErrConnDone) { // which the caller knows already
			err = errors.Join(err, closeErr)
		}
	}()

	const query = located + `SELECT pg_catalog.pg_try_advisory_lock(key), key,
	pg_catalog.current_setting('lock_timeout'), pg_catalog.current_setting('idle_session_timeout') FROM located`
	var locked bool
	var key int64
	var lockTimeout, idleTimeout string
	row := conn.QueryRowContext(ctx, query, t.Table, t.Schema, lock)
	found, err := engine.One(row, &locked, &key, &lockTimeout, &idleTimeout)
	switch {
	case err != nil:
		return err
	case !found:
		return engine.ErrChanging
	case !locked:
		return engine.ErrBusy
	}

	const settings = `SELECT pg_catalog.set_config('lock_timeout', $1::pg_catalog.text, false),
	pg_catalog.set_config('idle_session_timeout', $2::pg_catalog.text, false)`
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()

		_, resetErr := conn.ExecContext(ctx, settings, lockTimeout, idleTimeout)
		unlocked := false
		if resetErr == nil {
			resetErr = conn.QueryRowContext(ctx, "SELECT pg_catalog.pg_advisory_unlock($1::bigint)",
				key).Scan(&unlocked)
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
	if _, err := conn.ExecContext(ctx, settings, milliseconds(t.LockTimeout), "0"); err != nil {
		return err
	}

	return f(conn)
}

func (Engine) Limit(timeout time.Duration) time.Duration { return timeout }

// milliseconds rounds up, since 0 would be no limit. The greatest value of a setting is some 24 days.
func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%dms", min((d+time.Millisecond-1)/time.Millisecond, math.MaxInt32))
}

func (Engine) Refused(err error) bool {
	state := SQLState(err)
	return state == "55P03" || state == "40P01" // lock_not_available, deadlock_detected
}

// SQLState returns the code of an error of the server. All drivers have this method.
func SQLState(err error) string {
	var server interface{ SQLState() string }
	if errors.As(err, &server) {
		return server.SQLState()
	}
	return ""
}

// Key reads the key from the table that a partition is, too.
func (Engine) Key(
	ctx context.Context, q engine.Querier, t *engine.Table, p engine.Part, lo, hi int64, n int,
) (key int64, found bool, err error) {
	column := pgsql.Name(t.Key)
	return engine.FindKey(ctx, q, fmt.Sprintf("SELECT %s FROM %s", column, Quote(p.Name)), column, lo, hi, n)
}

// Taken looks for types too: each table has one.
func (Engine) Taken(ctx context.Context, q engine.Querier, st *engine.State, table string) (taken bool, err error) {
	const query = "SELECT to_regclass($1::text) IS NOT NULL OR to_regtype($1::text) IS NOT NULL"
	err = q.QueryRowContext(ctx, query, Quote(engine.Name{Schema: st.Table.Schema, Table: table})).Scan(&taken)
	return taken, err
}

// Quote returns the name of a table in quotes.
func Quote(n engine.Name) string { return pgsql.Name(n.Schema) + "." + pgsql.Name(n.Table) }

// parentQuery returns, among others, why the table can't be maintained. Parameters: its name, its schema and the key.
const parentQuery = `SELECT c.oid::int8, n.nspname, CASE
	WHEN c.relkind = 'r' THEN 'is not partitioned: see Adopt'
	WHEN c.relkind IN ('v', 'm') THEN 'is a view'
	WHEN c.relkind <> 'p' THEN 'is no table but a relation of the kind "' || c.relkind::text || '"'
	WHEN c.relpersistence = 't' THEN 'is temporary'
	WHEN p.partstrat <> 'r' OR p.partnatts <> 1 OR a.attname IS DISTINCT FROM $3::text
		THEN format('is partitioned by %s, want RANGE (%s)', pg_get_partkeydef(c.oid), $3::text)
	WHEN a.atttypid <> 'int8'::regtype
		THEN format('has the key %s of the type %s, want bigint', a.attname, format_type(a.atttypid, NULL))
	WHEN NOT pg_has_role(c.relowner, 'USAGE') THEN format('belongs to the role %s, of which the current role is no member: ' ||
		'only the owner may change partitions', pg_get_userbyid(c.relowner))
	ELSE '' END,
	CASE WHEN pg_get_userbyid(c.relowner) = current_user THEN '' ELSE pg_get_userbyid(c.relowner)::text END,
	coalesce((SELECT ' USING ' || quote_ident(m.amname) FROM pg_am m WHERE m.oid = c.relam), '') ||
		coalesce((SELECT ' TABLESPACE ' || quote_ident(t.spcname) FROM pg_tablespace t WHERE t.oid = c.reltablespace), ''),
	coalesce((SELECT string_agg(DISTINCT CASE g.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(g.grantee)) END, ', ')
		FROM pg_default_acl d, aclexplode(d.defaclacl) g WHERE d.defaclobjtype = 'r' AND g.grantee <> d.defaclrole
		AND d.defaclrole = (SELECT r.oid FROM pg_roles r WHERE r.rolname = current_user) AND d.defaclnamespace IN (0, c.relnamespace)), ''),
	CASE c.relreplident WHEN 'f' THEN 'FULL' WHEN 'n' THEN 'NOTHING' ELSE '' END,
	(extract(epoch FROM clock_timestamp()) * 1000000)::int8
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_partitioned_table p ON p.partrelid = c.oid
LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = p.partattrs[0] AND a.attnum > 0
WHERE c.relname = $1::text AND n.nspname = $2::text`

func (e Engine) Inspect(ctx context.Context, q engine.Querier, t *engine.Table) (*engine.State, error) {
	var oid, now int64
	var unsuitable string
	st := &engine.State{Table: t.Name}
	row := q.QueryRowContext(ctx, parentQuery, t.Table, t.Schema, t.Key)
	found, err := engine.One(row, &oid, &st.Table.Schema, &unsuitable, &st.Owner, &st.Storage, &st.Grantees, &st.Identity,
		&now)
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, t.NotFound()
	case unsuitable != "":
		return nil, fmt.Errorf("%w: %v %s", engine.ErrTable, st.Table, unsuitable)
	}

	st.Now = time.UnixMicro(now).UTC()
	if err := e.readParts(ctx, q, t, oid, st); err != nil {
		return nil, err
	}

	return st, st.ReadDetached(ctx, q, detachedQuery, engine.MarkWords, oid, t.Key)
}

// sizeOf is the size of a relation with its indexes and its TOAST table. pg_total_relation_size would wait for whoever
// has locked one of them, or waits for that; then the size is unknown. So would pg_get_expr with its OID.
const sizeOf = `CASE WHEN EXISTS (
		SELECT FROM pg_locks AS l WHERE l.mode = 'AccessExclusiveLock'
			AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
			AND (l.relation IN (c.oid, c.reltoastrelid)
				OR l.relation IN (SELECT indexrelid FROM pg_index WHERE indrelid IN (c.oid, c.reltoastrelid)))
	) THEN -1 ELSE coalesce(pg_total_relation_size(c.oid), -1) END`

const partsQuery = `SELECT c.oid::int8, n.nspname, c.relname, c.relkind IN ('p', 'f'), coalesce(pg_get_expr(c.relpartbound, 0), ''),
	c.reltuples::int8, ` + sizeOf + `, i.inhdetachpending,
	coalesce(obj_description(c.oid, 'pg_class'), '')
FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE i.inhparent = $1::int8::oid`

func (Engine) readParts(ctx context.Context, q engine.Querier, t *engine.Table, parent int64, st *engine.State) error {
	err := engine.Each(ctx, q, partsQuery, []any{parent}, func(scan func(...any) error) error {
		var p engine.Part
		var bound string
		err := scan(&p.OID, &p.Schema, &p.Table, &p.Fixed, &bound, &p.Rows, &p.Bytes, &p.Pending, &p.Comment)
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
		p.Interrupted = marked.ReadMark(st.Table)
		p.Due = t.Archive != nil || p.Interrupted && marked.Due
		st.Parts = append(st.Parts, p)
		return nil
	})
	slices.SortFunc(st.Parts, func(a, b engine.Part) int { return cmp.Compare(a.Lo, b.Lo) })
	return err
}

var boundForm = regexp.MustCompile(`^FOR VALUES FROM \((?:MINVALUE|'?(-?[0-9]+)'?)\) TO \((?:MAXVALUE|'?(-?[0-9]+)'?)\)$`)

// parseBound reads bounds in the form of pg_get_expr.
func parseBound(text string) (lo, hi int64, err error) {
	if text == "" {
		return 0, 0, engine.ErrChanging
	}

	match := boundForm.FindStringSubmatch(text)
	if match == nil {
		return 0, 0, fmt.Errorf("%w: %q", engine.ErrTable, text)
	}

	lo, hi = engine.NoLow, engine.NoHigh
	if match[1] != "" {
		lo, err = strconv.ParseInt(match[1], 10, 64)
	}
	if match[2] != "" && err == nil {
		hi, err = strconv.ParseInt(match[2], 10, 64)
	}

	return lo, hi, err
}

// detachedQuery trusts a comment only if the owner of the table is trusted: reading a table of another role may execute
// code of that role.
const detachedQuery = `SELECT c.oid::int8, n.nspname, c.relname, c.reltuples::int8,
	` + sizeOf + `, d.description
FROM pg_description d JOIN pg_class c ON c.oid = d.objoid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE d.classoid = 'pg_class'::regclass AND d.objsubid = 0 AND c.relkind = 'r' AND NOT c.relispartition
	AND strpos(d.description, $1::text) > 0
	AND (c.relowner = (SELECT t.relowner FROM pg_class t WHERE t.oid = $2::int8::oid)
		OR EXISTS (SELECT FROM pg_roles r WHERE r.oid = c.relowner AND (r.rolsuper OR r.rolname = current_user)))
	AND EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = $3::text AND a.atttypid = 'int8'::regtype)
ORDER BY c.oid`
