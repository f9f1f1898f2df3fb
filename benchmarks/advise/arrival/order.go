// Package arrival simulates the order in which keys reach a B-tree: workers with different clocks, rows that are
// written some time after their keys were drawn, overlapping batches of several workers.
package arrival

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Order describes how rows are made. The same Order always gives the same keys in the same order.
type Order struct {
	Rows    int     // at least 1
	Rate    float64 // rows a second of all workers
	Workers int     // [1, MaxWorkers]; they take turns at random
	// Skew is the difference between the slowest and the fastest clock. The others are evenly spread between them.
	Skew time.Duration
	// Lag is the mean time between drawing a key, or a batch, and its insert. The times are distributed exponentially,
	// so that rows of one worker overtake each other too.
	Lag time.Duration
	// Batch is the number of keys that a worker draws together; 0 means 1. From 2 on it writes batch after batch, as a
	// loader does.
	Batch int
	// Cores is the number of statements that the database executes at the same time. From 1 on, a batch is one
	// statement: its rows are inserted within milliseconds, whatever the rate. With 0 a worker writes the rows of a
	// batch one by one at its share of the rate, so that batches of several workers interleave row by row.
	Cores int
	Seed  uint64
}

// Limits of Order.
const (
	MaxWorkers = 1000
	MaxBatch   = 1_000_000
	maxRate    = 4_096_000 // keys a second of one worker: 4,096 per millisecond
	maxTime    = 24 * time.Hour
)

// Check returns an error that names the first field that is out of range.
func (o Order) Check() error {
	switch {
	case o.Rows < 1:
		return fmt.Errorf("rows: %d is less than 1", o.Rows)
	case o.Workers < 1 || o.Workers > MaxWorkers:
		return fmt.Errorf("workers: %d is out of range [1, %d]", o.Workers, MaxWorkers)
	case math.IsNaN(o.Rate) || o.Rate <= 0:
		return fmt.Errorf("rate: %v rows a second is not above 0", o.Rate)
	case o.Rate > maxRate*float64(o.Workers):
		return fmt.Errorf("rate: %.0f rows a second is more than %d workers can make keys for, %d", o.Rate, o.Workers,
			maxRate*o.Workers)
	case o.Skew < 0 || o.Skew > maxTime:
		return fmt.Errorf("skew: %v is out of range [0, %v]", o.Skew, maxTime)
	case o.Lag < 0 || o.Lag > maxTime:
		return fmt.Errorf("lag: %v is out of range [0, %v]", o.Lag, maxTime)
	case o.Batch < 0 || o.Batch > MaxBatch:
		return fmt.Errorf("batch: %d is out of range [1, %d]", o.Batch, MaxBatch)
	case o.Cores < 0:
		return fmt.Errorf("cores: %d is less than 0", o.Cores)
	}
	return nil
}

// SkewRows returns the number of rows that arrive within the skew.
func (o Order) SkewRows() float64 {
	if o.Workers < 2 {
		return 0
	}
	return o.Skew.Seconds() * o.Rate
}

// LagRows returns the number of rows that arrive within the mean lag.
func (o Order) LagRows() float64 { return o.Lag.Seconds() * o.Rate }

// Row has the data that a row's key is made of.
type Row struct {
	tick, sequence int64 // of a snowflake; the tick is a millisecond
	worker         int64
	fine           int64  // time of a UUIDv7, with 12 bits below the millisecond
	random         uint64 // of a UUIDv7
	at             int64  // when it is inserted, in nanoseconds
}

// worker is a process with a clock and a generator.
type worker struct {
	id                         int64
	offset                     int64 // of its clock, in nanoseconds
	lastTick, lastSeq, lastLow int64
	next                       float64 // when a loader draws again
}

const maxSequence = 1<<12 - 1

// draw makes a key at the given true time.
func (w *worker) draw(now int64, random uint64) Row {
	clock := now + w.offset
	tick := clock / int64(time.Millisecond)
	switch {
	case tick > w.lastTick:
		w.lastTick, w.lastSeq = tick, 0
	case w.lastSeq == maxSequence: // exhausted: it leads the clock
		w.lastTick, w.lastSeq = w.lastTick+1, 0
	default:
		w.lastSeq++
	}
	fine := tick<<12 | clock%int64(time.Millisecond)*4096/int64(time.Millisecond)
	w.lastLow = max(fine, w.lastLow+1)
	return Row{tick: w.lastTick, sequence: w.lastSeq, worker: w.id, fine: w.lastLow, random: random}
}

// simulation is the state of one run.
type simulation struct {
	Order
	random  *rand.Rand
	workers []worker
	rows    []Row
}

// Simulate returns the rows in the order in which they are inserted.
func (o Order) Simulate() ([]Row, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	o.Batch = max(o.Batch, 1)
	s := &simulation{Order: o, random: rand.New(rand.NewPCG(o.Seed, 0x5eed))} //nolint:gosec // a simulation
	s.workers = make([]worker, o.Workers)
	for i := range s.workers {
		s.workers[i].id = int64(i + 1)
		if o.Workers > 1 {
			s.workers[i].offset = int64(o.Skew) * int64(i) / int64(o.Workers-1)
		}
	}
	s.rows = make([]Row, 0, o.Rows)
	switch {
	case o.Batch == 1:
		s.singles()
	case o.Cores == 0:
		s.load()
	default:
		s.statements()
	}
	// Rows that arrive at the same time keep the order of their keys.
	slices.SortStableFunc(s.rows, func(a, b Row) int { return cmp.Compare(a.at, b.at) })
	return s.rows, nil
}

// singles simulates requests that arrive at random (a Poisson process) at any worker.
func (s *simulation) singles() {
	now := 0.0
	mean := float64(time.Second) / s.Rate
	for range s.Rows {
		now += s.random.ExpFloat64() * mean
		row := s.workers[s.random.IntN(len(s.workers))].draw(int64(now), s.random.Uint64())
		row.at = int64(now + s.lag())
		s.rows = append(s.rows, row)
	}
}

// load simulates workers that write batch after batch, row by row.
func (s *simulation) load() {
	each := float64(time.Second) * float64(s.Workers) / s.Rate
	for i := range s.workers { // not all at the same time
		s.workers[i].next = s.random.Float64() * each * float64(s.Batch)
	}
	for len(s.rows) < s.Rows {
		w := &s.workers[0]
		for i := range s.workers {
			if s.workers[i].next < w.next {
				w = &s.workers[i]
			}
		}
		drawn, lag := int64(w.next), s.lag()
		for range min(s.Batch, s.Rows-len(s.rows)) {
			row := w.draw(drawn, s.random.Uint64())
			row.at = int64(w.next + lag)
			s.rows = append(s.rows, row)
			w.next += each * s.vary()
		}
	}
}

// vary returns a factor from 0.5 to 1.5.
func (s *simulation) vary() float64 { return 0.5 + s.random.Float64() }

func (s *simulation) lag() float64 { return s.random.ExpFloat64() * float64(s.Lag) }
