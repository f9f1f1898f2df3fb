package snowflake

import (
	"context"
	"time"
)

// Generator issues the IDs of one worker. Its methods are safe for any number of
// goroutines. Make one with New; the methods of the zero Generator and of a nil
// one return ErrNoGenerator.
//
// # Why no ID comes twice
//
// All that changes is one word: the tick and the sequence of the last ID taken.
// A call reads the clock, then the word, and takes the greater of "one more than
// the word" and "the first sequence of the clock's tick" by a compare-and-swap
// from the old word to the new. An ID belongs to the call whose swap moved the
// word to it or over it. The word grows; only a call that gives up its wait may
// swap it back to what it was before, and only while nobody has moved it since,
// so what it takes back was in no other hands. Hence:
//
//   - No two calls get one ID, however many goroutines there are, and for however
//     long one of them is paused between any two steps: if another call was faster
//     the swap fails and is tried again above it.
//   - IDs are in order. If one call returned before another began, its ID is the
//     earlier one by time and sequence: the swaps are the linearization points
//     (Herlihy and Wing, 1990). Earlier is smaller if the layout has the time
//     first and the sequence last but for the worker, as all presets have, and as
//     long as With does not stamp different values.
//   - The clock is monotonic, so a wall clock that steps back, an NTP correction or
//     a leap second can't be seen. A wall clock that steps forward is followed
//     within a second of use, as after the sleep of a laptop.
//   - When the sequence of a tick is spent it carries into the tick, so the
//     generator leads the clock, by no more than the lead (WithLead). A call that
//     would lead further takes its value first and then sleeps until it is due: the
//     waiting are served in the order in which they came, and no lock is held.
//   - Every limit is compared before the swap.
//   - A new process starts above what one that died the moment before could have
//     led to: the first ID is past clock + lead.
//
// All generators of one process for the same bits of a layout and the same
// worker share the word, for the life of the process. Those with a clock of
// their own (WithClock) and those that are made in a testing/synctest bubble do
// not: two of them repeat each other's IDs.
//
// Not covered by a fixed worker number: two live processes with the same one; a
// process that is started again after the wall clock was set back, in its last
// run or since; and a virtual machine that is cloned while it runs.
type Generator struct {
	core   *core   // nil with a lease
	lessee *Lessee // nil with a fixed worker
	layout Layout
	fixed  ID     // the fields besides time, worker and sequence
	span   uint64 // how far a state may be above the clock's: lead<<bits | mask
	lead   uint64 // in ticks
	pinned []pin

	// Copied from the layout, since Next uses them.
	timeShift, seqShift uint8
}

// current returns the state that the generator draws from at the moment; nil if
// it was not made by New.
func (g *Generator) current() *core {
	switch {
	case g == nil:
		return nil
	case g.core == nil && g.lessee != nil:
		return g.lessee.current.Load()
	default:
		return g.core
	}
}

// Layout returns the layout of the generator's IDs.
func (g *Generator) Layout() Layout {
	if g == nil {
		return Layout{}
	}
	return g.layout
}

// Worker returns the worker whose IDs the generator issues at the moment: always
// the same unless it has a lease.
func (g *Generator) Worker() int64 {
	c := g.current()
	if c == nil {
		return 0
	}
	return g.layout.worker.get(c.worker)
}

// Next returns the next ID. When the lead is used up it waits until those who
// wait already and then itself are due: 1 ms for each 4,096 IDs on the Default
// layout. The first ID of a new generator is due within a tick. NextContext can
// be interrupted.
//
// It returns ErrTimeExhausted when no ID is left, ErrBeforeEpoch or
// ErrForeignClock when the clock is out of order, and ErrNoGenerator.
func (g *Generator) Next() (ID, error) {
	if g == nil {
		return 0, ErrNoGenerator
	}
	c := g.core
	if c == nil {
		if g.lessee == nil {
			return 0, ErrNoGenerator
		}
		c = g.lessee.current.Load()
	}
	if c.clock != nil {
		return g.NextContext(context.Background())
	}
	// The way of nearly all calls that come faster than one a tick. It is
	// written out because functions of this size are not inlined.
	now := uint64(int64(time.Since(origin)) + c.offset.Load())
	if now >= c.syncAt.Load() {
		return g.NextContext(context.Background())
	}
	last, floor := c.state.Load(), c.floor(now)
	next := last + 1
	// Below the floor, when a new tick has begun, the difference wraps around.
	if next-floor > g.span || next > c.limit.Load() {
		return g.nextAt(context.Background(), c, now)
	}
	if !c.state.CompareAndSwap(last, next) {
		backOff()
		return g.nextAt(context.Background(), c, now)
	}
	return g.compose(c, next), nil
}

// NextContext is Next with a wait that ends when ctx is done: it then returns
// an error that wraps ctx.Err(). With a context that is done already, or whose
// deadline is earlier than the ID would be due, it returns at once and takes
// nothing; deadlines are compared by the system clock, and not at all with
// another (WithClock).
func (g *Generator) NextContext(ctx context.Context) (ID, error) {
	c, state, err := g.draw(ctx, 1)
	if err != nil {
		return 0, err
	}
	return g.compose(c, state), nil
}

// nextAt is NextContext after a look at the clock.
func (g *Generator) nextAt(ctx context.Context, c *core, now uint64) (ID, error) {
	state, err := g.take(ctx, c, now, 1)
	if err != nil {
		if err == errBeyond { //nolint:errorlint // never wrapped
			return g.NextContext(ctx)
		}
		return 0, err
	}
	return g.compose(c, state), nil
}

// MustNext is Next for places that can't take an error, such as the default
// functions of ORMs. It panics where Next returns one.
func (g *Generator) MustNext() ID {
	id, err := g.Next()
	if err != nil {
		panic(err)
	}
	return id
}

// compose returns the ID for a state of c.
func (g *Generator) compose(c *core, state uint64) ID {
	return ID(state>>(c.bits&63)<<(g.timeShift&63)|state&c.mask<<(g.seqShift&63)) | c.worker | g.fixed
}
