package snowflake

import (
	"math"
	"math/bits"
	"sync/atomic"
	"time"
)

const (
	// resyncEvery is how often the wall clock is compared with the generator's
	// own, in the call that comes next.
	resyncEvery = uint64(time.Second)

	// stepTolerance is how far the wall clock may be from the generator's own
	// before that counts as a step.
	stepTolerance = 10 * time.Millisecond

	// cacheLine is a multiple of every common cache line's size, so that the
	// word that all callers write to has one for itself.
	cacheLine = 128
)

// core is the state of one worker of one layout in this process, shared by all
// generators for it. Times in it are "now": nanoseconds since the layout's
// epoch, as unsigned numbers, so that a time before the epoch is a huge one.
type core struct {
	layout Layout
	clock  Clock // nil for the system clock, which is read without a call through it
	bubble bool  // the clock is that of a testing/synctest bubble
	ticker divider
	bits   uint8  // width of the sequence
	mask   uint64 // greatest sequence
	lead   uint64 // in ticks, the longest that a generator may have
	end    uint64 // the layout's End as a now, or the greatest int64: 292 years
	last   uint64 // greatest state that the layout has
	worker ID     // the worker's bits in an ID
	start  uint64 // the state at the start

	trust func(wall time.Time) bool // nil: a step forward of the wall clock needs no confirmation

	offset atomic.Int64  // now = the clock's Elapsed + offset; only grows
	syncAt atomic.Uint64 // the now from which resync is due
	limit  atomic.Uint64 // greatest state that may be issued

	_     [cacheLine]byte
	state atomic.Uint64 // tick<<bits | sequence of the last ID taken
	_     [cacheLine]byte

	*counters
}

// frozen is the state of a core from which no ID may be taken any more. It is
// above every limit.
const frozen = 1 << 63

// newCore returns the core of a fixed worker and sets the start fence: the state
// is what a process that died just now could have led the clock to, so that the
// first ID is above all of its IDs.
func newCore(l Layout, worker int64, clock Clock, lead uint64) (*core, error) {
	c, now, err := openCore(l, clock)
	if err != nil {
		return nil, err
	}
	c.lead = lead
	c.worker = l.worker.put(worker)
	c.start = (c.ticker.div(now)+lead)<<c.bits | c.mask
	if c.start >= c.last {
		return nil, c.exhausted(c.wall(now))
	}
	c.limit.Store(c.last)
	c.state.Store(c.start)
	return c, nil
}

// openCore reads the clock and returns a frozen core.
func openCore(l Layout, clock Clock) (c *core, now uint64, err error) {
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
		mask:   uint64(l.sequence.max()),
		last:   1<<(l.time.width+l.sequence.width) - 1,

		counters: new(counters),
	}
	hi, end := bits.Mul64(1<<l.time.width, uint64(l.tick))
	if hi != 0 || end > math.MaxInt64 {
		end = math.MaxInt64
	}
	c.end = end
	c.state.Store(frozen)

	wall, elapsed := c.readBoth()
	if wall.Before(l.Epoch()) {
		return nil, 0, l.beforeEpoch(wall)
	}
	now = uint64(wall.Sub(l.Epoch()))
	if now >= end {
		return nil, 0, c.exhausted(wall)
	}
	c.offset.Store(int64(now) - int64(elapsed))
	c.syncAt.Store(now + resyncEvery)
	return c, now, nil
}

// now reads the clock. It must be below syncAt to be used; read does both.
func (c *core) now() uint64 {
	if c.clock != nil {
		return uint64(int64(c.clock.Elapsed()) + c.offset.Load())
	}
	return uint64(int64(time.Since(origin)) + c.offset.Load())
}

// read reads the clock and follows the wall clock when that is due.
func (c *core) read() (uint64, error) {
	now := c.now()
	if now < c.syncAt.Load() {
		return now, nil
	}
	return c.resync(now)
}

// floor returns the least state of the tick that now lies in.
func (c *core) floor(now uint64) uint64 { return c.ticker.div(now) << (c.bits & 63) }

// wall returns a now that is below the greatest int64 as a time.
func (c *core) wall(now uint64) time.Time { return c.layout.Epoch().Add(time.Duration(now)) }

// tickSpan returns the duration of n ticks.
func (c *core) tickSpan(n uint64) time.Duration { return time.Duration(n) * c.layout.tick }

// foreign reports whether the caller's clock is not the core's, being on the
// other side of a testing/synctest bubble's wall.
func (c *core) foreign() bool { return (c.clock == nil || c.bubble) && c.bubble != inBubble() }

// exhausted says that there is no ID left for t.
func (c *core) exhausted(t time.Time) error { return exhausted(t, c.wall(c.end)) }

// divider divides by a number that is not known at compile time with a
// multiplication and a shift, several times faster than the DIV instruction.
// It is exact for every dividend below 1<<63 (Granlund and Montgomery, "Division
// by Invariant Integers using Multiplication", PLDI 1994).
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
