// Package speed measures the time of what generators and IDs do, for this module and for others.
package speed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/peers/internal/bench"
	"github.com/sqlflake/sqlflake/benchmarks/peers/internal/turns"
)

// Ours is the kind of this module's generator as it is by default, and of its ID.
const Ours = "sqlflake"

// Effort says how long to measure.
type Effort struct {
	Turns  int           // of each subject in a round
	Length time.Duration // of a turn
}

// Cases returns what is measured, in the order of the table.
func Cases(e Effort) []bench.Case {
	var all []bench.Case
	for _, goroutines := range []int{1, 2, 8} {
		all = append(all, nextCase(e, goroutines))
	}
	all = append(all, textCases(e)...)
	for _, goroutines := range []int{1, 2, 8} {
		all = append(all, ceilingCase(e, goroutines))
	}
	return append(all, burstCase(e))
}

// Kinds of the table: the clocks and this module's, then the peers.
var (
	singleKinds = []string{"since", "now", "clock", "catching", "context"} // of one goroutine
	sharedKinds = []string{
		Ours, "random", "leased", "fill", "stores", "bwmarrin", "sonyflake", "yitter", "influx", "sno", "xid",
		"ulid", "ksuid", "google4", "google7", "google4pool", "google7pool", "gofrs4", "gofrs7", "typeid",
	}
)

// users returns "1 goroutine" or "2 goroutines".
func users(goroutines int) string {
	if goroutines == 1 {
		return "1 goroutine"
	}
	return fmt.Sprintf("%d goroutines", goroutines)
}

// nextCase is the time of an ID, in ns, and the allocations.
func nextCase(e Effort, goroutines int) bench.Case {
	kinds := sharedKinds
	if goroutines == 1 {
		kinds = slices.Concat(singleKinds, sharedKinds)
	}
	return timed(e, "next", "an ID, "+users(goroutines), goroutines, kinds, func(ctx context.Context, round int) ([]turns.Subject, func() error, error) {
		o, err := open(ctx)
		if err != nil {
			return nil, o.close, err
		}
		others, err := peers(round)
		shared, single := o.subjects(ctx)
		if goroutines == 1 {
			shared = slices.Concat(clocks(), single, shared)
		}
		return append(shared, others...), o.close, err
	})
}

// timed returns a case whose subjects take turns. They are made anew in each round: their speed depends on where they are
// in memory.
func timed(
	e Effort, scenario, title string, goroutines int, kinds []string,
	prepare func(ctx context.Context, round int) (subjects []turns.Subject, end func() error, err error),
) bench.Case {
	c := bench.Case{Scenario: scenario, Title: title, Params: measure.P("goroutines", goroutines), Kinds: kinds}
	c.Takes = time.Duration(len(kinds)*(e.Turns+1)) * e.Length
	c.Run = func(ctx context.Context, round int, done func(time.Duration)) (found map[string]bench.Result, failed error) {
		subjects, end, err := prepare(ctx, round)
		if end != nil {
			defer func() { failed = errors.Join(failed, end()) }()
		}
		if err != nil {
			return nil, err
		}
		settings := turns.Settings{Goroutines: goroutines, Turns: e.Turns, Length: e.Length}
		results, err := turns.Take(ctx, subjects, settings, func() { done(e.Length) })
		if err != nil {
			return nil, err
		}
		found = map[string]bench.Result{}
		for i, one := range results {
			values := map[string]float64{"ns": one.Median(), "disturbed": 100 * float64(one.Disturbed) / float64(one.Disturbed+len(one.Kept))}
			if goroutines == 1 {
				values["allocs"] = allocations(subjects[i])
			}
			found[one.Name] = bench.Result{Values: values}
		}
		return found, nil
	}
	return c
}

// allocations returns those of one operation, rounded down: a batch has one for all of its IDs.
func allocations(one turns.Subject) float64 {
	if one.Before != nil {
		one.Before()
	}
	if one.After != nil {
		defer one.After()
	}
	return float64(int(testing.AllocsPerRun(10, func() { one.Run(batch) }) / batch))
}
