package snowflake

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

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
