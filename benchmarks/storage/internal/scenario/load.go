package scenario

import (
	"context"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/key"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
)

var load = Scenario{
	Name:     "load",
	Title:    "Loading an empty table",
	Question: "How fast are rows inserted, and how many bytes does each key take?",
	Kinds: []string{
		"auto", "auto-readback", "autoincrement", "explicit", "snowflake", "snowflake-workers", "snowflake-53",
		"snowflake-first", "snowflake-reversed", "snowflake-bigint", "uuidv7", "uuidv4", "uuidv7-text", "uuidv4-text", "ulid-text",
	},
	Cases: func(o Options, e engine.Engine) []measure.Params {
		var cases []measure.Params
		for _, batch := range o.Batch {
			rows := o.Rows
			if batch == 1 {
				rows = max(rows/10, 1) // ten times slower, and the sizes are known from the others
			}
			cases = append(cases, measure.P("rows", rows, "batch", batch))
		}
		if e.Dialect() != "sqlite" {
			cases = append(cases, measure.P("rows", o.Rows, "bulk", 10_000))
		}
		return cases
	},
	Run: runLoad,
}

func runLoad(ctx context.Context, b *Bench) (map[string]float64, error) {
	table := b.Table("load", account)
	if err := b.Create(ctx, table); err != nil {
		return nil, err
	}
	in := Insert{Table: table, Rows: b.Number("rows"), Batch: b.Number("batch"), Clients: 1, Fill: fillAccount}
	if size := b.Number("bulk"); size > 0 {
		in.Bulk, in.Batch = true, size
	}
	var drew time.Duration
	in.Drew = func(d time.Duration) { drew += d }
	cost, err := b.Measure(ctx, []string{table.Name}, func() error { return b.Do(ctx, in) })
	if err != nil {
		return nil, err
	}
	values := map[string]float64{}
	cost.Into(values, in.Rows)
	if err := b.Sizes(ctx, values, table.Name, in.Rows); err != nil {
		return nil, err
	}
	made, err := b.making(in.Batch)
	if err != nil {
		return nil, err
	}
	if cpu := values["cpu"]; cpu > 0 {
		values["generator"] = 100 * float64(made.Nanoseconds()) / 1e3 / cpu
	}
	return values, b.waited(drew-made*time.Duration(in.Rows), cost.Elapsed)
}

// waited returns a note if the generator waited long enough to lower the rate.
func (b *Bench) waited(d, of time.Duration) error {
	const (
		shows = 0.1
		long  = 100 * time.Millisecond // a shorter run begins and ends with a tick
	)
	share := d.Seconds() / of.Seconds()
	if share < shows || of < long || !strings.HasPrefix(b.Kind.Name, "snowflake") {
		return nil
	}
	return engine.Unsupported("the generator waited %.0f %% of the time for the next tick, which lowers the rate", 100*share)
}

// making returns the CPU time to make a key in batches of the given size.
func (b *Bench) making(batch int) (time.Duration, error) {
	source, err := b.Kind.New(key.Config{Seed: b.Options.Seed, Clients: 1})
	if source == nil || err != nil {
		return 0, err
	}
	const n = 20_000
	keys := make([]any, min(batch, n))
	before := processCPU()
	for range n / len(keys) {
		if err := source.Draw(keys); err != nil {
			return 0, err
		}
	}
	return (processCPU() - before) / time.Duration(n/len(keys)*len(keys)), nil
}
