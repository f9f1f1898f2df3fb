package scenario

import (
	"context"
	"math/rand/v2"

	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
)

var children = Scenario{
	Name:     "children",
	Title:    "Rows that refer to others",
	Question: "What does a key cost in the tables that refer to it?",
	Sizes:    []string{"explicit", "uuidv4-text"},
	Cases: func(o Options, _ engine.Engine) []measure.Params {
		var cases []measure.Params
		for _, rows := range withLarge(o.Rows) {
			cases = append(cases, measure.P("parents", max(rows/5, 1), "rows", rows, "of", "recent"))
		}
		return append(cases, measure.P("parents", max(o.Rows/5, 1), "rows", o.Rows, "of", "random"))
	},
	// With random parents all keys are random in the index.
	OnceFor: func(p measure.Params) bool { return large(p) || p.Get("of") == "random" },
	Run:     runChildren,
}

// recent is the number of rows among which a recent parent is chosen.
const recent = 1000

func runChildren(ctx context.Context, b *Bench) (map[string]float64, error) {
	parent, child, parents, err := b.family(ctx, "children", b.Number("parents"))
	if err != nil {
		return nil, err
	}
	random, rows := b.random(), b.Number("rows")
	return b.InsertAndMeasure(ctx, Insert{Table: child, Rows: rows, Batch: 1000, Fill: func(row []any, i int) {
		at := random.IntN(len(parents))
		if b.Params.Get("of") == "recent" { // parents are added slowly, and rows belong to the latest ones
			newest := i * len(parents) / rows
			at = max(newest-random.IntN(recent), 0)
		}
		row[0], row[1] = b.Value(parents[at]), int64(i)
	}}, parent.Name)
}

// family creates two tables, fills the parents, and returns their keys. Children have an index on parent_id.
func (b *Bench) family(ctx context.Context, name string, n int) (parent, child engine.Table, keys []any, err error) {
	parent = b.Table(name+"_parent", account)
	child = b.Table(name, []engine.Column{
		{Name: "parent_id", Type: engine.Key, References: parent.Name}, {Name: "amount"},
	}, []string{"parent_id"})
	keys = make([]any, 0, n)
	if _, err := b.fill(ctx, parent, n, &keys); err != nil {
		return parent, child, nil, err
	}
	return parent, child, keys, b.Create(ctx, child)
}

// random returns numbers that are the same for all kinds of keys in a round.
func (b *Bench) random() *rand.Rand {
	return rand.New(rand.NewPCG(b.Options.Seed, uint64(b.Round))) //nolint:gosec // a benchmark's choice of rows
}
