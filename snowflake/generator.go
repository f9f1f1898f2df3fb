package snowflake

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/internal/core"
)

// Generator issues the IDs of one worker. Its methods are safe for concurrent use. Create one with New; the methods of
// the zero Generator and of a nil *Generator return ErrNoGenerator.
//
// # Why no ID is issued twice
//
// All mutable state is one word: the tick and sequence of the last ID taken. A call reads the clock, then the word, and
// replaces it by the greater of "the word plus one" and "the first sequence of the clock's tick", with a
// compare-and-swap. The word only decreases when a call that gives up its wait swaps it back, if no other call has
// moved it since: then no caller has seen those IDs. Therefore:
//
//   - No two calls get the same ID: it belongs to the call whose swap succeeded. A swap that fails is tried again above
//     it.
//   - IDs are in order. If one call returned before another began, its ID is earlier by time and sequence; the swaps
//     are the linearization points (Herlihy and Wing, 1990). Earlier means smaller if the layout has the time first and
//     only the worker below the sequence, as all presets but [Scattered] have. Exceptions: With sets different values,
//     or a lease takes another worker while the time has two parts. With the sequence above the time, the sequences of
//     a tick begin at any number and continue at 0 after the last.
//   - The clock is monotonic, so steps back of the wall clock, corrections by NTP and leap seconds change neither the
//     order of IDs nor the length of a wait. After a step back by more than 10 ms the generator's clock runs 5 ms
//     slower for each second of use until it agrees with the wall clock; Stats reports the drift. It needs half of the
//     lead for that, or without a lead, ticks that are not used. Steps forward are followed within a second of use, for
//     example after a laptop was suspended.
//   - When the sequence of a tick is used up, it carries into the next tick, so the generator leads the clock by at
//     most the lead (WithLead). A call that would lead further takes its ID first and then sleeps until it is due. If
//     waiting calls have already taken the IDs of a second, it waits for its turn. Waiting calls of one lead are served
//     first come, first served, and no lock is held while they sleep. Calls that wait for a lease have no order.
//   - Every limit is checked before the swap.
//   - A new process starts above every ID that a process which ended just before can have issued: its first ID is past
//     clock + lead.
//
// All generators of a process for the same bits of a layout and the same worker share the word, as long as the process
// lives. Generators with WithClock and those created in a testing/synctest bubble do not: two of them issue the same
// IDs.
//
// A fixed worker does not protect against two live processes with the same worker, a restart after the wall clock was
// set back, or a clone of a running virtual machine.
type Generator struct {
	core   core.Generator
	layout Layout
	pinned []pin
}

// New returns a generator for the worker, a number in [0, MaxWorker()] of the layout: Default(), unless WithLayout sets
// another. The worker is not an option because 0 is a worker like any other. No two processes may use the same worker
// at the same time.
//
// New returns ErrFieldRange for a worker or a value of WithField that does not fit, ErrUnknownField for a field of it
// that the layout does not have, ErrLayout for the zero Layout, ErrOption for other invalid options, and ErrBeforeEpoch
// or ErrTimeExhausted if the clock is outside the layout's time. A generator can use the first 292 years of it.
func New(worker int64, opts ...Option) (*Generator, error) {
	g, cfg, err := build(opts)
	if err != nil {
		return nil, err
	}

	if err := g.layout.space.Worker.Check(g.layout.workerLabel(), worker); err != nil {
		return nil, err
	}
	if g.core, err = core.New(cfg, worker); err != nil {
		return nil, err
	}

	return g, nil
}

func init() { core.LeasedGenerator = leasedGenerator }

// leasedGenerator is core.LeasedGenerator.
func leasedGenerator(
	options any, patience time.Duration, trust func(wall time.Time) bool,
) (generator any, lessee *core.Lessee, err error) {
	g, cfg, err := build(options.([]Option))
	if err != nil {
		return nil, nil, err
	}
	if g.core, err = core.NewLeased(cfg, patience, trust); err != nil {
		return nil, nil, err
	}
	return g, g.core.Lessee, nil
}

// build returns a generator without its core, and the configuration of the core.
func build(opts []Option) (*Generator, core.Config, error) {
	cfg := config{layout: Default(), lead: defaultLead}
	for _, opt := range opts {
		if opt == nil {
			return nil, core.Config{}, fmt.Errorf("%w: nil Option", ErrOption)
		}
		if err := opt(&cfg); err != nil {
			return nil, core.Config{}, err
		}
	}

	g := &Generator{layout: cfg.layout, pinned: cfg.pinned}
	for _, p := range cfg.pinned {
		if err := g.set(p.field, p.value); err != nil {
			return nil, core.Config{}, err
		}
	}

	return g, core.Config{
		Space: cfg.layout.space, Clock: cfg.clock, Lead: cfg.lead, Random: cfg.random, Fixed: g.core.Fixed,
		DueError:     func(in time.Duration, err error) error { return &DueError{In: in, err: err} },
		StalledError: func(err, cause error) error { return &StalledError{Cause: cause, err: err} },
	}, nil
}

