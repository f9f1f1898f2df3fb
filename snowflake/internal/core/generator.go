// Package core has the machinery of snowflake.Generator. Its words:
//
//   - The state of a worker is its position in its sequence of IDs: a tick and a sequence in one number.
//   - To take IDs is to move the state over them, by a compare-and-swap (advance). They belong to the call that did it.
//   - The lead is how far IDs may be ahead of the clock. IDs that are not further ahead are due.
//   - A call whose IDs are not due waits, after it has taken them. Before that it may have to queue, so that no more
//     than a second of IDs is taken ahead of time.
//   - A lessee changes the worker of its generator and the horizon below which the worker may take IDs. A call at the
//     horizon stalls: it waits for the lessee.
package core

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// The sentinels of a Generator that was not made and of an empty batch. Package snowflake exports and documents them.
var (
	ErrNoGenerator = errors.New("snowflake: generator was not made by New")
	ErrEmptyFill   = errors.New("snowflake: nothing to fill")
)

// Generator takes IDs from the current worker of its lessee. The methods of the zero Generator return ErrNoGenerator.
type Generator struct {
	Lessee            *Lessee // that copies share
	lead              lead
	timeUnit, seqUnit int64 // a tick, and a step of the sequence
	Fixed             int64 // the bits of an ID other than time, worker and sequence

	// A time in two parts has other fields between them: gap is what they add to an ID with each carry into the upper
	// part, which begins at this bit of the tick. 0 for a time in one part.
	gap   int64
	carry uint8

	sequenceFirst bool // see Space.FirstSequence
}

// New returns the generator of a fixed worker.
func New(cfg Config, worker int64) (Generator, error) {
	g := newGenerator(cfg)
	w, err := workerFor(cfg, worker)
	if err == nil {
		g.Lessee.current.Store(w)
	}
	return g, err
}

// LeasedGenerator makes a generator for package lease: it has no worker and issues nothing until its lessee gives it
// one. Without a deadline in their context, calls wait for the lessee for at most patience, 0 or more. trust confirms
// steps forward of the wall clock before the generator follows them; nil confirms all. It returns the errors of
// snowflake.New.
//
// options is a []snowflake.Option, and generator a *snowflake.Generator: package snowflake sets this variable, and core
// cannot name its types. So only this module can make such a generator: two of them issue equal IDs if their lessees
// say so.
var LeasedGenerator func(
	options any, patience time.Duration, trust func(wall time.Time) bool,
) (generator any, l *Lessee, err error)

// NewLeased returns the core of a LeasedGenerator.
func NewLeased(cfg Config, patience time.Duration, trust func(wall time.Time) bool) (Generator, error) {
	g := newGenerator(cfg)
	w, _, err := open(cfg)
	if err != nil {
		return Generator{}, err
	}

	w.trust = trust

	l := g.Lessee
	l.patience, l.stalled = patience, cfg.StalledError
	l.changed, l.wanted = make(chan struct{}), make(chan struct{}, 1)
	l.current.Store(w)
	return g, nil
}

func newGenerator(cfg Config) Generator {
	s, n := cfg.Space, cfg.leadTicks()
	g := Generator{
		Lessee: &Lessee{lead: n},
		lead: lead{
			ticks:  n,
			time:   nanos(n) * nanos(s.Tick),
			states: state(n)<<s.Sequence.Width | state(s.Sequence.Max()),
			random: cfg.Random,
		},
		timeUnit: s.Time.Low.Put(1),
		seqUnit:  s.Sequence.Put(1),
		Fixed:    cfg.Fixed,

		sequenceFirst: s.SequenceFirst(),
	}

	if s.Time.High.Width > 0 {
		g.carry = s.Time.Low.Width
		g.gap = s.Time.High.Put(1) - g.timeUnit<<g.carry
	}
	return g
}

// Worker returns the number of the current worker, or -1 if there is none.
func (g *Generator) Worker() int64 {
	if g.Lessee == nil {
		return noWorker
	}
	return g.Lessee.current.Load().number
}

