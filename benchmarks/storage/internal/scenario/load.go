package scenario

import (
	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
)

var load = Scenario{
	Name:     "load",
	Title:    "Inserting rows",
	Question: "How much disk space does a key take, and how fast are inserts?",
	Kinds:    []string{"auto", "snowflake", "snowflake-workers", "uuidv7", "uuidv4"},
	Sizes: []string{
		"auto-readback", "autoincrement", "explicit", "snowflake-skewed", "snowflake-53", "snowflake-first",
		"snowflake-bigint", "uuidv7-text", "uuidv4-text", "ulid-text",
	},
	Cases: func(o Options, e engine.Engine) []measure.Params {
		var cases []measure.Params
		for _, batch := range o.Batch {
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
	Run:   inserting("clients"),
}

var serverkeys = Scenario{
	Name:     "serverkeys",
	Title:    "UUIDs made by PostgreSQL",
	Question: "What if PostgreSQL makes the UUIDs, with uuidv7() or gen_random_uuid() as default?",
	Kinds:    []string{"auto", "snowflake", "uuidv7", "uuidv7-server", "uuidv4", "uuidv4-server"},
	Cases: func(o Options, e engine.Engine) []measure.Params {
		if e.Dialect() != "postgres" {
			return nil
		}
		return []measure.Params{measure.P("rows", share(o.Rows, 4, 2000), "batch", 1000)}
	},
	Run: inserting("serverkeys"),
}
