package partition

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// mysqlTable is what information_schema says about the table.
type mysqlTable struct {
	name
	kind, engine, options, comment string
	key                            string // its type
	rows, bytes                    int64
	now                            time.Time
	plain                          bool // see state
}

// readTable reads the table. checkKey tests the key.
func (mysql) readTable(ctx context.Context, q querier, s *Set) (t mysqlTable, err error) {
	const query = `SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, COALESCE(ENGINE, ''), COALESCE(CREATE_OPTIONS, ''),
	COALESCE(TABLE_COMMENT, ''), CAST(COALESCE(TABLE_ROWS, 0) AS SIGNED),
	CAST(COALESCE(DATA_LENGTH + INDEX_LENGTH, 0) AS SIGNED), @@sql_mode LIKE '%NO_BACKSLASH_ESCAPES%',
	TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)),
	COALESCE((SELECT COLUMN_TYPE FROM information_schema.COLUMNS
		WHERE TABLE_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE()) AND TABLE_NAME = ? AND COLUMN_NAME = ?), '')
FROM information_schema.TABLES WHERE TABLE_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE()) AND TABLE_NAME = ?`
	var now int64
	schema, table := s.table.schema, s.table.table
	found, err := one(q.QueryRowContext(ctx, query, schema, table, s.key, schema, table), &t.schema, &t.table, &t.kind,
		&t.engine, &t.options, &t.comment, &t.rows, &t.bytes, &t.plain, &now, &t.key)
	if err == nil && !found {
		err = s.noTable()
	}
	t.now = time.UnixMicro(now).UTC()
	return t, err
}

func (t mysqlTable) checkKey(s *Set) error {
	return s.checkKey(t.name, t.key, strings.HasPrefix(t.key, "bigint"))
}

func (e mysql) inspect(ctx context.Context, q querier, s *Set) (*state, error) {
	t, err := e.readTable(ctx, q, s)
	switch {
	case err != nil:
		return nil, err
	case t.kind != "BASE TABLE":
		return nil, fmt.Errorf("%w: %v is a %s", ErrTable, t.name, strings.ToLower(t.kind))
	}
	if err := t.checkKey(s); err != nil {
		return nil, err
	}
	st := &state{table: t.name, now: t.now, plain: t.plain}
	if err := e.readParts(ctx, q, s, st, t); err != nil {
		return nil, err
	}
	if err := st.readLoose(ctx, q, markedQuery, st.table.schema, markWords); err != nil {
		return nil, err
	}
	if s.rename != nil || s.archive != nil {
		if st.trigger, err = e.readTrigger(ctx, q, st.table); err != nil {
			return nil, err
		}
	}
	return st, e.matchTwins(ctx, q, s, st)
}

const partitionsQuery = `SELECT COALESCE(PARTITION_NAME, ''), SUBPARTITION_NAME IS NOT NULL, COALESCE(PARTITION_METHOD, ''),
	COALESCE(PARTITION_EXPRESSION, ''), COALESCE(PARTITION_DESCRIPTION, ''),
	CAST(COALESCE(TABLE_ROWS, 0) AS SIGNED), CAST(COALESCE(DATA_LENGTH + INDEX_LENGTH, 0) AS SIGNED)
FROM information_schema.PARTITIONS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? ORDER BY PARTITION_ORDINAL_POSITION`

func (mysql) readParts(ctx context.Context, q querier, s *Set, st *state, t mysqlTable) error {
	var last string // the bound of the last one
	args := []any{st.table.schema, st.table.table}
	err := each(ctx, q, partitionsQuery, args, func(scan func(...any) error) error {
		p := part{name: name{schema: st.table.schema}, parent: st.table, lo: noLow, comment: t.comment, due: s.archive != nil}
		var divided bool
		var method, expression string
		err := scan(&p.table, &divided, &method, &expression, &last, &p.rows, &p.bytes)
		switch {
		case err != nil:
			return err
		case p.table == "":
			return fmt.Errorf("%w: %v is not partitioned: see Adopt", ErrTable, st.table)
		case method != "RANGE" && method != "RANGE COLUMNS", !isKeyMySQL(expression, s.key):
			return fmt.Errorf("%w: %v is partitioned by %s (%s), want RANGE (%s)", ErrTable, st.table, method, expression, s.key)
		case divided:
			return fmt.Errorf("%w: %v has subpartitions", ErrTable, st.table)
		}
		if p.hi, err = parseLimit(last, strings.Contains(t.key, "unsigned")); err != nil {
			return fmt.Errorf("the bound of the partition %s: %w", p.table, err)
		}
		if n := len(st.parts); n > 0 {
			p.lo = st.parts[n-1].hi
		}
		st.parts = append(st.parts, p)
		return nil
	})
	n := len(st.parts)
	if n > 0 && last == maxValue && (s.wantDefault || strings.EqualFold(st.parts[n-1].table, s.defaultName())) {
		st.fallback, st.parts = &st.parts[n-1], st.parts[:n-1]
	}
	if i := slices.IndexFunc(st.parts, func(p part) bool { return p.hi == noHigh }); i >= 0 {
		st.parts = st.parts[:i+1] // no ID belongs to those after it
	}
	return err
}

