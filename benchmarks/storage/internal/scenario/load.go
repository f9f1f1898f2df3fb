package scenario

import (
	"context"
	"slices"

	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/key"
)

var load = Scenario{
	Name:     "load",
	Title:    "Inserting rows",
	Question: "How much disk space does a key take, and how fast are inserts?",
	Kinds:    []string{"auto", "snowflake", "uuidv7", "uuidv7-server", "uuidv4"},
	Sizes: []string{
		"auto-readback", "autoincrement", "snowflake-clustered", "snowflake-skewed", "snowflake-53",
		"snowflake-bigint", "uuidv7-text", "uuidv4-text", "ulid-text",
	},
	Cases: func(o Options, e engine.Engine) []measure.Params {
		var cases []measure.Params
		// One writer's statements of other sizes are between these.
		for _, batch := range slices.Compact([]int{slices.Min(o.Batch), slices.Max(o.Batch)}) {
			rows := o.Rows
			switch { // single rows are slow, and the sizes are known from the others
			case batch == 1 && e.Dialect() == "sqlite":
				rows = share(rows, 20, 5000)
			case batch == 1:
				rows = share(rows, 40, 2000)
			}
			cases = append(cases, measure.P("rows", rows, "batch", batch))
		}

		return cases
	},
	Run: inserting("load"),
}

var clients = Scenario{
	Name:     "clients",
	Title:    "Several writers",
	Question: "What changes if several processes, each with its own worker and connection, insert at the same time?",
	Kinds:    []string{"auto", "snowflake", "snowflake-clustered", "uuidv7", "uuidv7-server"},
	Sizes:    []string{"snowflake-seconds", "uuidv4"},
	Cases: func(o Options, e engine.Engine) []measure.Params {
		if e.Dialect() == "sqlite" {
			return nil // one writer at a time
		}

		var cases []measure.Params
		for _, n := range o.Clients {
			for _, batch := range o.Batch {
				rows := share(o.Rows, max(map[int]int{1: 8, 10: 2}[batch], 1), 5000) // small statements are slow
				cases = append(cases, measure.P("rows", max(rows, n), "clients", n, "batch", batch))
			}
		}

		return cases
	},
	Timed: true,
	Run:   inserting("clients"),
}

var paced = Scenario{
	Name:  "paced",
	Title: "Writers that do not hurry",
	Question: "How large is the table if several processes insert a row at a time, at an ordinary rate? Their order " +
		"is simulated.",
	Kinds: slices.Concat(clients.Kinds, clients.Sizes),
	Cases: func(o Options, e engine.Engine) []measure.Params {
		if e.Dialect() == "sqlite" {
			return nil // one writer at a time
		}
		var cases []measure.Params
		for _, pace := range []int{125, 1} { // rows a second and client
			cases = append(cases, measure.P("rows", o.Rows, "clients", slices.Max(o.Clients), "batch", 1, "pace", pace))
		}
		return cases
	},
	Once: func(measure.Params) bool { return true }, // sizes only
	Run: func(ctx context.Context, b *Bench) (map[string]float64, error) {
		return b.paced(ctx, key.Config{
			Seed: b.Options.Seed, Clients: b.Number("clients"), Pace: b.Number("pace"), Batch: b.Number("batch"),
		})
	},
}

// paced inserts the rows of all clients in the order of their arrival, over one connection, in large statements: a
// B-tree does not tell them from the single ones.
func (b *Bench) paced(ctx context.Context, c key.Config) (map[string]float64, error) {
	table := b.Table("paced", account)
	source, err := b.Kind.New(c)
	if err == nil {
		err = b.Create(ctx, table)
	}
	if err != nil {
		return nil, err
	}

	in := Insert{Table: table, Rows: b.Number("rows"), Batch: 1000, Source: source, Fill: fillAccount}
	values, err := b.Measure(ctx, table.Name, in.Rows, func() error { return b.Do(ctx, in) })
	delete(values, "rate")
	delete(values, "log")
	return values, err
}
