package scenario

import (
	"context"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
)

var clients = Scenario{
	Name:     "clients",
	Title:    "Several clients at once",
	Question: "What changes if several clients insert at the same time?",
	Kinds:    []string{"auto", "explicit", "snowflake", "snowflake-workers", "uuidv7", "uuidv4"},
	Sizes:    []string{"uuidv4-text"},
	Cases: func(o Options, e engine.Engine) []measure.Params {
		if e.Dialect() == "sqlite" {
			return nil // one writer at a time
		}
		var cases []measure.Params
		for _, n := range o.Clients {
			for _, batch := range o.Batch {
				if n > 1 {
					rows := o.Rows
					if batch == 1 {
						rows = share(rows, 32, 5000)
					}
					cases = append(cases, measure.P("rows", max(rows, n), "clients", n, "batch", batch))
				}
			}
		}
		return cases
	},
	Timed: true,
	Run: func(ctx context.Context, b *Bench) (map[string]float64, error) {
		table := b.Table("clients", account)
		if err := b.Create(ctx, table); err != nil {
			return nil, err
		}
		return b.InsertAndMeasure(ctx, Insert{
			Table: table, Rows: b.Number("rows"), Batch: b.Number("batch"), Clients: b.Number("clients"), Fill: fillAccount,
		})
	},
}