// isKeyMySQL reports whether an expression is the key. MariaDB shows it with other quotes in the mode ANSI_QUOTES.
func isKeyMySQL(expression, key string) bool {
	ansi := `"` + strings.ReplaceAll(key, `"`, `""`) + `"`
	return strings.EqualFold(expression, quoteMySQL(key)) || strings.EqualFold(expression, ansi)
}

const maxValue = "MAXVALUE"

// parseLimit reads the upper bound of a partition. The servers show the greatest int64 as MAXVALUE, and some bounds
// above it as negative numbers.
func parseLimit(text string, unsigned bool) (int64, error) {
	if text == maxValue {
		return noHigh, nil
	}
	limit, err := strconv.ParseInt(text, 10, 64)
	if unsigned && (errors.Is(err, strconv.ErrRange) || limit < 0) {
		return noHigh, nil
	}
	return limit, err
}

const markedQuery = `SELECT 0, TABLE_SCHEMA, TABLE_NAME, CAST(COALESCE(TABLE_ROWS, 0) AS SIGNED),
	CAST(COALESCE(DATA_LENGTH + INDEX_LENGTH, 0) AS SIGNED), TABLE_COMMENT
FROM information_schema.TABLES
WHERE TABLE_SCHEMA = ? AND TABLE_TYPE = 'BASE TABLE' AND LOCATE(?, TABLE_COMMENT) > 0 ORDER BY TABLE_NAME`

// readTrigger returns a trigger of the table that uses other tables, on MariaDB, which can't exchange a partition of
// such a table while it is locked: the statement waits for a lock of its transaction. It finds the words of statements,
// also in a string, but not tables that only a function uses, nor triggers that the user has no right to see: there the
// lock timeout ends the statement.
func (mysql) readTrigger(ctx context.Context, q querier, table name) (found string, err error) {
	const query = `SELECT TRIGGER_NAME FROM information_schema.TRIGGERS
WHERE EVENT_OBJECT_SCHEMA = ? AND EVENT_OBJECT_TABLE = ? AND VERSION() LIKE '%MariaDB%' AND ACTION_STATEMENT REGEXP ?
ORDER BY TRIGGER_NAME LIMIT 1`
	const usesTables = `(?i)\b(INSERT|REPLACE|UPDATE|DELETE|SELECT|TABLE|CALL)\b`
	_, err = one(q.QueryRowContext(ctx, query, table.schema, table.table, usesTables), &found)
	return found, err
}

// matchTwins finds marked tables whose partition exists: an earlier call was interrupted before it dropped the
// partition, or before it exchanged the two. The lower bound of the partition may have changed since.
func (mysql) matchTwins(ctx context.Context, q querier, s *Set, st *state) error {
	var loose []part
	for _, l := range st.loose {
		i := slices.IndexFunc(st.parts, func(p part) bool { return p.hi == l.hi && twinOf(st.table, p.table) == l.table })
		if i < 0 {
			loose = append(loose, l)
			continue
		}
		p := &st.parts[i]
		_, moved, err := s.keyOf(ctx, q, l, noLow, noHigh, 0)
		if err != nil {
			return err
		}
		_, rest, err := s.keyOf(ctx, q, *p, noLow, noHigh, 0)
		if err != nil {
			return err
		}
		p.twin, p.moved, p.split, p.due = l.table, moved, moved && rest, p.due || l.due
	}
	st.loose = loose
	return nil
}

// twinOf returns the name of the table that gets the rows of a partition. Names of partitions are unique in their
// table.
func twinOf(table name, partition string) string {
	if strings.HasPrefix(partition, table.table+"_") {
		return partition
	}
	return table.table + "_" + partition
}
