// Package arrival simulates the order in which keys reach a B-tree: workers whose clocks disagree, rows that are written
// some time after their keys were drawn, batches of several workers that overlap.
package arrival

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Order says how rows come to be. The same Order always gives the same keys in the same order.
type Order struct {
	Rows    int     // at least 1
	Rate    float64 // rows a second, of all workers together
	Workers int     // [1, MaxWorkers]; they take turns at random
	// Skew is how far the clocks are apart: from the one that is most behind to the one that is most ahead. The others are
	// spread evenly between them.
	Skew time.Duration
	// Lag is the mean time from the drawing of a key, or of a batch, to its reaching the tree. The times are distributed
	// exponentially, so that rows of one worker overtake each other too.
	Lag time.Duration
	// Batch is how many keys a worker draws at once. From 2 on it writes the rows one after the other at its share of the
	// rate and draws the next batch when it is done, as a loader does, so that batches of several workers interleave.
	// 0 stands for 1.
	Batch int
	Seed  uint64
}

// Limits of Order.
const (
	MaxWorkers = 1000
	MaxBatch   = 1_000_000
	maxRate    = 4_096_000 // keys a second that one worker can make: 4,096 in each millisecond
	maxTime    = 24 * time.Hour
)

// Check returns an error that names the first field that is out of its range.
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
	}
	return nil
}

// SkewRows is how many rows come while the clocks are apart.
func (o Order) SkewRows() float64 {
	if o.Workers < 2 {
		return 0
	}
	return o.Skew.Seconds() * o.Rate
}

// LagRows is how many rows come during the mean lag.
func (o Order) LagRows() float64 { return o.Lag.Seconds() * o.Rate }

// BatchRows is how many rows come while the rows of one batch are written: those of all workers.
func (o Order) BatchRows() float64 {
	if o.Workers < 2 {
		return 0
	}
	return float64(max(o.Batch, 1) * o.Workers)
}

// Row is a row on its way: what its key is made of.
type Row struct {
	tick, sequence int64 // of a snowflake; the tick is a millisecond
	worker         int64
	fine           int64  // time of a UUIDv7, with 12 bits below the millisecond
	random         uint64 // of a UUIDv7
	at             int64  // when it reaches the tree, in nanoseconds
}

// worker is a process with a clock and a generator.
type worker struct {
	id                         int64
	offset                     int64 // of its clock, in nanoseconds
	lastTick, lastSeq, lastLow int64
	next                       float64 // when it draws again; of loaders
}

const maxSequence = 1<<12 - 1

// draw makes a key at a time of the true clock.
func (w *worker) draw(now int64, random uint64) Row {
	clock := now + w.offset
	tick := clock / int64(time.Millisecond)
	switch {
	case tick > w.lastTick:
		w.lastTick, w.lastSeq = tick, 0
	case w.lastSeq == maxSequence: // spent: it goes ahead of the clock
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

// Simulate returns the rows in the order in which they reach the tree.
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
	if o.Batch > 1 {
		s.load()
	} else {
		s.singles()
	}
	// Rows that arrive at the same time keep the order in which they were drawn.
	slices.SortStableFunc(s.rows, func(a, b Row) int { return cmp.Compare(a.at, b.at) })
	return s.rows, nil
}

// singles are requests that come at random (a Poisson process) to any worker.
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

// load has all workers write batch after batch. What one row takes varies by half.
func (s *simulation) load() {
	each := float64(time.Second) * float64(s.Workers) / s.Rate
	for i := range s.workers { // not all at the same moment
		s.workers[i].next = s.random.Float64() * each * float64(s.Batch)
	}
	for len(s.rows) < s.Rows {
		w := &s.workers[0]
		for i := range s.workers {
			if s.workers[i].next < w.next {
				w = &s.workers[i]
			}
		}
		drawn, at, lag := int64(w.next), w.next, s.lag()
		for range min(s.Batch, s.Rows-len(s.rows)) {
			row := w.draw(drawn, s.random.Uint64())
			row.at = int64(at + lag)
			s.rows = append(s.rows, row)
			at += each * (0.5 + s.random.Float64())
		}
		w.next = at
	}
}

func (s *simulation) lag() float64 { return s.random.ExpFloat64() * float64(s.Lag) }
