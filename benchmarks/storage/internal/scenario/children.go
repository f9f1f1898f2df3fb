package scenario

import (
	"context"

	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
)

var children = Scenario{
	Name:     "children",
	Title:    "Rows that refer to others",
	Question: "What does a key cost in the tables that refer to it?",
	Kinds:    four,
	Sizes:    []string{"uuidv4-text"},
	Cases: func(o Options, _ engine.Engine) []measure.Params {
		rows := min(o.Rows, mostChildren)
		return []measure.Params{measure.P("parents", max(rows/5, 1), "rows", rows)}
	},
	Run: runChildren,
}

// mostChildren is the most rows of the table, which is filled again for each run.
const mostChildren = 50_000

// recent is the number of rows among which a parent is chosen: rows belong to the latest ones.
const recent = 1000

func runChildren(ctx context.Context, b *Bench) (map[string]float64, error) {
	parent := b.Table("children_parent", account)
	child := b.Table("children", []engine.Column{
		{Name: "parent_id", References: parent.Name}, {Name: "amount"},
	}, "parent_id")
	if err := b.Create(ctx, parent, child); err != nil {
		return nil, err
	}

	var parents []any
	err := b.Do(ctx, Insert{
		Table: parent, Rows: b.Number("parents"), Batch: 1000, Fill: fillAccount,
		Keep: func(id any) { parents = append(parents, id) },
	})
	if err != nil {
		return nil, err
	}

	random, rows := b.random(), b.Number("rows")
	in := Insert{Table: child, Rows: rows, Batch: 1000, Fill: func(row []any, i int) {
		newest := i * len(parents) / rows
		row[0], row[1] = b.Value(parents[max(newest-random.IntN(recent), 0)]), int64(i)
	}}
	return b.Measure(ctx, child.Name, rows, func() error { return b.Do(ctx, in) }, parent.Name)
}
