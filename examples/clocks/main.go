// Clocks compares the rules of articles for clocks and sequences with generators of this repository. Each goes through
// the same trouble on a simulated clock.
//
//	go run ./examples/clocks
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/filelease"
)

// trouble is what happens to a generator: rounds of calls, each in its own process unless it keeps running.
type trouble struct {
	name   string
	rounds int
	back   time.Duration // the wall clock is set back before each round but the first
	calls  int
	pause  time.Duration // after each call
	end    string        // of a process after its round: "" keeps running
}

var troubles = []trouble{
	{name: "steps back of 2 s while it runs", rounds: 3, back: 2 * time.Second, calls: 3000, pause: time.Millisecond},
	{
		name: "3 restarts into the same 2 s", rounds: 4, back: 2 * time.Second, calls: 2000, pause: time.Millisecond,
		end: "stop",
	},
	{
		name: "18 restarts into the same 2 s", rounds: 19, back: 2 * time.Second, calls: 2000, pause: time.Millisecond,
		end: "stop",
	},
	{
		name: "60,000 IDs in 6 ms, a crash, the same again", rounds: 2, calls: 60_000, pause: 100 * time.Nanosecond,
		end: "crash",
	},
	{name: "200,000 IDs in 400 ms", rounds: 1, calls: 200_000, pause: 2 * time.Microsecond},
}

var epoch = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC) // of all layouts

// host is a machine with a simulated clock, and what outlives a process.
type host struct {
	elapsed        atomic.Int64  // nanoseconds since the start
	offset         time.Duration // of the wall clock
	number         int64
	starts, stored int64 // how many processes have started, and what an article's generator keeps in a file
	dir            string
}

func (h *host) Now() time.Time         { return epoch.AddDate(1, 0, 0).Add(h.Elapsed() + h.offset) }
func (h *host) Elapsed() time.Duration { return time.Duration(h.elapsed.Load()) }
func (h *host) pass(d time.Duration)   { h.elapsed.Add(int64(d)) }

func (h *host) Sleep(ctx context.Context, d time.Duration) error {
	h.pass(d)
	return ctx.Err()
}

// background is the clock of a lease's goroutine, which would extend the lease. It sleeps as long as the process runs,
// since the first horizon is beyond the end of the trouble.
type background struct{ *host }

func (background) Sleep(ctx context.Context, _ time.Duration) error {
	<-ctx.Done()
	return ctx.Err()
}

// stateFile is a generator of this repository. Its worker is the host's number, and its horizon is in a file.
func stateFile(h *host) (next func() (int64, error), end func(crash bool) error, err error) {
	store, err := filelease.NewStateFile(h.dir + "/state.json")
	if err != nil {
		return nil, nil, err
	}

	ctx := context.Background()
	// Beyond the rest of the window before a crash.
	window := lease.WithWindow(time.Duration(h.starts) * 10 * time.Second)
	l, err := lease.Open(ctx, store, lease.WithWorkers(h.number, h.number), lease.WithClock(background{h}),
		lease.WithGenerator(snowflake.WithClock(h)), window, lease.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		return nil, nil, err
	}

	next = func() (int64, error) {
		id, err := l.Generator().Next()
		return int64(id), err
	}
	return next, func(crash bool) error {
		if crash { // the system frees the file, and nothing is given back
			err := store.Close()
			_ = l.Close(ctx) // ends the goroutine
			return err
		}
		return errors.Join(l.Close(ctx), store.Close())
	}, nil
}

// result is what a generator did in trouble.
type result struct {
	ids, duplicates, errors int
	longest                 time.Duration // wait of a call
}

func (t trouble) try(r rule) (res result, err error) {
	dir, err := os.MkdirTemp("", "clocks")
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()

	h := &host{dir: dir, number: 5}
	var ids []int64
	var next func() (int64, error)
	var end func(crash bool) error
	for n := range t.rounds {
		if n > 0 {
			h.offset -= t.back
		}

		if next == nil {
			h.starts++
			if next, end, err = r.start(h); err != nil {
				return res, err
			}
		}

		for range t.calls {
			before := h.Elapsed()
			id, err := next()
			if res.longest = max(res.longest, h.Elapsed()-before); err != nil {
				res.errors++
			} else {
				ids = append(ids, id)
			}
			h.pass(t.pause)
		}

		if t.end != "" || n == t.rounds-1 {
			if end != nil {
				err = end(t.end == "crash")
			}
			if next = nil; err != nil {
				return res, err
			}
			h.pass(5 * time.Millisecond) // until the next start
		}
	}

	slices.Sort(ids)
	res.ids, res.duplicates = len(ids), len(ids)-len(slices.Compact(ids))
	return res, nil
}

func main() {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for _, t := range troubles {
		fmt.Fprintf(w, "%s\tIDs\ttwice\terrors\tlongest wait\n", t.name)
		for _, r := range rules {
			res, err := t.try(r)
			if err != nil {
				fmt.Fprintln(os.Stderr, "clocks:", err)
				os.Exit(1)
			}
			fmt.Fprintf(w, "  %s\t%d\t%d\t%d\t%v\n",
				r.name, res.ids, res.duplicates, res.errors, res.longest.Round(time.Millisecond))
		}

		fmt.Fprintln(w, "\t\t\t\t")
	}

	_ = w.Flush() // to the terminal
}
