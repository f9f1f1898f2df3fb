package core

import (
	"fmt"
	"math"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// cacheLine is a multiple of the cache line's size on all common processors. It pads the word that all calls write.
	cacheLine = 128

	// frozen is the state of a worker that issues no IDs any more. It is above every limit.
	frozen state = 1 << 63

	// noWorker is the number of a worker that stands for none.
	noWorker = -1
)

// nanos is a time in nanoseconds since the layout's epoch. It is unsigned, so a time before the epoch is a huge number.
type nanos uint64

// state is a position in a worker's sequence of IDs: tick<<bits | sequence.
type state uint64

// atomicOf is an atomic.Uint64 with a unit.
type atomicOf[T ~uint64] struct{ word atomic.Uint64 }

func (a *atomicOf[T]) Load() T    { return T(a.word.Load()) }
func (a *atomicOf[T]) Store(v T)  { a.word.Store(uint64(v)) }
func (a *atomicOf[T]) Swap(v T) T { return T(a.word.Swap(uint64(v))) }
func (a *atomicOf[T]) CompareAndSwap(old, next T) bool {
	return a.word.CompareAndSwap(uint64(old), uint64(next))
}

// worker is what this process knows about one worker of one layout. All generators for it share it.
type worker struct {
	common
	number int64 // or noWorker
	stamp  int64 // its bits in an ID
	start  state // at the start
	limit  atomicOf[state]

	_     [cacheLine]byte
	state atomicOf[state] // of the last ID taken; up to limit
	_     [cacheLine]byte

	queueLock sync.Mutex
	queues    []*queue // one for each lead that a call has waited with
}

// common is what the workers of a lease share. It never changes, except for what the pointers point to.
type common struct {
	space  Space
	clock  Clock // nil for the system clock, which the fast path reads without an interface call
	bubble bool  // the clock is that of a testing/synctest bubble
	ticker divider
	bits   uint8 // width of the sequence
	mask   state // greatest sequence
	last   state // the greatest state of the layout
	end    nanos // the layout's End, or 292 years after the epoch if that is earlier
	lead   Ticks // greatest lead that a generator may have

	dueError func(in time.Duration, err error) error // see Config
	trust    func(wall time.Time) bool               // confirms a step forward of the wall clock; nil confirms all
	*setting
	*counters
}

// setting is how the clock is set. A resync writes both words, so Move must not copy them in between, nor lose what a
// resync that has begun before writes after it.
type setting struct {
	offset atomic.Int64          // nanos = the clock's Elapsed + offset
	syncAt atomicOf[nanos]       // when the next resync is due
	_      [cacheLine - 2*8]byte // all calls read it
}

// counters are not written by the fast path, except for skipped: once a tick.
type counters struct {
	retired   atomic.Uint64 // states of earlier workers of a lease, used or not
	skipped   atomic.Uint64 // states passed over at the beginning of a tick
	skipping  atomic.Int64  // calls that may have moved the state and not counted what they skipped yet
	abandoned atomic.Uint64 // states taken by calls that failed
	waits     atomic.Uint64
	waited    atomic.Int64 // nanoseconds
	steps     atomic.Uint64
	drift     atomic.Int64 // nanoseconds
	catching  atomic.Bool  // the clock is being slowed down; see catchUp
	observers sync.Map     // of *func(Wait), because functions are not comparable
}

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
		lead:     cfg.leadTicks(),
		dueError: cfg.DueError,
		setting:  new(setting),
		counters: new(counters),
	}}
	hi, end := bits.Mul64(1<<s.Time.Width(), uint64(s.Tick))
	if hi != 0 || end > math.MaxInt64 {
		end = math.MaxInt64
	}
	w.end = nanos(end)
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

// newWorker returns a fixed worker with a start fence: the state is the greatest that a process that ended just now can
// have issued, so the first ID is above all of its IDs.
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
// so they cannot issue the same ID, and one that is created again continues above the last ID even if the wall clock was
// set back in between. Entries are never removed, because a forgotten state could be issued again.
var registry struct {
	sync.Mutex
	workers map[workerKey]*worker
}

type workerKey struct {
	space  Space
	number int64
}

// workerFor returns a fixed worker. Generators with WithClock and those in a testing/synctest bubble each get their
// own, because their times are unrelated.
func workerFor(cfg Config, number int64) (*worker, error) {
	if cfg.Clock != nil || inBubble() {
		return newWorker(cfg, number)
	}
	key := workerKey{cfg.Space, number}
	registry.Lock()
	defer registry.Unlock()
	if w := registry.workers[key]; w != nil {
		if lead := cfg.leadTicks(); lead > w.lead {
			return nil, fmt.Errorf("%w: a lead of %v is longer than the %v of the first generator for worker %d in this process",
				ErrOption, w.span(lead), w.span(w.lead), number)
		}
		return w, nil
	}
	w, err := newWorker(cfg, number)
	if err != nil {
		return nil, err
	}
	if registry.workers == nil {
		registry.workers = make(map[workerKey]*worker)
	}
	registry.workers[key] = w
	return w, nil
}

// anyClock returns the clock, also if it is the system clock.
func (c *common) anyClock() Clock {
	if c.clock != nil {
		return c.clock
	}
	return systemClock{}
}

// injected reports whether the clock was set by WithClock.
func (c *common) injected() bool { return c.clock != nil && !c.bubble }

// now reads the clock. The result is valid only below syncAt; see read.
func (c *common) now() nanos {
	if c.clock != nil {
		return nanos(int64(c.clock.Elapsed()) + c.offset.Load())
	}
	return nanos(int64(time.Since(origin)) + c.offset.Load())
}

// elapsed returns the time of the monotonic clock, which lengths of waits are measured with: now may step.
func (c *common) elapsed() time.Duration { return c.anyClock().Elapsed() }

// tick returns the tick that contains now.
func (c *common) tick(now nanos) Ticks { return Ticks(c.ticker.div(uint64(now))) }

// floor returns the least state of the tick that contains now.
func (c *common) floor(now nanos) state { return state(c.tick(now)) << (c.bits & 63) }

// tickOf returns the tick of a state.
func (c *common) tickOf(s state) Ticks { return Ticks(s >> (c.bits & 63)) }

// wall returns a time below 1<<63 as a time.Time.
func (c *common) wall(now nanos) time.Time { return c.space.Epoch().Add(time.Duration(now)) }

// span returns the duration of n ticks.
func (c *common) span(n Ticks) time.Duration { return time.Duration(n) * c.space.Tick }

// inOtherBubble reports whether the caller and the worker are not in the same testing/synctest bubble, or not both
// outside.
func (c *common) inOtherBubble() bool { return !c.injected() && c.bubble != inBubble() }

// exhausted returns the error for a time that has no ID left.
func (c *common) exhausted(t time.Time) error { return exhausted(t, c.wall(c.end)) }

// divider divides with a multiplication and a shift, several times faster than the DIV instruction. It is exact for every
// dividend below 1<<63 (Granlund and Montgomery, "Division by Invariant Integers using Multiplication", PLDI 1994).
type divider struct {
	magic uint64
	shift uint8
}

// newDivider returns the divider by d, which is at least 2.
func newDivider(d uint64) divider {
	width := bits.Len64(d - 1) // 1<<(width-1) < d <= 1<<width
	magic, _ := bits.Div64(1<<(width-1), 0, d)
	return divider{magic: magic + 1, shift: uint8(width - 1)}
}

func (d divider) div(n uint64) uint64 {
	hi, _ := bits.Mul64(n, d.magic)
	return hi >> (d.shift & 63)
}
