package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sqlflake/sqlflake/contrib/internal/pgsql"
	"github.com/sqlflake/sqlflake/contrib/partition/internal/engine"
)

// Move fills a table before it attaches it as the partition. It locks the parent first: a reader that has planned with
// the default partition only, or a writer that waits for one of its rows, would miss the moved rows.
func (e Engine) Move(
	ctx context.Context, q engine.Querier, t *engine.Table, st *engine.State, create engine.Change,
) (moved int64, err error) {
	if err := lockToMove(ctx, q, t, st); err != nil {
		return 0, err
	}
	if err := checkMovable(ctx, q, st); err != nil {
		return 0, err
	}

	columns, err := engine.List(ctx, q, `SELECT quote_ident(attname) FROM pg_attribute
WHERE attrelid = $1::int8::oid AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
ORDER BY attnum`, st.Default.OID)
	if err != nil {
		return 0, err
	}

	// The rows are not deleted for the triggers.
	off, on, err := triggers(ctx, q, st.Default)
	if err != nil {
		return 0, err
	}

	to := engine.Name{Schema: st.Table.Schema, Table: create.Partition}
	if err := engine.ExecAll(ctx, q, append(e.createTable(st, to), off...)...); err != nil {
		return 0, err
	}

	// The functions of checks, generated columns and indexes may need the path of the session.
	const reset = "SELECT pg_catalog.set_config('search_path', $1::pg_catalog.text, true)"
	if _, err := q.ExecContext(ctx, reset, t.Path); err != nil {
		return 0, err
	}

	moved, err = moveRows(ctx, q, t, st, create, strings.Join(columns, ", "))
	if err != nil {
		return 0, err
	}

	// ATTACH fails if the range has rows that were not moved.
	return moved, engine.ExecAll(ctx, q, append(on, e.attach(st, create))...)
}

// lockToMove locks what a move needs. ATTACH PARTITION locks what foreign keys refer to at the end: if that were
// refused then, all rows would have been copied for nothing.
func lockToMove(ctx context.Context, q engine.Querier, t *engine.Table, st *engine.State) error {
	locks, err := RelatedLocks(ctx, q, Quote(st.Table), parentsFirst)
	if err != nil {
		return err
	}

	// Those that refer to the table come last. checkMovable refuses if there is one.
	locks = locks[:slices.Index(locks, TableLock{Quote(st.Table), Exclusive})+1]
	if err := lockInTurn(ctx, q, t, locks...); err != nil {
		return err
	}

	return lock(ctx, q, TableLock{Quote(st.Default.Name), Exclusive}, t.LockTimeout)
}

// checkMovable refuses to move rows that other rows refer to: ON DELETE CASCADE would delete those.
func checkMovable(ctx context.Context, q engine.Querier, st *engine.State) error {
	if st.Default.Fixed {
		return fmt.Errorf("%w: the default partition %v has partitions, or is a foreign table",
			engine.ErrTable, st.Default.Name)
	}

	const query = `SELECT quote_ident(k.conname) || ' of ' || k.conrelid::regclass FROM pg_constraint k
WHERE k.contype = 'f' AND k.confrelid = $1::int8::oid ORDER BY k.conparentid, k.oid LIMIT 1`
	keys, err := engine.List(ctx, q, query, st.Default.OID)
	if err != nil {
		return err
	}

	if len(keys) > 0 {
		return fmt.Errorf("%w: the foreign key %s refers to rows of %v, which can't be moved",
			engine.ErrTable, keys[0], st.Default.Name)
	}

	return nil
}

// triggers returns the statements that disable the triggers of a partition, and that enable them as they were. On
// PostgreSQL 14 those that it has from the table are internal too.
func triggers(ctx context.Context, q engine.Querier, p *engine.Part) (off, on []string, err error) {
	const offQuery = `SELECT format('ALTER TABLE ONLY %s DISABLE TRIGGER %I', $2::text, tgname) FROM pg_trigger
WHERE tgrelid = $1::int8::oid AND tgenabled <> 'D' AND (NOT tgisinternal OR tgparentid <> 0)
	AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.oid = tgconstraint AND k.contype <> 't')
ORDER BY tgname`
	const onQuery = `SELECT format('ALTER TABLE ONLY %s %s TRIGGER %I', $2::text,
	CASE tgenabled WHEN 'O' THEN 'ENABLE' WHEN 'R' THEN 'ENABLE REPLICA' ELSE 'ENABLE ALWAYS' END, tgname)
FROM pg_trigger
WHERE tgrelid = $1::int8::oid AND tgenabled <> 'D' AND (NOT tgisinternal OR tgparentid <> 0)
	AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.oid = tgconstraint AND k.contype <> 't')
ORDER BY tgname`

	off, err = engine.List(ctx, q, offQuery, p.OID, Quote(p.Name))
	if err != nil {
		return nil, nil, err
	}

	on, err = engine.List(ctx, q, onQuery, p.OID, Quote(p.Name))
	return off, on, err
}

// moveRows moves the rows of a range from the default partition into the table of create. Its names and operators have
// their schema.
func moveRows(
	ctx context.Context, q engine.Querier, t *engine.Table, st *engine.State, create engine.Change, columns string,
) (moved int64, err error) {
	const form = `WITH moved AS (
	DELETE FROM ONLY %[1]s
	WHERE %[2]s OPERATOR(pg_catalog.>=) %[3]d AND %[2]s OPERATOR(pg_catalog.<) %[4]d
	RETURNING %[5]s
) INSERT INTO %[6]s (%[5]s) SELECT %[5]s FROM moved`
	to := engine.Name{Schema: st.Table.Schema, Table: create.Partition}
	move := fmt.Sprintf(form, Quote(st.Default.Name), pgsql.Name(t.Key), create.Lo, create.Hi, columns, Quote(to))

	result, err := q.ExecContext(ctx, move)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", move, err)
	}
	return result.RowsAffected()
}
