package scenario

import (
	"context"

	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/key"
)

var change = Scenario{
	Name:     "change",
	Title:    "Changing from UUIDv4 to UUIDv7",
	Question: "Does a table with UUIDv4 keys gain if new rows get UUIDv7, without a rewrite of the old ones?",
	Kinds:    []string{"auto", "uuidv7", "uuidv4-to-v7", "uuidv4"},
	Cases:    halfOfThem,
	Once:     true,
	Run:      runChange,
}

func halfOfThem(o Options, _ engine.Engine) []measure.Params {
	return []measure.Params{measure.P("rows", half(o.Rows))}
}

// runChange fills half of the table and measures the second half. Sizes are those of the whole table, except
// bytes_added.
func runChange(ctx context.Context, b *Bench) (map[string]float64, error) {
	rows := b.Number("rows")
	in, err := b.fill(ctx, b.Table("change", account), rows/2, nil)
	if err != nil {
		return nil, err
	}
	table := in.Table.Name
	before := map[string]float64{}
	if err := b.Sizes(ctx, before, table, 1); err != nil {
		return nil, err
	}
	if b.Kind.Name == "uuidv4-to-v7" {
		v7, err := key.Find([]string{"uuidv7"})
		if err != nil {
			return nil, err
		}
		if in.Source, err = v7[0].New(key.Config{Seed: b.Options.Seed + uint64(b.Round), Clients: 1}); err != nil {
			return nil, err
		}
	}
	in.Rows = rows - in.First
	values, err := b.InsertAndMeasure(ctx, in) // and the sizes, which are set again
	if err != nil {
		return nil, err
	}
	if err := b.Sizes(ctx, values, table, rows); err != nil {
		return nil, err
	}
	values["bytes_added"] = (values["bytes_table"]*float64(rows) - before["bytes_table"]) / float64(max(in.Rows, 1))
	return values, nil
}
