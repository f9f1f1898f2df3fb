// Package gormtest has a generator whose IDs are the same in every run, for tests that compare rows, JSON or statements
// with golden files:
//
//	gen := gormtest.New(time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC))
//	db, err := gorm.Open(dialector, &gorm.Config{NowFunc: gen.Now}, gormplugin.New(gen))
//
// It also sets the time of rows, pins single IDs, and fails on demand. Never use it for data that are kept: the next
// run makes the same IDs again.
package gormtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/snowflake"
)

// Generator makes IDs of a layout from its settings and the calls so far, without a clock. The IDs are unique, except
// pinned ones, and ascend as long as the time is not set back. The worker and all other fields are 0. Its methods are
// safe for concurrent use; the scheduler then decides which goroutine gets which ID. Make one with [New].
type Generator struct {
	layout snowflake.Layout // these never change
	step   time.Duration
	err    error // of the options

	mu     sync.Mutex
	at     time.Time              // of the next ID
	now    time.Time              // of the last one
	next   map[snowflake.ID]int64 // by the first ID of a tick, the sequence that comes next in it
	pinned []snowflake.ID         // to issue first
	fails  error                  // once left is used up; nil if it does not fail
	left   int
}

var _ gormplugin.Generator = (*Generator)(nil)

// Option changes what [New] returns. The functions of this package are the only way to make one.
type Option interface{ apply(g *Generator) error }

type optionFunc func(g *Generator) error

func (f optionFunc) apply(g *Generator) error { return f(g) }

// WithLayout makes IDs of the layout l instead of snowflake.Default().
func WithLayout(l snowflake.Layout) Option {
	return optionFunc(func(g *Generator) error {
		g.layout = l
		return nil
	})
}

// WithStep makes each ID d later than the one before, instead of one tick. IDs of one tick differ in their sequence;
// when that is used up, the next tick follows. With 0 all IDs have one time as far as there is room. A negative d is
// snowflake.ErrOption.
func WithStep(d time.Duration) Option {
	return optionFunc(func(g *Generator) error {
		if d < 0 {
			return fmt.Errorf("%w: the step is %v, want 0 or more", snowflake.ErrOption, d)
		}
		g.step = d
		return nil
	})
}

// New returns a generator whose first ID has the tick that contains start. By default the IDs are of
// [snowflake.Default], each one tick (1 ms) after the one before. The first Fill reports a start that does not fit the
// layout, and invalid options.
func New(start time.Time, opts ...Option) *Generator {
	g := &Generator{layout: snowflake.Default(), step: -1, at: start, now: start, next: make(map[snowflake.ID]int64)}
	for i, opt := range opts {
		err := fmt.Errorf("%w: option %d is nil", snowflake.ErrOption, i)
		if opt != nil {
			err = opt.apply(g)
		}
		g.err = errors.Join(g.err, err)
	}
	if g.step < 0 {
		g.step = g.layout.Tick()
	}
	return g
}

// Layout returns the layout of the IDs. gormplugin.CreatedBetween needs it.
func (g *Generator) Layout() snowflake.Layout { return g.layout }

// Fill sets every element of dst to the next ID, or returns an error and leaves dst and the generator as they were. It
// never waits. Errors are that of [Generator.FailAfter]; ctx.Err(); snowflake.ErrEmptyFill for an empty dst;
// snowflake.ErrBeforeEpoch or ErrTimeExhausted for a time outside the layout; and snowflake.ErrOption or ErrLayout for
// invalid options.
func (g *Generator) Fill(ctx context.Context, dst []snowflake.ID) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.err != nil:
		return g.err
	case ctx.Err() != nil:
		return ctx.Err()
	case len(dst) == 0:
		return snowflake.ErrEmptyFill
	case g.fails != nil && len(dst) > g.left:
		g.left = 0
		return g.fails
	}
	ids := slices.Clone(g.pinned[:min(len(g.pinned), len(dst))])
	pinned, at := len(ids), g.at
	for len(ids) < len(dst) {
		id, err := g.one()
		if err != nil {
			g.at = at
			g.forget(ids[pinned:])
			return fmt.Errorf("gormtest: %w", err)
		}
		ids = append(ids, id)
	}
	copy(dst, ids)
	g.pinned = g.pinned[pinned:]
	g.left -= len(dst)
	if pinned < len(ids) {
		g.now = g.layout.Time(ids[len(ids)-1])
	}
	return nil
}

// one returns an ID of the time that is set, and advances that time.
func (g *Generator) one() (snowflake.ID, error) {
	for {
		parts := snowflake.Parts{Time: g.at}
		first, err := g.layout.Compose(parts)
		if err != nil {
			return 0, err
		}
		parts.Sequence = g.next[first]
		if first == 0 && parts.Sequence == 0 {
			parts.Sequence = 1 // the ID 0 means none
		}
		if parts.Sequence > g.layout.MaxSequence() {
			g.at = g.layout.Time(first).Add(g.layout.Tick())
			continue
		}
		id, err := g.layout.Compose(parts)
		if err != nil {
			return 0, err
		}
		g.next[first] = parts.Sequence + 1
		g.at = g.at.Add(g.step)
		return id, nil
	}
}

// forget makes the IDs come next again.
func (g *Generator) forget(ids []snowflake.ID) {
	for _, id := range ids {
		parts := g.layout.Decompose(id)
		parts.Sequence = 0
		if first, err := g.layout.Compose(parts); err == nil {
			g.next[first]--
		}
	}
}

// SetTime sets the time of the next ID; those after it follow in steps. The time may be set back, for rows older than
// existing ones: the IDs are still unique, but smaller than some.
func (g *Generator) SetTime(t time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.at = t
}

// Now returns the time of the last ID in UTC, rounded down to the tick, or that of [New] before the first ID. As
// gorm.Config.NowFunc it makes the times that GORM sets, such as CreatedAt, the same in every run.
func (g *Generator) Now() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.now.UTC()
}

// Pin makes ids the next ones, in this order and after those already pinned: the key of a row in a golden file, an
// existing key, or 0, to test an error. Then come the IDs that would have come now.
func (g *Generator) Pin(ids ...snowflake.ID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pinned = append(slices.Clone(g.pinned), ids...)
}

// FailAfter issues n more IDs and then fails: the first call that wants more gets err and no ID, as does every call
// after it. With err nil the generator works again.
func (g *Generator) FailAfter(n int, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.fails, g.left = err, n
}
