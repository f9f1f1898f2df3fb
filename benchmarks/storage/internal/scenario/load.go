package scenario

import (
	"context"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
)

var load = Scenario{
	Name:     "load",
	Title:    "Inserting rows",
	Question: "How much disk space does a key take, and how fast are inserts?",
	Kinds:    []string{"auto", "snowflake", "snowflake-workers", "uuidv7", "uuidv4"},
	Sizes: []string{
		"auto-readback", "autoincrement", "explicit", "snowflake-53", "snowflake-first", "snowflake-reversed",
		"snowflake-bigint", "uuidv7-text", "uuidv4-text", "ulid-text",
	},
	Cases: func(o Options, e engine.Engine) []measure.Params {
		sqlite := e.Dialect() == "sqlite"
		var cases []measure.Params
		for _, batch := range o.Batch {
			rows := o.Rows
			switch { // single rows are slow, and the sizes are known from the others
			case batch == 1 && sqlite:
				rows = share(rows, 20, 5000)
			case batch == 1:
				rows = share(rows, 40, 2000)
			}
			cases = append(cases, measure.P("rows", rows, "batch", batch))
		}
		if !sqlite {
			cases = append(cases, measure.P("rows", o.Rows, "bulk", 10_000))
		}
		return cases
	},
	OnceFor: func(p measure.Params) bool { return p.Get("bulk") != "" }, // its ratios are like those of large statements
	Run:     runLoad,
}

func runLoad(ctx context.Context, b *Bench) (map[string]float64, error) {
	in := Insert{Table: b.Table("load", account), Rows: b.Number("rows"), Batch: b.Number("batch"), Fill: fillAccount}
	if size := b.Number("bulk"); size > 0 {
		in.Bulk, in.Batch = true, size
	}
	var drew time.Duration
	in.Drew = func(d time.Duration) { drew += d }
	if err := b.Create(ctx, in.Table); err != nil {
		return nil, err
	}
	values, err := b.InsertAndMeasure(ctx, in)
	if err != nil || drew == 0 {
		return values, err
	}
	// A shorter run begins and ends with a tick.
	const shows, long = 0.1, 100 * time.Millisecond
	took := float64(in.Rows) / values["rate"]
	share := drew.Seconds() / took
	values["generator"] = 100 * share
	if share > shows && took > long.Seconds() && strings.HasPrefix(b.Kind.Name, "snowflake") {
		return values, engine.Unsupported("making keys took %.0f %% of the time, most of it waiting for the next tick, which "+
			"lowers the rate", 100*share)
	}
	return values, nil
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
	Question: "Does it cost more or less if PostgreSQL makes the UUIDs, with uuidv7() or gen_random_uuid() as default?",
	Kinds:    []string{"auto", "snowflake", "uuidv7", "uuidv7-server", "uuidv4", "uuidv4-server"},
	Cases: func(o Options, e engine.Engine) []measure.Params {
		if e.Dialect() != "postgres" {
			return nil
		}
		return []measure.Params{measure.P("rows", share(o.Rows, 4, 2000), "batch", 1000)}
	},
	Run: inserting("serverkeys"),
}