// With returns a generator that sets the named field of each ID to value and shares everything else with g. Time and
// sequence come from the same word, so no ID of the two is equal, whatever the values. Use it for what an ID stands
// for, such as a type or a region. Use WithField for what distinguishes processes with the same worker, such as a
// datacenter.
//
// It returns ErrUnknownField, ErrFieldRange, and ErrOption for the time, the sequence, the worker and what WithField
// has set: other values may be another process's.
func (g *Generator) With(field string, value int64) (*Generator, error) {
	if g.machine().Lessee == nil {
		return nil, ErrNoGenerator
	}

	for _, p := range g.pinned {
		if p.field == field {
			return nil, fmt.Errorf("%w: field %q is pinned to %d", ErrOption, field, p.value)
		}
	}

	view := *g
	if err := view.set(field, value); err != nil {
		return nil, err
	}
	return &view, nil
}

// set sets a field other than time, sequence and worker.
func (g *Generator) set(field string, value int64) error {
	l := g.layout
	at, ok := l.find(field)
	if !ok {
		return l.unknownField(field)
	}
	if !l.isOther(at) {
		return fmt.Errorf("%w: field %q is set by the generator", ErrOption, field)
	}

	if err := at.Check(field, value); err != nil {
		return err
	}

	g.core.Fixed = g.core.Fixed&^at.Put(at.Max()) | at.Put(value)
	return nil
}

// none is what a nil Generator stands for.
var none core.Generator

// machine returns the core, of the zero Generator if g is nil.
func (g *Generator) machine() *core.Generator {
	if g == nil {
		return &none
	}
	return &g.core
}

// Layout returns the layout of the generator's IDs.
func (g *Generator) Layout() Layout {
	if g == nil {
		return Layout{}
	}
	return g.layout
}

// Worker returns the worker whose IDs the generator issues. It is constant unless the generator has a lease, and -1 if
// there is none: before the lease has got its first worker, and for a nil or zero Generator.
func (g *Generator) Worker() int64 { return g.machine().Worker() }

// Next returns the next ID. When the lead is used up it waits until its ID is due, after the calls that already wait:
// 1 ms for each 4,096 IDs on the Default layout. The first ID of a new generator is due within a tick. Use NextContext
// to limit the wait.
//
// It returns ErrTimeExhausted when no ID is left, ErrBeforeEpoch if the clock is before the epoch, a *StalledError, and
// ErrNoGenerator. It fails as well if the caller and the generator are not of the same testing/synctest bubble.
func (g *Generator) Next() (ID, error) {
	id, err := g.machine().Next()
	return ID(id), err
}

// NextContext is Next with a wait that ends when ctx is done; the error then wraps ctx.Err(). If ctx is done already,
// or its deadline is before the ID would be due, it returns at once and takes no ID. The deadline is compared with the
// system clock, and is not compared under WithClock. The error of a call whose ID was not due yet contains a *DueError.
func (g *Generator) NextContext(ctx context.Context) (ID, error) {
	id, err := g.machine().NextContext(ctx)
	return ID(id), err
}

// MustNext is like Next but panics on an error. It is for callers that cannot return one, such as default functions of
// ORMs.
func (g *Generator) MustNext() ID {
	id, err := g.Next()
	if err != nil {
		panic(err)
	}
	return id
}

// Fill sets every element of dst to a new ID, in the order of issue, which is ascending for most layouts (see
// Generator). It takes all of them at once, at about the cost of a store for each. Of a slice that is longer than what
// a burst may hold (45,056 IDs on the Default layout) it takes one such part after the other, and other calls may take
// IDs in between.
//
// It returns the errors of NextContext, and ErrEmptyFill for a slice without elements. On an error dst is unchanged.
func (g *Generator) Fill(ctx context.Context, dst []ID) error {
	return core.Fill(ctx, g.machine(), dst)
}

// Stats describes what a generator has done and how its clock stands. Generators for the same layout and worker in a
// process share it. Observe reports the length of each wait.
//
// A generator does not say by itself that its layout ends soon, as a lease does in the last two years. A program that
// calls New should report Remaining: the presets resource and manyworkers end in 2033.
type Stats struct {
	Issued uint64        // IDs issued for the worker in this process; less after a call that gave up its wait
	Waits  uint64        // waits for the clock that ended without an error; a long Fill may have several
	Waited time.Duration // the sum of these waits, by the monotonic clock
	Lead   time.Duration // how far the last ID, or the initial bound, is ahead of the clock, in whole ticks
	Drift  time.Duration // wall clock minus the generator's, after the last second of use; below 0 after a step back
	Steps  uint64        // steps forward of the wall clock that were followed

	// Remaining is the time until the last ID: to the layout's End, or to 292 years after its epoch if that is earlier.
	Remaining time.Duration
}

// Stats returns the counters. Issued is exact while no call is running, and includes IDs that running calls wait for.
// The zero Generator returns the zero Stats.
func (g *Generator) Stats() Stats {
	return Stats(g.machine().Stats())
}

