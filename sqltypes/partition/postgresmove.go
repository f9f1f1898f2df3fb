package partition

import (
	"context"
	"fmt"
	"strings"
)

// move fills a table before it attaches it as the partition. It locks the parent first: a reader that has planned with
// the default partition only, or a writer that waits for one of its rows, would miss the moved rows.
func (e postgres) move(ctx context.Context, q querier, s *Set, st *state, create Step) (moved int64, err error) {
	from, to := quoteTable(st.fallback.name), name{st.table.schema, create.Partition}
	// ATTACH PARTITION locks what foreign keys refer to at the end. If that were refused then, all rows would have been
	// copied for nothing.
	locks, err := relatedLocks(ctx, q, quoteTable(st.table), parentsFirst)
	if err != nil {
		return 0, err
	}
	if err := s.lockInTurn(ctx, q, locks...); err != nil {
		return 0, err
	}
	if err := s.lock(ctx, q, tableLock{from, exclusive}, s.lockTimeout); err != nil {
		return 0, err
	}
	if err := e.checkMovable(ctx, q, st); err != nil {
		return 0, err
	}
	columns, err := list(ctx, q, `SELECT quote_ident(attname) FROM pg_attribute
WHERE attrelid = $1::int8::oid AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum`, st.fallback.oid)
	if err != nil {
		return 0, err
	}
	// The rows are not deleted for the triggers.
	off, on, err := e.triggers(ctx, q, st.fallback)
	if err != nil {
		return 0, err
	}
	if err := execAll(ctx, q, append(e.createTable(st, to), off...)...); err != nil {
		return 0, err
	}
	move := fmt.Sprintf("WITH moved AS (DELETE FROM ONLY %s WHERE %[2]s >= %[3]d AND %[2]s < %[4]d RETURNING %[5]s) "+
		"INSERT INTO %[6]s (%[5]s) SELECT %[5]s FROM moved", from, quoteName(s.key), int64(create.Lo), int64(create.Hi),
		strings.Join(columns, ", "), quoteTable(to))
	result, err := q.ExecContext(ctx, move)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", move, err)
	}
	if moved, err = result.RowsAffected(); err != nil {
		return 0, err
	}
	// ATTACH fails if the range has rows that were not moved.
	return moved, execAll(ctx, q, append(on, e.attach(st, create))...)
}

// checkMovable refuses to move rows that other rows refer to: ON DELETE CASCADE would delete those.
func (postgres) checkMovable(ctx context.Context, q querier, st *state) error {
	if st.fallback.fixed {
		return fmt.Errorf("%w: the default partition %v has partitions, or is a foreign table", ErrTable, st.fallback.name)
	}
	keys, err := list(ctx, q, `SELECT quote_ident(k.conname) || ' of ' || k.conrelid::regclass FROM pg_constraint k
WHERE k.contype = 'f' AND k.confrelid = $1::int8::oid ORDER BY k.conparentid, k.oid LIMIT 1`, st.fallback.oid)
	if err != nil {
		return err
	}
	if len(keys) > 0 {
		return fmt.Errorf("%w: the foreign key %s refers to rows of %v, which can't be moved",
			ErrTable, keys[0], st.fallback.name)
	}
	return nil
}

// triggers returns the statements that disable the triggers of a partition, and that enable them as they were.
func (postgres) triggers(ctx context.Context, q querier, p *part) (off, on []string, err error) {
	// On PostgreSQL 14 those that it has from the table are internal too.
	const query = `SELECT tgenabled::text || quote_ident(tgname) FROM pg_trigger
WHERE tgrelid = $1::int8::oid AND tgenabled <> 'D' AND (NOT tgisinternal OR tgparentid <> 0)
	AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.oid = tgconstraint AND k.contype <> 't') ORDER BY tgname`
	texts, err := list(ctx, q, query, p.oid)
	modes := map[byte]string{'O': "ENABLE", 'R': "ENABLE REPLICA", 'A': "ENABLE ALWAYS"}
	for _, text := range texts {
		alter, trigger := "ALTER TABLE ONLY "+quoteTable(p.name), text[1:]
		off = append(off, fmt.Sprintf("%s DISABLE TRIGGER %s", alter, trigger))
		on = append(on, fmt.Sprintf("%s %s TRIGGER %s", alter, modes[text[0]], trigger))
	}
	return off, on, err
}
