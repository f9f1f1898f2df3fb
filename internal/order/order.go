// Package order says which worker of a namespace is taken next. Every store uses it, so the order that
// [leasestore.Store.Acquire] documents is written here only:
//
//  1. free workers whose horizon is not above the request's tick, the one that has been free for the longest time
//     first;
//  2. workers that were never taken, the lowest first;
//  3. free workers whose horizon is above the tick, the lowest horizon first.
//
// It reads no clock and no store. It does not import package lease, which may use it.
//
// [leasestore.Store.Acquire]: https://pkg.go.dev/github.com/sqlflake/sqlflake/snowflake/lease#Store
package order

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"
)

// Row is one worker as a store has read it.
type Row struct {
	Worker   int64
	Epoch    int64 // from 1; 0 for a worker that was never taken
	Horizon  int64 // in ticks
	Token    string
	Free     bool      // by the store's clock
	FreeFrom time.Time // from when on the worker is free: past if Free, else to come; zero if the store does not know
}

// Request is the part of a request for a worker that the order depends on.
type Request struct {
	First, Last int64 // the workers that may be taken, both inclusive, from 0; rows of others are ignored
	Tick        int64 // of the caller's clock; any value
}

// Own returns the row that is held with the token, of any worker, and false if there is none: the reply to an earlier
// call was lost. Of several rows it returns the one with the lowest worker.
func Own(rows []Row, token string) (own Row, ok bool) {
	for _, row := range rows {
		isOwn := !row.Free && row.Token == token
		isLowest := !ok || row.Worker < own.Worker
		if isOwn && isLowest {
			own, ok = row, true
		}
	}
	return own, ok
}

// Candidates are the workers that may be taken. They are not safe for concurrent use.
type Candidates struct {
	request Request
	passed  []Row // free, with a horizon that the tick has passed
	ahead   []Row // free, with a horizon above the tick

	unused []int64 // never taken, in order
	next   int64   // the lowest worker that is not known to be taken or unused; above Last or negative: there is none
	taken  []int64 // the workers with a row, in order
	lowest bool    // only the first of unused is known: those above it may have been taken

	freeNext time.Time // when the first of the held workers becomes free; zero: unknown, or none is held
}

// All returns the candidates for a store that has read each row of the range: a worker without a row was never taken.
func All(r Request, rows []Row) *Candidates {
	c := Some(r, rows)
	for _, row := range rows {
		if row.Worker >= r.First {
			c.taken = append(c.taken, row.Worker)
		}
	}

	slices.Sort(c.taken)
	c.next = r.First
	return c
}

// Some returns the candidates for a store that has read only some free rows, which must be the first ones in the order.
// It does not know which workers were never taken: see [Candidates.AddUnused].
func Some(r Request, rows []Row) *Candidates {
	c := &Candidates{request: r, next: -1}
	for _, row := range rows {
		switch {
		case row.Worker < r.First || row.Worker > r.Last:
		case !row.Free:
			c.addHeld(row.FreeFrom)
		case row.Horizon <= r.Tick:
			c.passed = append(c.passed, row)
		default:
			c.ahead = append(c.ahead, row)
		}
	}

	slices.SortFunc(c.passed, longestFree)
	slices.SortFunc(c.ahead, lowestHorizon)
	return c
}

func longestFree(a, b Row) int {
	return cmp.Or(a.FreeFrom.Compare(b.FreeFrom), cmp.Compare(a.Worker, b.Worker))
}

func lowestHorizon(a, b Row) int {
	return cmp.Or(cmp.Compare(a.Horizon, b.Horizon), longestFree(a, b))
}

func (c *Candidates) addHeld(until time.Time) {
	if c.freeNext.IsZero() || until.Before(c.freeNext) {
		c.freeNext = until
	}
}

// HasPassed reports whether there is a candidate that comes before all that were never taken.
func (c *Candidates) HasPassed() bool { return len(c.passed) > 0 }

