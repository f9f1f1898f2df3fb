package speed

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	bwmarrin "github.com/bwmarrin/snowflake"
	godruoyi "github.com/godruoyi/go-snowflake"

	"github.com/sqlflake/sqlflake/benchmarks/internal/machine"
	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/peers/internal/bench"
	"github.com/sqlflake/sqlflake/benchmarks/peers/internal/turns"
	"github.com/sqlflake/sqlflake/snowflake"
)

// limit is the number of IDs that 12 bits of sequence allow in a second.
const limit = 4.096e6

var ceilingKinds = []string{Ours, "bwmarrin", "godruoyi"}

// ceilingCase draws from generators with 41, 10 and 12 bits as fast as they go: once to count, once to time each call.
func ceilingCase(e Effort, goroutines int) bench.Case {
	length := 6 * time.Duration(e.Turns) * e.Length
	c := bench.Case{
		Scenario: "ceiling", Title: "at 4,096 IDs a ms, " + users(goroutines), Params: measure.P("goroutines", goroutines), Kinds: ceilingKinds,
		Takes: time.Duration(len(ceilingKinds)) * 2 * length,
	}
	c.Run = func(ctx context.Context, _ int, done func(time.Duration)) (map[string]bench.Result, error) {
		calls, err := defaults()
		if err != nil {
			return nil, err
		}
		found := map[string]bench.Result{}
		for _, kind := range c.Kinds {
			call := calls[kind]
			call(100_000) // uses up what a generator may be ahead of the clock
			var rates, times map[string]float64
			quiet, err := turns.Quiet(ctx, func() {
				rates = saturate(goroutines, length, func(_, n int) { call(n) })
			})
			if err != nil {
				return nil, err
			}
			done(length)
			also, err := turns.Quiet(ctx, func() { times = latencies(call, goroutines, length) })
			if err != nil {
				return nil, err
			}
			done(length)
			maps.Copy(rates, times)
			found[kind] = result(rates, quiet && also)
		}
		return found, nil
	}
	return c
}

// result leaves out values that were disturbed.
func result(values map[string]float64, quiet bool) bench.Result {
	if !quiet {
		return bench.Result{Note: "left out: other programs disturbed all attempts"}
	}
	return bench.Result{Values: values}
}

// defaults returns functions that draw a number of IDs of 41, 10 and 12 bits.
func defaults() (map[string]func(n int), error) {
	generator, err := snowflake.New(1)
	if err != nil {
		return nil, err
	}
	node, err := bwmarrin.NewNode(1)
	return map[string]func(n int){
		Ours: func(n int) {
			for range n {
				_, _ = generator.Next()
			}
		},
		"bwmarrin": func(n int) {
			for range n {
				_ = node.Generate()
			}
		},
		"godruoyi": func(n int) {
			for range n {
				_ = godruoyi.ID()
			}
		},
	}, err
}

// together calls f in goroutines until the time is over, and returns how long that was.
func together(goroutines int, length time.Duration, f func(i int)) time.Duration {
	var over atomic.Bool
	var group sync.WaitGroup
	start := time.Now()
	timer := time.AfterFunc(length, func() { over.Store(true) })
	defer timer.Stop()
	for i := range goroutines {
		group.Go(func() {
			for !over.Load() {
				f(i)
			}
		})
	}
	group.Wait()
	return time.Since(start)
}

// saturate returns the share of the limit that is reached, in percent, and the processor time for each second, in cores.
func saturate(goroutines int, length time.Duration, call func(i, n int)) map[string]float64 {
	const block = 64
	drawn := make([]struct {
		n int
		_ [120]byte // a cache line for each
	}, goroutines)
	before := machine.CPU()
	wall := together(goroutines, length, func(i int) {
		call(i, block)
		drawn[i].n += block
	})
	used, sum := machine.CPU()-before, 0
	for _, one := range drawn {
		sum += one.n
	}
	values := map[string]float64{"share": 100 * float64(sum) / (wall.Seconds() * limit)}
	if used > 0 {
		values["cores"] = used.Seconds() / wall.Seconds()
	}
	return values
}

// latencies times each call, and returns the percentiles in µs and the longest in ms.
func latencies(call func(n int), goroutines int, length time.Duration) map[string]float64 {
	all := make([]histogram, goroutines)
	together(goroutines, length, func(i int) {
		const block = 256
		last := time.Now()
		for range block {
			call(1)
			now := time.Now()
			all[i].add(now.Sub(last))
			last = now
		}
	})
	var sum histogram
	for i := range all {
		sum.merge(&all[i])
	}
	values := map[string]float64{"longest": float64(sum.longest) / 1e6}
	for name, part := range map[string]float64{"p50": 0.5, "p999": 0.999, "p9999": 0.9999} {
		values[name] = float64(sum.quantile(part)) / 1e3
	}
	return values
}
