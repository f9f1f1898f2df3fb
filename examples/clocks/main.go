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
	"math/rand/v2"
	"os"
	"slices"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/filelease"
)

// trouble is what happens to a generator: processes one after the other, and rounds of calls in each.
type trouble struct {
	name              string
	processes, rounds int
	calls             int           // in a round
	pause             time.Duration // after each call
	back              time.Duration // the wall clock is set back after each round
	crash             bool          // ends the processes
}

var troubles = []trouble{
	{
		name: "steps back of 2 s while it runs", processes: 1, rounds: 3, calls: 3000,
		pause: time.Millisecond, back: 2 * time.Second,
	},
	{
		name: "3 restarts into the same 2 s", processes: 4, rounds: 1, calls: 2000,
		pause: time.Millisecond, back: 2 * time.Second,
	},
	{
		name: "18 restarts into the same 2 s", processes: 19, rounds: 1, calls: 2000,
		pause: time.Millisecond, back: 2 * time.Second,
	},
	{
		name: "60,000 IDs in 6 ms, a crash, the same again", processes: 2, rounds: 1, calls: 60_000,
		pause: 100 * time.Nanosecond, crash: true,
	},
	{
		name: "200,000 IDs in 400 ms", processes: 1, rounds: 1, calls: 200_000,
		pause: 2 * time.Microsecond,
	},
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

// folder is a generator of this repository. Its worker is the host's number, and its horizon is in a folder.
func folder(h *host) (next func() (int64, error), end func(crash bool) error, err error) {
	store, err := filelease.New(h.dir)
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
	for range t.processes {
		h.starts++
		next, end, err := r.start(h)
		if err != nil {
			return res, err
		}

		for range t.rounds {
			for range t.calls {
				before := h.Elapsed()
				id, err := next()
				res.longest = max(res.longest, h.Elapsed()-before)
				if err != nil {
					res.errors++
				} else {
					ids = append(ids, id)
				}
				h.pass(t.pause)
			}
			h.offset -= t.back
		}

		if err := end(t.crash); err != nil {
			return res, err
		}
		h.pass(5 * time.Millisecond) // until the next start
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

// rule is a generator. start starts a process with it, and end ends that.
type rule struct {
	name  string
	start func(h *host) (next func() (int64, error), end func(crash bool) error, err error)
}

var rules = []rule{
	{"error at a step back", article(classic)},
	{"wait below 15 ms, else another worker", article(swapping)},
	{"random start of the sequence", article(randomStart)},
	{"another of 16 clocks", article(clocks)},
	{"historical time", article(history)},
	{"batches ahead, a number for each start", article(batches)},
	{"random numbers up to 10^10", article(randomNumbers)},
	{"sqlflake, a folder", folder},
}

// article makes a rule of a generator from an article, which has nothing to give back.
func article(open func(h *host) func() (int64, error)) func(*host) (func() (int64, error), func(bool) error, error) {
	return func(h *host) (func() (int64, error), func(bool) error, error) {
		return open(h), func(bool) error { return nil }, nil
	}
}

var errRefused = errors.New("the clock was set back, or the sequence is used up")

// ticker is what the articles' generators have in common.
type ticker struct {
	*host
	last     int64 // millisecond of the last ID
	sequence int64
}

func (t *ticker) now() int64 { return t.Now().Sub(epoch).Milliseconds() }

// count sets the millisecond and the sequence of an ID. If that millisecond has none left it waits for the next one.
func (t *ticker) count(now, size int64) {
	if t.sequence++; now != t.last {
		t.sequence = 0
	} else if t.sequence == size {
		t.pass(time.Millisecond - time.Duration(t.Now().Nanosecond())%time.Millisecond)
		now, t.sequence = t.now(), 0
	}
	t.last = now
}

// classic is Twitter's generator: a step back is an error.
func classic(h *host) func() (int64, error) {
	t := ticker{host: h}
	return func() (int64, error) {
		now := t.now()
		if now < t.last {
			return 0, errRefused
		}
		t.count(now, 1<<12)
		return t.last<<22 | h.number<<12 | t.sequence, nil
	}
}

// swapping waits after a step back of less than 15 ms. After a greater one it takes the other of two workers. It keeps
// the worker in a file.
func swapping(h *host) func() (int64, error) {
	t := ticker{host: h}
	return func() (int64, error) {
		switch back := t.last - t.now(); {
		case back >= 15:
			h.stored = 1 - h.stored
		case back > 0:
			h.pass(time.Duration(back) * time.Millisecond)
		}
		t.count(t.now(), 1<<10)
		return t.last<<25 | h.stored<<10 | t.sequence, nil
	}
}

// randomStart begins each millisecond at a random sequence. When the sequence is back there it refuses that call, but
// not the next one. The article compares with >, which lets the sequence reach 4,096, the 0 of the next machine; here
// it does not.
func randomStart(h *host) func() (int64, error) {
	t, start := ticker{host: h}, int64(0)
	random := rand.New(rand.NewPCG(3, uint64(h.starts)))
	return func() (int64, error) {
		now := t.now()
		if now < t.last {
			return 0, errRefused
		}

		if now > t.last {
			start = random.Int64N(1 << 12)
			t.last, t.sequence = now, start
		}

		t.sequence = (t.sequence + 1) % (1 << 12)
		if t.sequence == start {
			return 0, errRefused
		}

		return now<<22 | h.number<<12 | t.sequence, nil
	}
}

// clocks has a clock number of 4 bits in its IDs. It takes the next one after each step back and at each start, and
// keeps it in a file. The article also compares with <=, which would take one for each further ID of a millisecond.
func clocks(h *host) func() (int64, error) {
	h.stored++
	t := ticker{host: h}
	return func() (int64, error) {
		now := t.now()
		if now < t.last {
			h.stored++
		}
		t.count(now, 1<<10)
		return t.last<<22 | h.stored%16<<18 | h.number<<10 | t.sequence, nil
	}
}

// history stays at the last millisecond after a step back, and borrows the next one when a sequence is used up.
func history(h *host) func() (int64, error) {
	t := ticker{host: h}
	return func() (int64, error) {
		if now := t.now(); now > t.last {
			t.last, t.sequence = now, 0
		} else if t.sequence = (t.sequence + 1) % (1 << 12); t.sequence == 0 {
			t.last++
		}
		return t.last<<22 | h.number<<12 | t.sequence, nil
	}
}

// batches is Baidu's uid-generator: it reads the clock only at its start, which has its own number. From there it
// counts, 8,192 IDs a second, so its IDs do not have the times of the rows.
func batches(h *host) func() (int64, error) {
	number, next := h.starts, (&ticker{host: h}).now()/1000<<13
	return func() (int64, error) {
		next++
		return next>>13<<35 | number<<13 | next%(1<<13), nil
	}
}

// randomNumbers is Math.floor(Math.random() * max) + min.
func randomNumbers(h *host) func() (int64, error) {
	random := rand.New(rand.NewPCG(3, uint64(h.starts)))
	return func() (int64, error) { return int64(random.Float64()*9_999_999_999) + 1_000_000, nil }
}
