package scenario

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

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

// growLimit is the time for one kind: 10 s in short runs, 5 minutes for 10,000,000 rows.
func growLimit(rows int) time.Duration {
	return min(max(time.Duration(rows)*30*time.Microsecond, 10*time.Second), 5*time.Minute)
}

// growSteps returns the numbers of rows after each step. The steps of long runs become longer, so that slow kinds,
// which end early, have points too.
func growSteps(rows int) []int {
	n, at := 10, func(step int) int { return rows * step / 10 }
	if rows >= longGrow {
		n, at = 20, func(step int) int { return rows / 400 * step * step }
	}

	var steps []int
	for step := 1; step < n; step++ {
		steps = append(steps, at(step))
	}

	return slices.DeleteFunc(slices.Compact(append(steps, rows)), func(n int) bool { return n == 0 })
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
	rows, values := b.Number("rows"), map[string]float64{}
	limit := cmp.Or(b.growLimit, growLimit(rows))
	slow := engine.Unsupported("the time for one kind of key, %v, was over", limit)
	limited, cancel := context.WithTimeoutCause(ctx, limit, slow)
	defer cancel()

	for _, until := range growSteps(rows) {
		in.Rows = until - in.First
		err := rate(values, fmt.Sprintf("rate@%d", until), in.Rows, func() error { return b.Do(limited, in) })
		if errors.Is(err, slow) && in.First > 0 {
			return values, fmt.Errorf("%w: after %d of %d rows", slow, in.First, rows)
		}
		if err != nil {
			return nil, err
		}

		in.First = until
	}

	return values, nil
}
