package snowflake

import (
	"math"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// resyncEvery is how often a call compares the wall clock with the generator's.
	resyncEvery = nanos(time.Second)

	// cacheLine is a multiple of the cache line's size on all common processors. It pads the word that all calls write.
	cacheLine = 128

	// frozen is the state of a core that issues no IDs any more. It is above every limit.
	frozen state = 1 << 63

	// noWorker is the number of a core that has no worker yet.
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

// core is what this process knows about one worker of one layout. All generators for the worker share it.
type core struct {
	layout Layout
	clock  Clock // nil for the system clock, which the fast path reads without an interface call
	bubble bool  // the clock is that of a testing/synctest bubble
	ticker divider
	bits   uint8 // width of the sequence
	mask   state // greatest sequence
	end    nanos // the layout's End, or 292 years after the epoch if that is earlier
	last   state // the greatest state of the layout
	lead   ticks // greatest lead that a generator may have
	start  state // the state at the start
	worker int64 // or noWorker
	stamp  ID    // the worker's bits in an ID

	trust func(wall time.Time) bool // confirms a step forward of the wall clock; nil confirms all

	*setting
	limit atomicOf[state] // greatest state that may be issued

	_     [cacheLine]byte
	state atomicOf[state] // of the last ID taken
	_     [cacheLine]byte

	queueLock sync.Mutex
	queues    []*queue // one for each lead that a call has waited with

	*counters
}

// setting is how the clock is set. The cores of a lease share it: a resync writes both words, so Move must not copy them
// in between, nor lose what a resync that has begun before writes after it.
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
	observers observers
}

// openCore reads the clock and returns a core without a worker, which issues nothing.
func openCore(l Layout, clock Clock) (c *core, now nanos, err error) {
	bubble := clock == nil && inBubble()
	if bubble {
		clock = bubbleClock{}
	}
	c = &core{
		layout: l,
		clock:  clock,
		bubble: bubble,
		ticker: newDivider(uint64(l.tick)),
		bits:   l.sequence.width,
		mask:   state(l.sequence.max()),
		last:   1<<(l.time.width+l.sequence.width) - 1,
		worker: noWorker,

		setting:  new(setting),
		counters: new(counters),
	}
	hi, end := bits.Mul64(1<<l.time.width, uint64(l.tick))
	if hi != 0 || end > math.MaxInt64 {
		end = math.MaxInt64
	}
	c.end = nanos(end)
	c.state.Store(frozen)

	wall, elapsed := readBoth(c.anyClock())
	if wall.Before(l.Epoch()) {
		return nil, 0, l.beforeEpoch(wall)
	}
	now = nanos(wall.Sub(l.Epoch()))
	if now >= c.end {
		return nil, 0, c.exhausted(wall)
	}
	c.offset.Store(int64(now) - int64(elapsed))
	c.syncAt.Store(now + resyncEvery)
	return c, now, nil
}

// newCore returns the core of a fixed worker with a start fence: the state is the greatest that a process that ended
// just now can have issued, so the first ID is above all of its IDs.
func newCore(l Layout, worker int64, clock Clock, lead ticks) (*core, error) {
	c, now, err := openCore(l, clock)
	if err != nil {
		return nil, err
	}
	c.lead = lead
	c.worker, c.stamp = worker, l.worker.put(worker)
	c.start = state(c.tick(now)+lead)<<c.bits | c.mask
	if c.start >= c.last {
		return nil, c.exhausted(c.wall(now))
	}
	c.limit.Store(c.last)
	c.state.Store(c.start)
	return c, nil
}

// anyClock returns the clock, also if it is the system clock.
func (c *core) anyClock() Clock {
	if c.clock != nil {
		return c.clock
	}
	return systemClock{}
}

// injected reports whether the clock was set by WithClock.
func (c *core) injected() bool { return c.clock != nil && !c.bubble }

// now reads the clock. The result is valid only below syncAt; see read.
func (c *core) now() nanos {
	if c.clock != nil {
		return nanos(int64(c.clock.Elapsed()) + c.offset.Load())
	}
	return nanos(int64(time.Since(origin)) + c.offset.Load())
}

// elapsed returns the time of the monotonic clock, which lengths of waits are measured with: now may step.
func (c *core) elapsed() time.Duration { return c.anyClock().Elapsed() }

// tick returns the tick that contains now.
func (c *core) tick(now nanos) ticks { return ticks(c.ticker.div(uint64(now))) }

// floor returns the least state of the tick that contains now.
func (c *core) floor(now nanos) state { return state(c.tick(now)) << (c.bits & 63) }

// tickOf returns the tick of a state.
func (c *core) tickOf(s state) ticks { return ticks(s >> (c.bits & 63)) }

// begin returns the begin of a state's tick.
func (c *core) begin(s state) nanos { return nanos(c.tickOf(s)) * nanos(c.layout.tick) }

// wall returns a time below 1<<63 as a time.Time.
func (c *core) wall(now nanos) time.Time { return c.layout.Epoch().Add(time.Duration(now)) }

// span returns the duration of n ticks.
func (c *core) span(n ticks) time.Duration { return time.Duration(n) * c.layout.tick }

// inOtherBubble reports whether the caller and the core are not in the same testing/synctest bubble, or not both
// outside.
func (c *core) inOtherBubble() bool { return !c.injected() && c.bubble != inBubble() }

// exhausted returns the error for a time that has no ID left.
func (c *core) exhausted(t time.Time) error { return exhausted(t, c.wall(c.end)) }
