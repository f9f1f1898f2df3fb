package postgres

import (
	"cmp"
	"context"
	_ "embed" // for the queries
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/sqlflake/sqlflake/contrib/partition/internal/engine"
)

// tableQuery returns the table, and why it can't be maintained. Parameters: its name, its schema and the key.
//
//go:embed table.sql
var tableQuery string

// partsQuery returns the partitions of the table with an OID. pg_get_expr with the OID of the partition would wait for
// whoever has locked it.
//
//go:embed parts.sql
var partsQuery string

// detachedQuery returns tables with a mark. It trusts a comment only if the owner of the table is trusted: reading a
// table of another role may execute code of that role. Parameters: the words of the mark, the table's OID and the key.
//
//go:embed detached.sql
var detachedQuery string

// Inspect reads the table, its partitions, and the tables that earlier calls detached.
func (e Engine) Inspect(ctx context.Context, q engine.Querier, t *engine.Table) (*engine.State, error) {
	var oid, now int64
	var unsuitable string
	st := &engine.State{Table: t.Name}
	row := q.QueryRowContext(ctx, tableQuery, t.Table, t.Schema, t.Key)
	found, err := engine.One(row, &oid, &st.Table.Schema, &unsuitable, &st.Owner, &st.Storage, &st.Grantees,
		&st.Identity, &now)
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

// readParts reads the partitions of the table with the OID parent.
func (Engine) readParts(ctx context.Context, q engine.Querier, t *engine.Table, parent int64, st *engine.State) error {
	err := engine.Each(ctx, q, partsQuery, []any{parent}, func(scan func(...any) error) error {
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

var boundForm = regexp.MustCompile(
	`^FOR VALUES FROM \((?:MINVALUE|'?(-?[0-9]+)'?)\) TO \((?:MAXVALUE|'?(-?[0-9]+)'?)\)$`)

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