// Next is snowflake.Generator.Next.
func (g *Generator) Next() (int64, error) {
	if g.Lessee == nil {
		return 0, ErrNoGenerator
	}

	w := g.Lessee.current.Load()
	if w.clock != nil {
		return g.NextContext(context.Background())
	}

	// Fast path: more than one call per tick. It repeats now, read and advance, which the compiler does not inline.
	set := w.setting // before the clock is read: this load then costs no time
	now := nanos(int64(time.Since(origin)) + set.offset.Load())
	if now >= set.syncAt.Load() {
		return g.NextContext(context.Background())
	}

	last := w.state.Load()
	next := last + 1
	if next > w.limit.Load() || !g.lead.reaches(w, now, next) {
		return g.nextAt(w, now)
	}

	if !w.state.CompareAndSwap(last, next) {
		w.backOff()
		return g.nextAt(w, now)
	}

	return g.compose(w, g.spread(w, next)), nil
}

// nextAt continues Next, which has read the worker and the time.
func (g *Generator) nextAt(w *worker, now nanos) (int64, error) {
	ctx := context.Background()
	first, err := w.take(ctx, &g.lead, now, 1)
	if err != nil {
		if err == errBeyond { //nolint:errorlint // never wrapped
			return g.NextContext(ctx)
		}
		return 0, err
	}

	return g.compose(w, g.spread(w, first)), nil
}

// NextContext is snowflake.Generator.NextContext.
func (g *Generator) NextContext(ctx context.Context) (int64, error) {
	if g.Lessee == nil {
		return 0, ErrNoGenerator
	}
	w, first, err := g.take(ctx, 1)
	if err != nil {
		return 0, err
	}
	return g.compose(w, g.spread(w, first)), nil
}

// take takes count states of the current worker, when they are below its limit.
func (g *Generator) take(ctx context.Context, count uint64) (*worker, state, error) {
	for {
		if ctx.Err() != nil {
			return nil, 0, contextError(ctx)
		}

		w := g.Lessee.current.Load()
		now, err := w.read()
		if err != nil {
			return nil, 0, err
		}

		first, err := w.take(ctx, &g.lead, now, count)
		if err == errBeyond { //nolint:errorlint // never wrapped
			if err := g.Lessee.stall(ctx, w, first); err != nil {
				return nil, 0, err
			}
			continue
		}

		return w, first, err
	}
}

// compose returns the ID for a state of w.
func (g *Generator) compose(w *worker, s state) int64 {
	// Multiplications, because the code for GOAMD64=v1 takes three steps for a shift by a variable.
	tick := int64(w.tickOf(s))

	at := tick * g.timeUnit
	if g.gap != 0 {
		at += tick >> (g.carry & 63) * g.gap
	}
	return at | int64(s&w.mask)*g.seqUnit | w.stamp | g.Fixed
}

// spread returns the state whose sequence the ID of s has. It and compose are small enough to be inlined.
func (g *Generator) spread(w *worker, s state) state {
	if g.sequenceFirst {
		return w.spread(s)
	}
	return s
}

// spread turns the sequences of each tick so that the tick begins at its FirstSequence.
//
//go:noinline
func (w *worker) spread(s state) state {
	first := state(w.space.FirstSequence(w.tickOf(s), w.number))
	return s&^w.mask | (s+first)&w.mask
}

// inRow returns how many states from s on have one tick and ascending sequences.
func (g *Generator) inRow(w *worker, s state) uint64 {
	return uint64(w.mask-max(s&w.mask, g.spread(w, s)&w.mask)) + 1
}

// Fill is snowflake.Generator.Fill.
func Fill[T ~int64](ctx context.Context, g *Generator, dst []T) error {
	if g.Lessee == nil {
		return ErrNoGenerator
	}
	if len(dst) == 0 {
		return fmt.Errorf("%w: Fill of a slice of length 0 (capacity %d)", ErrEmptyFill, cap(dst))
	}

	if step := uint64(g.lead.states) + 1; uint64(len(dst)) > step {
		return fillParts(ctx, g, dst, step)
	}

	w, first, err := g.take(ctx, uint64(len(dst)))
	if err != nil {
		return err
	}
	write(g, dst, w, first)
	return nil
}

