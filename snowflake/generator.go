package snowflake

import (
	"context"
	"fmt"
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
	core   *core
	layout Layout
	fixed  ID     // the fields besides time and sequence
	span   uint64 // how far a state may be above the clock's: lead<<bits | mask
	lead   uint64 // in ticks
	pinned []pin

	// Copied from the layout, since Next uses them.
	timeShift, seqShift uint8
}

// New returns a generator for the worker. The worker comes first and can't be
// left out because 0 is as good a worker as any other: its range is [0,
// MaxWorker()] of the layout, which is Default() unless WithLayout says
// otherwise. No two processes may run with the same worker at the same time.
//
// New returns a *FieldError (ErrFieldRange) for a worker or a pinned value
// outside its field, ErrUnknownField and ErrFieldOwned for a field that can't be
// pinned, ErrLayout for the zero Layout, ErrOption for other bad options, and
// ErrBeforeEpoch or ErrTimeExhausted when the clock is outside the layout's
// time, of which a generator can use the first 292 years.
func New(worker int64, opts ...Option) (*Generator, error) {
	cfg := config{layout: Default(), lead: DefaultLead}
	for _, opt := range opts {
		if opt == nil {
			return nil, fmt.Errorf("%w: nil Option", ErrOption)
		}
		if err := opt.apply(&cfg); err != nil {
			return nil, err
		}
	}
	l := cfg.layout
	if err := checkField(l.workerLabel(), worker, l.worker); err != nil {
		return nil, err
	}
	g := &Generator{
		layout:    l,
		fixed:     l.worker.put(worker),
		timeShift: l.time.shift,
		seqShift:  l.sequence.shift,
	}
	for _, p := range cfg.pinned {
		if err := g.stamp(l, p.field, p.value); err != nil {
			return nil, err
		}
	}
	g.pinned = cfg.pinned
	g.lead = uint64(min(int64(cfg.lead/l.tick), l.time.max()))
	g.span = g.lead<<l.sequence.width | uint64(l.sequence.max())

	core, err := coreFor(l, worker, cfg.clock, g.lead)
	if err != nil {
		return nil, err
	}
	g.core = core
	return g, nil
}

// Layout returns the layout of the generator's IDs.
func (g *Generator) Layout() Layout {
	if g == nil || g.core == nil {
		return Layout{}
	}
	return g.layout
}

// Worker returns the worker that the generator was made for.
func (g *Generator) Worker() int64 {
	if g == nil || g.core == nil {
		return 0
	}
	return g.layout.worker.get(g.fixed)
}

// Next returns the next ID. When the lead is used up it waits until those who
// wait already and then itself are due: 1 ms for each 4,096 IDs on the Default
// layout. The first ID of a new generator is due within a tick. NextContext can
// be interrupted.
//
// It returns ErrTimeExhausted when no ID is left, ErrBeforeEpoch or
// ErrForeignClock when the clock is out of order, and ErrNoGenerator.
func (g *Generator) Next() (ID, error) {
	if g == nil || g.core == nil {
		return 0, ErrNoGenerator
	}
	c := g.core
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
		return g.nextAt(context.Background(), now)
	}
	if !c.state.CompareAndSwap(last, next) {
		backOff()
		return g.nextAt(context.Background(), now)
	}
	return g.compose(next), nil
}

// NextContext is Next with a wait that ends when ctx is done: it then returns
// an error that wraps ctx.Err(). With a context that is done already, or whose
// deadline is earlier than the ID would be due, it returns at once and takes
// nothing; deadlines are compared by the system clock, and not at all with
// another (WithClock).
func (g *Generator) NextContext(ctx context.Context) (ID, error) {
	if g == nil || g.core == nil {
		return 0, ErrNoGenerator
	}
	state, err := g.takeNow(ctx, 1)
	if err != nil {
		return 0, err
	}
	return g.compose(state), nil
}

// nextAt is NextContext after the clock was read.
func (g *Generator) nextAt(ctx context.Context, now uint64) (ID, error) {
	state, err := g.take(ctx, now, 1)
	if err != nil {
		return 0, err
	}
	return g.compose(state), nil
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

// With returns a generator that stamps value into the named field of each ID
// and shares everything else with g: as time and sequence are drawn from the
// same word, none of its IDs can be one of g's, whatever the values. The field is
// for what an ID stands for, such as a type or a region of its data; what tells
// processes with the same worker apart, such as a datacenter, belongs into
// WithField.
//
// It returns ErrUnknownField, a *FieldError (ErrFieldRange), and ErrFieldOwned
// for the time, the sequence, the worker and pinned fields: another process may
// own those values.
func (g *Generator) With(field string, value int64) (*Generator, error) {
	if g == nil || g.core == nil {
		return nil, ErrNoGenerator
	}
	for _, p := range g.pinned {
		if p.field == field {
			return nil, fmt.Errorf("%w: %q is pinned to %d", ErrFieldOwned, field, p.value)
		}
	}
	view := *g
	if err := view.stamp(g.layout, field, value); err != nil {
		return nil, err
	}
	return &view, nil
}

// stamp sets a field besides time, sequence and worker.
func (g *Generator) stamp(l Layout, field string, value int64) error {
	at, ok := l.find(field)
	switch {
	case !ok:
		return l.unknownField(field)
	case at == l.time || at == l.sequence || at == l.worker:
		return fmt.Errorf("%w: %q is set by the generator", ErrFieldOwned, field)
	}
	if err := checkField(field, value, at); err != nil {
		return err
	}
	g.fixed = g.fixed&^at.put(at.max()) | at.put(value)
	return nil
}

// compose returns the ID for a state.
func (g *Generator) compose(state uint64) ID {
	c := g.core
	return ID(state>>(c.bits&63)<<(g.timeShift&63)|state&c.mask<<(g.seqShift&63)) | g.fixed
}
