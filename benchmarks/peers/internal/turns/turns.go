// Package turns times subjects that take turns, so that a change of the machine's speed meets all of them, and leaves out
// the turns that other programs disturbed.
package turns

import (
	"context"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/internal/machine"
)

// Subject is what is timed.
type Subject struct {
	Name string
	// Run does n operations. Several goroutines call it at once if the subjects are timed with several.
	Run func(n int)
	// Before and After, which may be nil, are called before and after each turn, and are not timed.
	Before, After func()
	Batch         int // n is a multiple of it; 0 means 1
}

// Settings are those of a round.
type Settings struct {
	Goroutines int
	Turns      int           // of each subject
	Length     time.Duration // of a turn, about
}

// Result is that of one subject.
type Result struct {
	Name      string
	Kept      []float64 // ns an operation, wall time, of each turn that was not disturbed
	Disturbed int       // turns that were left out
}

// Median returns that of the turns that were kept.
func (r Result) Median() float64 {
	if len(r.Kept) == 0 {
		return math.NaN()
	}
	slices.Sort(r.Kept)
	middle := len(r.Kept) / 2
	if len(r.Kept)%2 == 0 {
		return (r.Kept[middle-1] + r.Kept[middle]) / 2
	}
	return r.Kept[middle]
}

// turn is the time of one turn.
type turn struct {
	wall   time.Duration
	queued time.Duration // that its thread waited for a core, of one goroutine
}

const (
	mostQueued = 0.02 // of the time of a turn of one goroutine
	mostOthers = 0.1  // of all cores, by other programs; /proc/stat counts in steps of 10 ms
)

// others returns a function that returns which part of all cores other programs have used since, 0 if that is unknown.
func others() func() float64 {
	used, cpu, start := busy(), machine.CPU(), time.Now()
	return func() float64 {
		all := time.Since(start) * time.Duration(runtime.NumCPU())
		return max(0, float64(busy()-used-(machine.CPU()-cpu))/float64(all))
	}
}

// Take lets the subjects take turns, and those with less than a quarter of their turns kept take more, up to ten times as
// many. The result of a subject whose turns were all disturbed is empty. Several goroutines wait for each other, which is
// what is measured: all of Settings.Turns are left out if other programs used the cores. It calls done after each of them.
func Take(ctx context.Context, subjects []Subject, s Settings, done func()) ([]Result, error) {
	runtime.LockOSThread() // queued reads the figures of a thread
	defer runtime.UnlockOSThread()
	counts, results := make([]int, len(subjects)), make([]Result, len(subjects))
	for i, one := range subjects {
		counts[i], results[i].Name = calibrate(one, s), one.Name
	}
	order := make([]int, len(subjects))
	for i := range order {
		order[i] = i
	}
	runtime.GC() // of what was done before
	var used func() float64
	taken := make([][]turn, len(subjects))
	for pass := range 10 * s.Turns {
		if pass%s.Turns == 0 {
			used = others()
		}
		slices.Reverse(order) // a subject is not always after the same one
		for _, i := range order {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if pass < s.Turns {
				done()
			} else if 4*len(results[i].Kept) >= s.Turns {
				continue
			}
			taken[i] = append(taken[i], measure(subjects[i], counts[i], s.Goroutines))
		}
		if (pass+1)%s.Turns == 0 {
			busy := s.Goroutines > 1 && used() > mostOthers
			for i := range subjects {
				results[i].add(taken[i], counts[i], busy)
				taken[i] = taken[i][:0]
			}
		}
	}
	return results, nil
}

// add keeps the turns that were not disturbed, none if the machine was busy.
func (r *Result) add(taken []turn, operations int, busy bool) {
	for _, t := range taken {
		if busy || float64(t.queued) > mostQueued*float64(t.wall) {
			r.Disturbed++
		} else {
			r.Kept = append(r.Kept, float64(t.wall)/float64(operations))
		}
	}
}

// calibrate returns how many operations take a turn: whole batches of each goroutine.
func calibrate(one Subject, s Settings) int {
	least := max(one.Batch, 1) * s.Goroutines
	for n := least; ; n *= 2 {
		wall := measure(one, n, s.Goroutines).wall
		if wall >= s.Length/2 || n >= 1<<30 {
			wall = min(wall, measure(one, n, s.Goroutines).wall) // one of them may have been disturbed
			n = int(float64(n) * float64(s.Length) / float64(wall))
			return max(n-n%least, least)
		}
	}
}

// measure times n operations.
func measure(one Subject, n, goroutines int) turn {
	if one.Before != nil {
		one.Before()
	}
	if one.After != nil {
		defer one.After()
	}
	if goroutines == 1 {
		before := queuedThread()
		start := time.Now()
		one.Run(n)
		return turn{wall: time.Since(start), queued: queuedThread() - before}
	}
	var (
		begin = make(chan struct{})
		group sync.WaitGroup
		spans = make([][2]time.Duration, goroutines)
	)
	start := time.Now()
	for i := range goroutines {
		group.Go(func() {
			<-begin
			spans[i][0] = time.Since(start)
			one.Run(n / goroutines)
			spans[i][1] = time.Since(start)
		})
	}
	close(begin)
	group.Wait()
	begun, ended := spans[0][0], spans[0][1] // the first begin and the last end
	for _, span := range spans {
		begun, ended = min(begun, span[0]), max(ended, span[1])
	}
	return turn{wall: ended - begun}
}

// Quiet calls f until other programs did not use the cores meanwhile, at most ten times, and reports whether they did not.
func Quiet(ctx context.Context, f func()) (bool, error) {
	for range 10 {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		used := others()
		f()
		if used() <= mostOthers {
			return true, nil
		}
	}
	return false, nil
}
