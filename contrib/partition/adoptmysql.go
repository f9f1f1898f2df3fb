package partition

import (
	"context"
	_ "embed" // for the query
	"fmt"
	"strings"

	"github.com/sqlflake/sqlflake/snowflake"
)

// refusalsMySQLQuery returns what a partitioned table can't have. Parameters: schema and table, and where it says so
// the key.
//
//go:embed adopt_refusals_mysql.sql
var refusalsMySQLQuery string

// adoption returns the one step of MySQL and MariaDB.
func (e mysql) adoption(ctx context.Context, q querier, s *Set, _ *claim, _ int) (*adoption, error) {
	t, err := e.readTable(ctx, q, s)
	switch {
	case err != nil:
		return nil, err
	case t.kind != "BASE TABLE", strings.Contains(t.options, "partitioned"): // unsuitable, or adopted before
		return s.adopted(ctx, q)
	case !strings.EqualFold(t.engine, "InnoDB"):
		return nil, fmt.Errorf("%w: %v has the engine %q, want InnoDB", ErrTable, t.name, t.engine)
	}

	if err := t.checkKey(s); err != nil {
		return nil, err
	}

	legacy := s.legacyName()
	a := s.newAdoption(t.name, t.now)
	var args []any
	for range 3 {
		args = append(args, t.schema, t.table, s.key)
	}

	args = append(args, t.schema, t.table, t.schema, t.table, t.schema, t.table)
	if err := a.refuse(ctx, q, refusalsMySQLQuery, args...); err != nil {
		return nil, err
	}

	st := &state{table: t.name, now: t.now}
	floor := (&planner{Set: s, state: st, Calendar: s.calendar, local: s.now()}).first()
	st.parts = []part{{name: name{t.schema, legacy}, lo: noLow, hi: floor.Lo}}
	steps, err := s.firstPartitions(st)
	if err != nil {
		return nil, err
	}

	steps = append([]Step{{Partition: legacy, Lo: noLow, Hi: snowflake.ID(floor.Lo)}}, steps...)
	last := steps[len(steps)-1]
	if !s.wantDefault && last.Hi != noHigh {
		why := "the last partition without WithDefault"
		if err := a.refuseAhead(ctx, q, s, t.name, int64(last.Hi), why); err != nil {
			return nil, err
		}
	}

	drop := ""
	if text := s.legacyDrop(floor.Lo); text != "" {
		drop = "; the rows before " + s.calendar.Text(floor.From) + " become the partition " + legacy + text
	}

	alter := fmt.Sprintf("ALTER TABLE %s %s", tableMySQL(t.name), s.partitionBy(steps))
	a.add(Step{
		Action: actionRewrite, Lo: noLow, Hi: last.Hi, To: last.To, Rows: t.rows, Bytes: t.bytes, SQL: []string{alter},
		Why: "copies the table, and blocks writers meanwhile" + drop,
	}, func(ctx context.Context, q querier) error { return execAll(ctx, q, alter) })
	return a, nil
}