// Wait is a wait for IDs, for a histogram. What can be counted is in Stats.
type Wait struct {
	Lease bool          // it waited for a lease: for a worker, or for its horizon to rise; else until its IDs were due
	Took  time.Duration // by the monotonic clock
	Err   error         // that ended it, so it got no IDs; or nil
}

// Observe calls observe from now on after each wait of the generator, of the generators that share its worker in this
// process, and of all generators of its lease. A long Fill may have several waits. A call that gets its IDs, or fails,
// without a wait has none: for example one whose context ends before its IDs would be due.
//
// observe is called by the goroutine that has waited, with no lock held, and by many goroutines at the same time. It
// must return quickly and must not panic. It may call Stats, but should not take IDs of the generator.
//
// stop ends that; calls that are running may still call observe. It may be called several times. A nil observe is never
// called. A nil or zero Generator calls none.
func (g *Generator) Observe(observe func(Wait)) (stop func()) {
	if observe == nil {
		return func() {}
	}
	return g.machine().Observe(func(w core.Wait) { observe(Wait(w)) })
}

// MaxLead is the greatest lead, and how far ahead of the clock Validate accepts IDs: Twitter's first snowflake servers
// refused to start if their clocks were further than 10 s from their peers' (SnowflakeServer.scala, 2010).
const MaxLead = 10 * time.Second

const defaultLead = 10 * time.Millisecond

// Option is a setting for New. The With functions of this package return options.
type Option func(*config) error

type config struct {
	layout Layout
	clock  Clock
	lead   time.Duration
	pinned []pin
	random func(limit uint64) uint64
}

// pin is the value of a field that WithField sets.
type pin struct {
	field string
	value int64
}

// WithLayout sets the layout. Defaults to Default().
func WithLayout(l Layout) Option {
	return func(c *config) error {
		if l.bits == 0 {
			return errZeroLayout
		}
		c.layout = l
		return nil
	}
}

// WithLead sets how far the time of an ID may be ahead of the clock, 0 to MaxLead, rounded down to whole ticks.
// Defaults to 10 ms.
//
// When the sequence of a tick is used up, a generator continues with the next tick until it leads by that much: the
// default serves bursts of 45,056 IDs on the Default layout, and keeps the full rate although a sleep takes longer than
// requested. With a lead below 2.4 ms, calls do not sleep for the last 1.2 ms of a wait but yield the processor.
//
// The lead also protects a restart: the first ID of a process is above all that its own lead can have reached. So a
// process must not have a shorter lead than its predecessor, and the first generator for a worker must have the longest
// in its process: New returns ErrOption for a longer one.
func WithLead(d time.Duration) Option {
	return func(c *config) error {
		if d < 0 || d > MaxLead {
			return fmt.Errorf("%w: lead %v out of range [0, %v]", ErrOption, d, MaxLead)
		}
		c.lead = d
		return nil
	}
}

// WithRandomStart makes a tick begin at a random sequence, if no ID of that tick or a later one has been issued.
// Without it, a generator that issues less than one ID a tick sets nearly all sequences to 0, and shards and samples
// that are chosen by a remainder are uneven.
//
// IDs stay in order. A sequence that is used up carries into the next tick, within the lead, so the rate is the same. A
// batch that needs the whole lead begins at 0. Single calls in a row may have to wait after fewer IDs, by less than a
// tick's: after 40,961 instead of 45,056 on the Default layout. With a lead of 0, calls after the first have only what
// is left of the tick. It does not hide how many rows there are; package publicid does. Layouts with the sequence above
// the time, such as [Scattered], do not need it: each tick begins at another sequence.
func WithRandomStart() Option {
	return func(c *config) error {
		c.random = rand.Uint64N
		return nil
	}
}

// Clock is a generator's source of time. Generators use the system clock unless WithClock sets another one, for tests.
// Its methods must be safe for concurrent use.
type Clock interface {
	// Now returns the wall clock's time, which may step in both directions.
	Now() time.Time

	// Elapsed returns the time since any fixed instant by a monotonic clock. It is called for every ID.
	Elapsed() time.Duration

	// Sleep waits for d, or until ctx is done, and then returns ctx.Err().
	Sleep(ctx context.Context, d time.Duration) error
}

// WithClock replaces the system clock, for tests. The generator shares no state: two of them for one worker issue the
// same IDs. It does not compare waits with the deadlines of contexts.
func WithClock(clock Clock) Option {
	return func(c *config) error {
		if clock == nil {
			return fmt.Errorf("%w: nil Clock", ErrOption)
		}
		c.clock = clock
		return nil
	}
}

// WithField sets a field other than time, sequence and worker for every ID of the generator, such as the datacenter
// that the process runs in. It identifies the process together with the worker, so With refuses to set another value.
// Fields that are not set are 0.
func WithField(name string, value int64) Option {
	return func(c *config) error {
		for _, p := range c.pinned {
			if p.field == name {
				return fmt.Errorf("%w: field %q set twice", ErrOption, name)
			}
		}
		c.pinned = append(c.pinned, pin{name, value})
		return nil
	}
}
