package snowflake

import (
	"fmt"
	"time"
)

const (
	// DefaultLead is how far a generator may lead the clock unless WithLead
	// says otherwise.
	DefaultLead = 10 * time.Millisecond

	// MaxLead is the greatest lead; Validate takes IDs for foreign that are
	// further ahead.
	MaxLead = futureTolerance
)

// Option is a setting for New. Options are made by the With functions of this
// package.
type Option interface{ apply(*config) error }

type config struct {
	layout Layout
	clock  Clock
	lead   time.Duration
	pinned []pin
}

type pin struct {
	field string
	value int64
}

type optionFunc func(*config) error

func (f optionFunc) apply(c *config) error { return f(c) }

// WithLayout sets the layout. Defaults to Default().
func WithLayout(l Layout) Option {
	return optionFunc(func(c *config) error {
		if l.IsZero() {
			return layoutError("the zero Layout has no fields")
		}
		c.layout = l
		return nil
	})
}

// WithLead sets how far the time in an ID may be ahead of the clock, 0 to
// MaxLead, counted in whole ticks. Defaults to DefaultLead, 10 ms.
//
// When the sequence of a tick is spent, a generator goes on with the next tick
// at once until it leads by that much, and only then waits: the default serves
// bursts of 45,056 IDs on the Default layout without a pause, and keeps the
// full rate with callers that sleep. With a lead of 0 no ID is ever ahead of
// the clock. Leads below 2.4 ms make callers wait out the last 1.2 ms without
// sleeping, since sleeps are not that exact.
//
// The lead is part of what protects a restart: the first ID of a process lies
// above all that its own lead could have reached. So a process must not have a
// shorter lead than the one before it, and the first generator for a worker must
// have the longest in its process: New returns ErrOption for a longer one.
func WithLead(d time.Duration) Option {
	return optionFunc(func(c *config) error {
		if d < 0 || d > MaxLead {
			return fmt.Errorf("%w: lead %v out of range [0, %v]", ErrOption, d, MaxLead)
		}
		c.lead = d
		return nil
	})
}

// WithClock puts a clock in the place of the system clock, for tests. Such a
// generator shares nothing: two for one worker issue the same IDs if their
// clocks show the same times. It does not compare its waits with the deadlines of
// contexts, which are of another time.
func WithClock(clock Clock) Option {
	return optionFunc(func(c *config) error {
		if clock == nil {
			return fmt.Errorf("%w: nil Clock", ErrOption)
		}
		c.clock = clock
		return nil
	})
}

// WithField pins the value of a field besides time, sequence and worker, for
// every ID of the generator: the datacenter that the process runs in. What is
// pinned identifies the process along with its worker, so With refuses to stamp
// another value. A field that is neither pinned nor stamped is 0.
func WithField(name string, value int64) Option {
	return optionFunc(func(c *config) error {
		for _, p := range c.pinned {
			if p.field == name {
				return fmt.Errorf("%w: field %q pinned twice", ErrOption, name)
			}
		}
		c.pinned = append(c.pinned, pin{name, value})
		return nil
	})
}
