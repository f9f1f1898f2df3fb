package speed

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/peers/internal/bench"
	"github.com/sqlflake/sqlflake/benchmarks/peers/internal/turns"
	"github.com/sqlflake/sqlflake/snowflake"
)

// Curves returns the cases about cost as work grows.
func Curves(e Effort) []bench.Case {
	var all []bench.Case
	for n := 1; n <= 64; n *= 2 {
		all = append(all, contentionCase(e, n))
	}
	for n := 1; n <= 10_000; n *= 10 {
		all = append(all, batchCase(e, n))
	}
	for n := 1; n <= 16; n *= 2 {
		all = append(all, workersCase(e, n))
	}
	return all
}

// contentionCase is the time of an ID of one generator that several goroutines use.
func contentionCase(e Effort, goroutines int) bench.Case {
	kinds := []string{Ours, "bwmarrin", "sonyflake"}
	return timed(e, "contention", users(goroutines), goroutines, kinds,
		func(_ context.Context, round int) ([]turns.Subject, func() error, error) {
			o, err := unleased()
			if err != nil {
				return nil, nil, err
			}
			others, err := peers(round)
			shared, _ := o.subjects(context.Background())
			shared = append(shared, others...)
			return slices.DeleteFunc(shared, func(s turns.Subject) bool { return !slices.Contains(kinds, s.Name) }), nil, err
		})
}

// batchCase is the time of an ID of a batch, and of as many in a loop.
func batchCase(e Effort, size int) bench.Case {
	c := timed(e, "batch", fmt.Sprintf("batches of %d", size), 1, []string{"fill", Ours, "stores"},
		func(ctx context.Context, _ int) ([]turns.Subject, func() error, error) {
			o, err := unleased()
			ids := make([]snowflake.ID, size)
			return []turns.Subject{
				{Name: "fill", Batch: size, Run: func(n int) {
					for range n / size {
						_ = o.batches.Fill(ctx, ids)
					}
				}},
				{Name: Ours, Batch: size, Run: func(n int) {
					for range n / size {
						for i := range ids {
							ids[i], _ = o.batches.Next()
						}
					}
				}},
				{Name: "stores", Batch: size, Run: func(n int) {
					var counter snowflake.ID
					for range n / size {
						for i := range ids {
							ids[i] = counter
							counter++
						}
					}
					runtime.KeepAlive(ids)
				}},
			}, nil, err
		})
	c.Params = measure.P("batch", size)
	return c
}

// workersCase is the rate of several workers in a process, in million IDs a second. Each has a goroutine.
func workersCase(e Effort, workers int) bench.Case {
	length := 4 * time.Duration(e.Turns) * e.Length
	c := bench.Case{
		Scenario: "workers-curve", Title: fmt.Sprintf("%d workers in a process", workers), Params: measure.P("workers", workers),
		Kinds: []string{Ours}, Takes: length,
	}
	c.Run = func(ctx context.Context, _ int, done func(time.Duration)) (map[string]bench.Result, error) {
		generators := make([]*snowflake.Generator, workers)
		for i := range generators {
			var err error
			if generators[i], err = snowflake.New(int64(10 + i)); err != nil {
				return nil, err
			}
		}
		var values map[string]float64
		quiet, err := turns.Quiet(ctx, func() {
			var group sync.WaitGroup
			for _, one := range generators { // uses up the lead of all
				group.Go(func() { _ = one.Fill(ctx, make([]snowflake.ID, 50_000)) })
			}
			group.Wait()
			all := saturate(workers, length, func(i, n int) {
				for range n {
					_, _ = generators[i].Next()
				}
			})
			values = map[string]float64{"rate": all["share"] / 100 * limit / 1e6}
		})
		done(length)
		return map[string]bench.Result{Ours: result(values, quiet)}, err
	}
	return c
}
