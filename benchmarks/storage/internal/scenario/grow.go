package scenario

import (
	"context"
	"fmt"
	"runtime"
	"slices"

	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
)

var grow = Scenario{
	Name:     "grow",
	Title:    "Growing past the cache",
	Question: "Do inserts slow down when the table no longer fits into the database's cache?",
	Kinds:    four,
	Sizes:    []string{"uuidv4-text"},
	Cases: func(o Options, e engine.Engine) []measure.Params {
		if e.Dialect() == "sqlite" { // its default
			return []measure.Params{measure.P("rows", o.Rows, "cache", "2 MB")}
		}
		return []measure.Params{measure.P("rows", o.Rows)} // the cache is a setting of the server
	},
	// A long run takes minutes, and small tables fit into the usual cache of a server.
	Once: func(p measure.Params) bool { return number(p, "rows") >= longGrow || p.Get("cache") == "" },
	Run:  runGrow,
}

const longGrow = 1_000_000 // rows of a long run

// growSteps returns the numbers of rows after each step, ten of the same length.
func growSteps(rows int) []int {
	var steps []int
	for step := range 10 {
		steps = append(steps, rows*(step+1)/10)
	}
	return slices.DeleteFunc(slices.Compact(steps), func(n int) bool { return n == 0 })
}

// runGrow inserts in steps. The names of its values end in "@" and the number of rows after the step. The tool writes
// and settles nothing between them, so pages that the database writes later count in the step in which they are
// written.
func runGrow(ctx context.Context, b *Bench) (map[string]float64, error) {
	table := b.Table("grow", account)
	if err := b.Create(ctx, table); err != nil {
		return nil, err
	}

	in := Insert{Table: table, Batch: 1000, Fill: fillAccount}
	var err error
	if in.Source, err = b.source(0, 1); err != nil {
		return nil, err
	}
	if err := b.Settle(ctx, table.Name); err != nil {
		return nil, err
	}

	runtime.GC()
	values := map[string]float64{}
	for _, until := range growSteps(b.Number("rows")) {
		in.Rows = until - in.First
		err := rate(values, fmt.Sprintf("rate@%d", until), in.Rows, func() error { return b.Do(ctx, in) })
		if err != nil {
			return nil, err
		}
		in.First = until
	}
	return values, nil
}
