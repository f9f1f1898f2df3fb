package core

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// ErrOption is snowflake.ErrOption.
var ErrOption = errors.New("snowflake: invalid option")

// Config is what options set.
type Config struct {
	Space  Space
	Clock  Clock // nil for the system clock
	Lead   time.Duration
	Random func(limit uint64) uint64 // returns a number below limit; nil without WithRandomStart
	Fixed  int64                     // the bits of an ID other than time, worker and sequence

	// DueError returns the error of a call whose context ends, or would end, before its IDs are due.
	DueError func(in time.Duration, err error) error

	// StalledError returns the error of a call that waited for its lease in vain, until err: cause is why the lease was
	// not extended, nil if it does not know.
	StalledError func(err, cause error) error
}

func (c Config) leadTicks() Ticks { return Ticks(min(int64(c.Lead/c.Space.Tick), c.Space.Time.Max())) }

// open reads the clock and returns a worker without a number, which issues nothing.
func open(cfg Config) (w *worker, now nanos, err error) {
	s, clock := cfg.Space, cfg.Clock
	bubble := clock == nil && inBubble()
	if bubble {
		clock = bubbleClock{}
	}

	w = &worker{number: noWorker, common: common{
		space:    s,
		clock:    clock,
		bubble:   bubble,
		ticker:   newDivider(uint64(s.Tick)),
		bits:     s.Sequence.Width,
		mask:     state(s.Sequence.Max()),
		last:     1<<(s.Time.Width()+s.Sequence.Width) - 1,
		end:      nanos(s.Span(1 << s.Time.Width())),
		lead:     cfg.leadTicks(),
		dueError: cfg.DueError,
		setting:  new(setting),
		counters: new(counters),
	}}
	w.state.Store(frozen)

	wall, elapsed := readBoth(w.anyClock())
	if wall.Before(s.Epoch()) {
		return nil, 0, s.beforeEpoch(wall)
	}
	now = nanos(wall.Sub(s.Epoch()))
	if now >= w.end {
		return nil, 0, w.exhausted(wall)
	}
	w.offset.Store(int64(now) - int64(elapsed))
	w.syncAt.Store(now + resyncEvery)

	return w, now, nil
}

// newWorker returns a fixed worker with a start fence: its state is the greatest that a process which ended just now
// can have issued, so the first ID is above all IDs of that process.
func newWorker(cfg Config, number int64) (*worker, error) {
	w, now, err := open(cfg)
	if err != nil {
		return nil, err
	}

	w.number, w.stamp = number, cfg.Space.Worker.Put(number)
	w.start = state(w.tick(now)+w.lead)<<w.bits | w.mask
	if w.start >= w.last {
		return nil, w.exhausted(w.wall(now))
	}

	w.limit.Store(w.last)
	w.state.Store(w.start)
	return w, nil
}

// registry holds every fixed worker for which this process has created a generator. Generators for one worker share it,
// so they cannot issue the same ID. A generator that is created again continues above the last ID, even after a step
// back of the wall clock. Entries are never removed, because a forgotten state could be issued again.
var registry = struct {
	sync.Mutex
	workers map[workerKey]*worker
}{workers: map[workerKey]*worker{}}

type workerKey struct {
	space  Space
	number int64
}

// workerFor returns the fixed worker with this number, which all its generators in this process share. Generators with
// WithClock and generators in a testing/synctest bubble each get their own, because their times are unrelated.
func workerFor(cfg Config, number int64) (*worker, error) {
	if cfg.Clock != nil || inBubble() {
		return newWorker(cfg, number)
	}

	key := workerKey{cfg.Space, number}
	registry.Lock()
	defer registry.Unlock()
	if w := registry.workers[key]; w != nil {
		if lead := cfg.leadTicks(); lead > w.lead {
			return nil, fmt.Errorf(
				"%w: a lead of %v is longer than the %v of the first generator for worker %d in this process",
				ErrOption, w.span(lead), w.span(w.lead), number)
		}
		return w, nil
	}

	w, err := newWorker(cfg, number)
	if err != nil {
		return nil, err
	}

	registry.workers[key] = w
	return w, nil
}