// AddUnused adds the lowest worker that was never taken to the candidates that [Some] has returned. Nothing is known
// of the workers above it.
func (c *Candidates) AddUnused(lowest int64) { c.unused, c.lowest = []int64{lowest}, true }

// Put adds a free row. It is for a store that reads a horizon only when the worker's turn has come: it passes rows with
// the horizon 0, and puts a row back whose horizon is above the tick.
func (c *Candidates) Put(row Row) {
	group, compare := &c.passed, longestFree
	if row.Horizon > c.request.Tick {
		group, compare = &c.ahead, lowestHorizon
	}

	i, _ := slices.BinarySearchFunc(*group, row, compare)
	*group = slices.Insert(*group, i, row)
}

// maxDoublings bounds among how many candidates Take chooses: at most 2 to the power of it.
const maxDoublings = 10

// Take removes the next candidate and returns it, and false if there is none left.
//
// Several callers may have read the same rows and want the same worker. So a caller that has lost races, as many as it
// says, gets one of the next 2^lost candidates at random: a hundred processes that start together do not compete for
// each worker in turn. All of these have the same rank, 1, 2 or 3 in the order. The last worker of the range, if it was
// never taken, is not drawn before its turn: lease.Lease.Reserve is for it.
func (c *Candidates) Take(lost int) (Row, bool) {
	doublings := min(lost, maxDoublings)
	choices := 1 << doublings
	c.findUnused(choices)

	switch {
	case len(c.passed) > 0:
		return draw(&c.passed, choices), true
	case len(c.unused) > 0 && c.lowest:
		worker := c.near(draw(&c.unused, 1), doublings)
		return Row{Worker: worker, Free: true}, true
	case len(c.unused) > 0:
		worker := draw(&c.unused, min(choices, c.drawable()))
		return Row{Worker: worker, Free: true}, true
	case len(c.ahead) > 0:
		return draw(&c.ahead, choices), true
	}
	return Row{}, false
}

// findUnused makes c.unused as long as n, or shorter if there are fewer workers without a row.
func (c *Candidates) findUnused(n int) {
	for ; len(c.unused) < n && c.hasNext(); c.next++ {
		if len(c.taken) > 0 && c.taken[0] == c.next {
			c.taken = c.taken[1:]
			continue
		}
		c.unused = append(c.unused, c.next)
	}
}

// hasNext reports whether c.next is a worker of the range. It overflows after the greatest one.
func (c *Candidates) hasNext() bool { return 0 <= c.next && c.next <= c.request.Last }

// drawable returns how many of c.unused, which is not empty, may be drawn.
func (c *Candidates) drawable() int {
	n := len(c.unused)
	if n > 1 && c.unused[n-1] == c.request.Last {
		return n - 1
	}
	return n
}

// near returns the lowest worker, or one less than 2^doublings above it. Those above may have been taken, so small
// steps, and none, stay likely.
func (c *Candidates) near(lowest int64, doublings int) int64 {
	step := below(1 << below(doublings+1))
	return max(lowest, min(lowest+int64(step), c.request.Last-1))
}

// draw removes one of the first n elements and returns it.
func draw[T any](from *[]T, n int) T {
	i := below(min(n, len(*from)))
	drawn := (*from)[i]
	if i == 0 {
		*from = (*from)[1:]
	} else {
		*from = slices.Delete(*from, i, i+1)
	}
	return drawn
}

// below returns a random number from 0 to n-1. It leaves the source of random numbers alone if there is one choice.
func below(n int) int {
	if n == 1 {
		return 0
	}
	return rand.IntN(n)
}

// Wait returns how long it is until the first held worker of the range becomes free, 0 if the store does not know that
// or if none is held. It takes the time of the store's clock.
func (c *Candidates) Wait(now time.Time) time.Duration {
	return max(0, c.freeNext.Sub(now))
}
