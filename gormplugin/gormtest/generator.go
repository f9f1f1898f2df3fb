// Package gormtest has a generator of IDs that are the same in every run, for tests that compare whole rows, JSON or
// statements with golden files:
//
//	gen := gormtest.New(time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC))
//	db, err := gorm.Open(dialector, &gorm.Config{NowFunc: gen.Now}, gormplugin.New(gen))
//
// It also sets the time of rows, pins single IDs, and fails on demand, for the paths that a real generator takes once a
// year. Never use it for data that are kept: the next run makes the same IDs again.
package gormtest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/snowflake"
)

// Generator makes IDs of a layout as a function of its settings and of the calls so far, with no clock. The IDs differ
// from each other, save pinned ones, and ascend as long as the time is not set back.
//
// Its methods are safe for concurrent use; which goroutine gets which ID is then up to the scheduler. Make one with [New].
type Generator struct {
	layout snowflake.Layout // these never change
	step   time.Duration
	parts  snowflake.Parts // the worker and other fields of every ID
	err    error           // of the options

	mu     sync.Mutex
	at     time.Time              // of the next ID
	now    time.Time              // of the last one
	next   map[snowflake.ID]int64 // by the first ID of a tick, the sequence that comes next in it
	pinned []snowflake.ID         // to hand out first
	fails  error                  // once left is used up; nil if it does not fail
	left   int
}

var _ gormplugin.Generator = (*Generator)(nil)

// New returns a generator whose first ID has the time start, or that of the tick in which start lies. Without options the
// IDs are of [snowflake.Default] and worker 0, and each is one tick (1 ms) later than the one before. Options that are
// nil are ignored. A start or an option that does not fit the layout is reported by the first call that makes an ID.
func New(start time.Time, opts ...Option) *Generator {
	g := &Generator{layout: snowflake.Default(), step: -1, at: start, now: start, next: make(map[snowflake.ID]int64)}
	for _, opt := range opts {
		if opt != nil {
			opt.apply(g)
		}
	}
	if g.step < 0 {
		g.step = g.layout.Tick()
	}
	return g
}

// Layout returns the layout of the IDs. By it gormplugin.CreatedBetween reads their times.
func (g *Generator) Layout() snowflake.Layout { return g.layout }

// Next returns the next ID. Its errors are those of Fill.
func (g *Generator) Next() (snowflake.ID, error) {
	var ids [1]snowflake.ID
	err := g.Fill(context.Background(), ids[:])
	return ids[0], err
}

// Fill sets every element of dst to the next ID, or returns an error and leaves dst and the generator as they were. It
// never waits.
//
// It returns the error of [Generator.FailAfter] when that is due; ctx.Err() if ctx is done; snowflake.ErrEmptyFill for an
// empty dst; snowflake.ErrBeforeEpoch or snowflake.ErrTimeExhausted for a time outside the layout; and
// snowflake.ErrOption, ErrLayout, ErrUnknownField or ErrFieldRange for options that cannot be right.
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

// one returns an ID of the time that is set, and moves that time on.
func (g *Generator) one() (snowflake.ID, error) {
	for {
		parts := g.parts
		parts.Time = g.at
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

// forget makes the IDs those that come next again.
func (g *Generator) forget(ids []snowflake.ID) {
	for _, id := range ids {
		parts := g.layout.Decompose(id)
		parts.Sequence = 0
		if first, err := g.layout.Compose(parts); err == nil {
			g.next[first]--
		}
	}
}

// SetTime sets the time of the next ID; those after it follow in steps. The time may be set back, for rows that are to be
// older than the ones there are: the IDs still differ from all others, but are smaller than some.
func (g *Generator) SetTime(t time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.at = t
}

// Now returns the time of the last ID in UTC, to the tick, or that of [New] before there is one. As gorm.Config.NowFunc it
// makes the times that GORM sets, such as CreatedAt, the same in every run too.
func (g *Generator) Now() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.now.UTC()
}

// Pin makes ids the next ones, in this order, whatever they are: the key of a row that a golden file knows from elsewhere,
// a key that is there already, or 0, to see what an error does. After them come the IDs that would have come now. IDs that
// are pinned already come first.
func (g *Generator) Pin(ids ...snowflake.ID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pinned = append(slices.Clone(g.pinned), ids...)
}

// FailAfter hands out n more IDs and then fails: the first call that wants more gets err and no ID, as does every call
// after it. With err nil the generator works again.
func (g *Generator) FailAfter(n int, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.fails, g.left = err, n
}
