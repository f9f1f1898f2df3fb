package key

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

// order describes how rows are made. It simulates the order in which the keys of several writers reach a B-tree:
// workers whose clocks differ, rows that are written some time after their keys were drawn, and batches of workers that
// overlap.
type order struct {
	Layout  snowflake.Layout
	Workers int     // [1, Layout.MaxWorker()]
	Rate    float64 // rows a second of all workers, above 0
	// Skew is the difference between the slowest and the fastest clock. The others are evenly spread between them.
	Skew time.Duration
	// Lag is the mean time between drawing a key, or a batch, and its insert. The times are distributed exponentially,
	// so that rows of one worker overtake each other too.
	Lag time.Duration
	// Batch is the number of keys that a worker draws together; 0 means 1. From 2 on it writes batch after batch, row
	// by row at its share of the rate, so that batches of several workers interleave. Single rows arrive at random.
	Batch int
	Seed  uint64
}

// stream gives keys in the order in which they arrive. Two streams of the same order give the same keys. It is not safe
// for concurrent use.
type stream struct {
	order
	random  *rand.Rand
	workers []worker
	pending []row // the next to arrive is the last
}

// worker is a process with a clock and a generator. Times are in nanoseconds.
type worker struct {
	id, offset     int64 // offset of its clock
	tick, sequence int64 // of its last key
	next           float64
}

// newStream returns a stream.
func newStream(o order) *stream {
	o.Batch = max(o.Batch, 1)
	s := &stream{order: o, random: rand.New(rand.NewPCG(o.Seed, 0x5eed))} //nolint:gosec // a simulation
	// The simulation begins two years after the epoch, so that keys have their full length.
	start := float64(2 * 365 * 24 * time.Hour)
	for i := range o.Workers {
		w := worker{id: int64(i + 1), tick: -1}
		if o.Workers > 1 {
			w.offset = int64(o.Skew) * int64(i) / int64(o.Workers-1)
		}
		w.next = start + s.random.Float64()*s.interval()*float64(o.Batch) // not all at the same time
		s.workers = append(s.workers, w)
	}

	return s
}

// interval is the mean time between two rows of a worker.
func (s *stream) interval() float64 { return float64(time.Second) * float64(s.Workers) / s.Rate }

// next returns the key that arrives next.
func (s *stream) next() (snowflake.ID, error) {
	for {
		first := &s.workers[0] // the next to draw; no later key arrives before
		for i := range s.workers {
			if s.workers[i].next < first.next {
				first = &s.workers[i]
			}
		}

		if last := len(s.pending) - 1; last >= 0 && s.pending[last].at <= first.next {
			id := s.pending[last].id
			s.pending = s.pending[:last]
			return id, nil
		}
		if err := s.draw(first); err != nil {
			return 0, err
		}
	}
}

// draw makes the keys of the next batch of a worker.
func (s *stream) draw(w *worker) error {
	drawn, lag := int64(w.next)+w.offset, s.random.ExpFloat64()*float64(s.Lag)
	for range s.Batch {
		tick := drawn / int64(s.Layout.Tick())
		switch {
		case tick > w.tick:
			w.tick, w.sequence = tick, 0
		case w.sequence == s.Layout.MaxSequence(): // it leads the clock
			w.tick, w.sequence = w.tick+1, 0
		default:
			w.sequence++
		}

		id, err := s.Layout.Compose(snowflake.Parts{Time: s.Layout.Start(w.tick), Worker: w.id, Sequence: w.sequence})
		if err != nil {
			return err
		}

		at := w.next + lag
		place, _ := slices.BinarySearchFunc(s.pending, at, func(r row, at float64) int { return cmp.Compare(at, r.at) })
		s.pending = slices.Insert(s.pending, place, row{id, at})
		vary := s.random.ExpFloat64()
		if s.Batch > 1 {
			vary = 0.5 + s.random.Float64()
		}

		w.next += s.interval() * vary
	}

	return nil
}

// row is a key on its way to the database.
type row struct {
	id snowflake.ID
	at float64 // when it arrives
}
