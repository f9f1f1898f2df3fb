package scenario

import (
	"context"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
)

var serverkeys = Scenario{
	Name:     "serverkeys",
	Title:    "UUIDs made by PostgreSQL",
	Question: "Does it cost more or less if PostgreSQL makes the UUIDs, with uuidv7() or gen_random_uuid() as default?",
	Kinds:    []string{"auto", "snowflake", "uuidv7", "uuidv7-server", "uuidv4", "uuidv4-server"},
	Cases: func(o Options, e engine.Engine) []measure.Params {
		if e.Dialect() != "postgres" {
			return nil
		}
		return []measure.Params{measure.P("rows", share(o.Rows, 4, 2000), "batch", 1000)}
	},
	Run: func(ctx context.Context, b *Bench) (map[string]float64, error) {
		table := b.Table("serverkeys", account)
		if err := b.Create(ctx, table); err != nil {
			return nil, err
		}
		in := Insert{Table: table, Rows: b.Number("rows"), Batch: b.Number("batch"), Fill: fillAccount}
		return b.InsertAndMeasure(ctx, in)
	},
}
