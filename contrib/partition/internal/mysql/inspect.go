package mysql

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/contrib/partition/internal/engine"
)

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
	found, err := engine.One(row, &i.Schema, &i.Table, &i.kind, &i.comment, &i.plain, &now, &i.keyType)
	if err == nil && !found {
		err = t.NotFound()
	}

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
	err := engine.Each(ctx, q, query, args, func(scan func(...any) error) error {
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

		var err error
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