// fillParts is Fill for a slice of several steps. It writes nothing before all are taken.
func fillParts[T ~int64](ctx context.Context, g *Generator, dst []T, step uint64) error {
	if err := g.checkAll(ctx, uint64(len(dst))); err != nil {
		return err
	}

	type part struct {
		worker *worker
		first  state
	}
	parts := make([]part, 0, uint64(len(dst))/step+1)
	for left := uint64(len(dst)); left > 0; left -= min(left, step) {
		w, first, err := g.take(ctx, min(left, step))
		if err != nil {
			g.Lessee.current.Load().abandoned.Add(uint64(len(dst)) - left)
			return err
		}
		parts = append(parts, part{w, first})
	}

	for _, p := range parts {
		n := min(uint64(len(dst)), step)
		write(g, dst[:n], p.worker, p.first)
		dst = dst[n:]
	}
	return nil
}

// checkAll rejects a batch of several parts before the first of them if its last ID would be past the layout's end or
// due after the deadline of ctx, even without other calls.
func (g *Generator) checkAll(ctx context.Context, count uint64) error {
	if ctx.Err() != nil {
		return contextError(ctx)
	}

	w := g.Lessee.current.Load()
	now, err := w.read()
	if err != nil {
		return err
	}

	last := w.state.Load()
	if last == frozen { // until the lease has a worker
		return nil
	}

	next := max(last+1, w.floor(now)) + state(count) - 1
	if next > w.last {
		return w.exhausted(w.space.Start(w.tickOf(next)))
	}
	return w.checkDeadline(ctx, g.lead.ticks, now, next)
}

// write sets dst to the IDs of the states of w from first on.
func write[T ~int64](g *Generator, dst []T, w *worker, first state) {
	for len(dst) > 0 {
		n := min(uint64(len(dst)), g.inRow(w, first))
		ascend(dst[:n], T(g.compose(w, g.spread(w, first))), T(g.seqUnit))
		dst = dst[n:]
		first += state(n)
	}
}

// ascend sets dst to id, id+step, id+2*step and so on. It is faster than a loop over the elements because eight
// additions that do not depend on each other run at once, with one check of the bounds.
func ascend[T ~int64](dst []T, id, step T) {
	step2, step3, step4, step5, step6, step7 := 2*step, 3*step, 4*step, 5*step, 6*step, 7*step

	i := 0
	for ; i < len(dst)-7; i += 8 {
		to := (*[8]T)(dst[i:])
		to[0], to[1], to[2], to[3] = id, id+step, id+step2, id+step3
		to[4], to[5], to[6], to[7] = id+step4, id+step5, id+step6, id+step7
		id += 8 * step
	}

	for ; i < len(dst); i++ {
		dst[i] = id
		id += step
	}
}

// Stats is snowflake.Stats.
type Stats struct {
	Issued    uint64
	Waits     uint64
	Waited    time.Duration
	Lead      time.Duration
	Drift     time.Duration
	Steps     uint64
	Remaining time.Duration
}

// Stats is snowflake.Generator.Stats.
func (g *Generator) Stats() Stats {
	if g.Lessee == nil {
		return Stats{}
	}
	w, last, issued := g.Lessee.count()

	s := Stats{
		Issued: issued,
		Waits:  w.waits.Load(),
		Waited: time.Duration(w.waited.Load()),
		Drift:  time.Duration(w.drift.Load()),
		Steps:  w.steps.Load(),
	}

	now := w.now()
	if now >= w.end {
		return s
	}

	if tick, clock := w.tickOf(last), w.tick(now); tick > clock && last != frozen {
		s.Lead = w.span(tick - clock)
	}
	s.Remaining = time.Duration(w.end - now)
	return s
}

// Observe adds an observer of the current worker and all workers of its lease. The zero Generator has no waits.
func (g *Generator) Observe(observe func(Wait)) (stop func()) {
	if g.Lessee == nil {
		return func() {}
	}
	set := &g.Lessee.current.Load().observers
	set.Store(&observe, nil)
	return func() { set.Delete(&observe) }
}
