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

// Info is what information_schema says about the table.
type Info struct {
	engine.Name
	Kind, Engine, Options, Comment string
	KeyType                        string
	Rows, Bytes                    int64
	Now                            time.Time
	Plain                          bool // see engine.State
}

// ReadInfo reads the table. CheckKey tests the key.
func ReadInfo(ctx context.Context, q engine.Querier, t *engine.Table) (i Info, err error) {
	const query = `SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, COALESCE(ENGINE, ''), COALESCE(CREATE_OPTIONS, ''),
	COALESCE(TABLE_COMMENT, ''), CAST(COALESCE(TABLE_ROWS, -1) AS SIGNED),
	CAST(COALESCE(DATA_LENGTH + INDEX_LENGTH, -1) AS SIGNED), @@sql_mode LIKE '%NO_BACKSLASH_ESCAPES%',
	TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)),
	COALESCE((SELECT COLUMN_TYPE FROM information_schema.COLUMNS
		WHERE TABLE_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE()) AND TABLE_NAME = ? AND COLUMN_NAME = ?), '')
FROM information_schema.TABLES WHERE TABLE_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE()) AND TABLE_NAME = ?`
	var now int64
	row := q.QueryRowContext(ctx, query, t.Schema, t.Table, t.Key, t.Schema, t.Table)
	found, err := engine.One(row, &i.Schema, &i.Table, &i.Kind, &i.Engine, &i.Options, &i.Comment, &i.Rows, &i.Bytes,
		&i.Plain, &now, &i.KeyType)
	if err == nil && !found {
		err = t.NotFound()
	}

	i.Now = time.UnixMicro(now).UTC()
	return i, err
}

// CheckKey returns ErrTable for a key that is no bigint.
func (i Info) CheckKey(t *engine.Table) error {
	return t.CheckKey(i.Name, i.KeyType, strings.HasPrefix(i.KeyType, "bigint"))
}

// Inspect reads the table, its partitions, and the tables that earlier calls detached.
func (e Engine) Inspect(ctx context.Context, q engine.Querier, t *engine.Table) (*engine.State, error) {
	i, err := ReadInfo(ctx, q, t)
	switch {
	case err != nil:
		return nil, err
	case i.Kind != "BASE TABLE":
		return nil, fmt.Errorf("%w: %v is a %s", engine.ErrTable, i.Name, strings.ToLower(i.Kind))
	}

	if err := i.CheckKey(t); err != nil {
		return nil, err
	}

	st := &engine.State{Table: i.Name, Now: i.Now, Plain: i.Plain}
	if err := readParts(ctx, q, t, st, i); err != nil {
		return nil, err
	}
	if err := st.ReadDetached(ctx, q, detachedQuery, st.Table.Schema, engine.MarkWords); err != nil {
		return nil, err
	}

	if t.Rename != nil || t.Archive != nil {
		if st.Trigger, err = readTrigger(ctx, q, st.Table); err != nil {
			return nil, err
		}
	}

	return st, e.matchExchangeTables(ctx, q, t, st)
}

// readParts reads the partitions of the table, and sets the default one apart.
func readParts(ctx context.Context, q engine.Querier, t *engine.Table, st *engine.State, i Info) error {
	const query = `SELECT COALESCE(PARTITION_NAME, ''), SUBPARTITION_NAME IS NOT NULL,
	COALESCE(PARTITION_METHOD, ''), COALESCE(PARTITION_EXPRESSION, ''), COALESCE(PARTITION_DESCRIPTION, ''),
	CAST(COALESCE(TABLE_ROWS, -1) AS SIGNED), CAST(COALESCE(DATA_LENGTH + INDEX_LENGTH, -1) AS SIGNED)
FROM information_schema.PARTITIONS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? ORDER BY PARTITION_ORDINAL_POSITION`
	var limit string // the upper bound of the last one
	args := []any{st.Table.Schema, st.Table.Table}
	err := engine.Each(ctx, q, query, args, func(scan func(...any) error) error {
		var p engine.Part
		var divided bool
		var method, expression string
		if err := scan(&p.Table, &divided, &method, &expression, &limit, &p.Rows, &p.Bytes); err != nil {
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

		p.Schema, p.Parent, p.Comment, p.Due = st.Table.Schema, st.Table, i.Comment, t.Archive != nil
		p.Lo = engine.NoLow
		if n := len(st.Parts); n > 0 {
			p.Lo = st.Parts[n-1].Hi
		}

		var err error
		if p.Hi, err = parseLimit(limit, strings.Contains(i.KeyType, "unsigned")); err != nil {
			return fmt.Errorf("the bound of the partition %s: %w", p.Table, err)
		}

		st.Parts = append(st.Parts, p)
		return nil
	})

	splitParts(t, st, limit)
	return err
}

// splitParts removes the default partition, and those to which no ID belongs, from the partitions. limit is the upper
// bound of the last one.
func splitParts(t *engine.Table, st *engine.State, limit string) {
	if n := len(st.Parts); n > 0 && limit == maxValue {
		last := &st.Parts[n-1]
		if t.WantDefault || strings.EqualFold(last.Table, t.DefaultName()) {
			st.Default, st.Parts = last, st.Parts[:n-1]
		}
	}

	if i := slices.IndexFunc(st.Parts, func(p engine.Part) bool { return p.Hi == engine.NoHigh }); i >= 0 {
		st.Parts = st.Parts[:i+1]
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
const detachedQuery = `SELECT 0, TABLE_SCHEMA, TABLE_NAME, CAST(COALESCE(TABLE_ROWS, -1) AS SIGNED),
	CAST(COALESCE(DATA_LENGTH + INDEX_LENGTH, -1) AS SIGNED), TABLE_COMMENT
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
		_, moved, err := e.Key(ctx, q, t, l, engine.NoLow, engine.NoHigh, 0)
		if err != nil {
			return err
		}

		_, rest, err := e.Key(ctx, q, t, *p, engine.NoLow, engine.NoHigh, 0)
		if err != nil {
			return err
		}

		p.ExchangeTable, p.Moved, p.Split, p.Due = l.Table, moved, moved && rest, p.Due || l.Due
	}

	st.Detached = detached
	return nil
}
