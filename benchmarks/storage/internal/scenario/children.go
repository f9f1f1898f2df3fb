package scenario

import (
	"context"
	"math/rand/v2"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
)

var children = Scenario{
	Name:     "children",
	Title:    "Rows with a foreign key",
	Question: "What does a foreign key with its index cost if the new rows belong to recent parents, or to random ones?",
	Cases: func(o Options, _ engine.Engine) []measure.Params {
		parents := max(o.Rows/5, 1)
		return []measure.Params{
			measure.P("parents", parents, "rows", o.Rows, "of", "recent"),
			measure.P("parents", parents, "rows", o.Rows, "of", "random"),
		}
	},
	Run: runChildren,
}

// recent is the number of rows among which a recent parent is chosen.
const recent = 1000

func runChildren(ctx context.Context, b *Bench) (map[string]float64, error) {
	parent := b.Table("parent", account)
	child := b.Table("child", []engine.Column{
		{Name: "parent_id", Type: engine.Key, References: parent.Name}, {Name: "amount"},
	}, []string{"parent_id"})
	if err := b.Create(ctx, parent, child); err != nil {
		return nil, err
	}
	parents := make([]any, 0, b.Number("parents"))
	err := b.Do(ctx, Insert{
		Table: parent, Rows: b.Number("parents"), Batch: 1000, Fill: fillAccount,
		Keep: func(_ int, id any) { parents = append(parents, id) },
	})
	if err != nil {
		return nil, err
	}
	random := rand.New(rand.NewPCG(b.Options.Seed, uint64(b.Round))) //nolint:gosec // a benchmark's choice of rows
	rows := b.Number("rows")
	in := Insert{Table: child, Rows: rows, Batch: 1000, Fill: func(row []any, i int) {
		at := random.IntN(len(parents))
		if b.Params.Get("of") == "recent" { // parents are added slowly, and rows belong to the latest ones
			newest := i * len(parents) / rows
			at = max(newest-random.IntN(recent), 0)
		}
		row[0], row[1] = b.Value(parents[at]), int64(i)
	}}
	cost, err := b.Measure(ctx, []string{parent.Name, child.Name}, func() error { return b.Do(ctx, in) })
	if err != nil {
		return nil, err
	}
	values := map[string]float64{}
	cost.Into(values, rows)
	return values, b.Sizes(ctx, values, child.Name, rows)
}
