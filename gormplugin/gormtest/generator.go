// Package gormtest has a generator whose IDs are the same in every run, for tests with golden files:
//
//	gen := gormtest.New(snowflake.Default(), time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC), time.Millisecond)
//	db, err := gorm.Open(dialector, &gorm.Config{NowFunc: gen.Now}, gormplugin.New(gen))
//
// It also sets the time of rows, pins single IDs, and fails on demand. Never use it for data that are kept: the next
// run makes the same IDs again.
package gormtest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

// Generator makes IDs of a layout from its settings and the calls so far, without a clock. The IDs are unique, except
// pinned ones, and ascend as long as the time is not set back, unless the layout has the sequence above the time. The
// worker and all other fields are 0. Its methods are safe for concurrent use; the scheduler then decides which
// goroutine gets which ID. Make one with [New].
type Generator struct {
	layout snowflake.Layout
	step   time.Duration

	mu     sync.Mutex
	at     time.Time              // of the next ID
	now    time.Time              // of the last one
	used   map[snowflake.ID]int64 // how many IDs a tick has given, by its first one
	pinned []snowflake.ID         // to issue first
	fails  error                  // once left is used up; nil if it does not fail
	left   int
}

// New returns a generator whose first ID has the tick of the layout that contains start, and whose others each have a
// time one step later. IDs of one tick differ in their sequence; when that is used up, the next tick follows. With step
// 0 all IDs have one time as far as there is room. The first Fill reports a negative step and an invalid layout.
func New(layout snowflake.Layout, start time.Time, step time.Duration) *Generator {
	return &Generator{layout: layout, step: step, at: start, now: start, used: make(map[snowflake.ID]int64)}
}

// Layout returns the layout of the IDs. gormplugin.CreatedBetween needs it.
func (g *Generator) Layout() snowflake.Layout { return g.layout }

// Worker returns 0, the worker of all IDs.
func (g *Generator) Worker() int64 { return 0 }

// Fill sets every element of dst to the next ID, or returns an error and leaves dst and the generator as they were. It
// never waits. Errors are the one of [Generator.FailAfter], ctx.Err(), and in package snowflake ErrEmptyFill,
// ErrBeforeEpoch and ErrTimeExhausted for a time outside the layout, ErrOption for a negative step, and ErrLayout.
func (g *Generator) Fill(ctx context.Context, dst []snowflake.ID) error {
	g.mu.Lock()
	defer g.mu.Unlock()

	if err := g.check(ctx, len(dst)); err != nil {
		return err
	}

	ids := slices.Clone(g.pinned[:min(len(g.pinned), len(dst))])
	pinned, at, used := len(ids), g.at, make(map[snowflake.ID]int64)

	for len(ids) < len(dst) {
		parts := snowflake.Parts{Time: at}
		first, err := g.layout.Compose(parts)
		if err != nil {
			return fmt.Errorf("gormtest: %w", err)
		}

		count := g.used[first] + used[first]
		if first == 0 { // the ID 0 means none
			count++
		}
		if count > g.layout.MaxSequence() {
			at = g.layout.Time(first).Add(g.layout.Tick())
			continue
		}

		parts.Sequence = (g.begin(first) + count) & g.layout.MaxSequence()
		id, _ := g.layout.Compose(parts) // only the sequence differs
		ids = append(ids, id)
		used[first]++
		at = at.Add(g.step)
	}

	copy(dst, ids)
	for first, n := range used {
		g.used[first] += n
	}
	if pinned < len(ids) {
		g.now = g.layout.Time(ids[len(ids)-1])
	}
	g.pinned, g.at, g.left = g.pinned[pinned:], at, g.left-len(dst)
	return nil
}

// check returns an error if n IDs cannot be made.
func (g *Generator) check(ctx context.Context, n int) error {
	switch {
	case g.step < 0:
		return fmt.Errorf("%w: the step is %v, want 0 or more", snowflake.ErrOption, g.step)
	case ctx.Err() != nil:
		return ctx.Err()
	case n == 0:
		return snowflake.ErrEmptyFill
	case g.fails != nil && n > g.left:
		g.left = 0
		return g.fails
	}
	return nil
}

// begin returns the sequence at which the tick of first begins, an ID with the sequence 0. With the sequence above the
// time, ticks in a row begin far from each other. The keys are then in no order of time, as in package snowflake. The
// sequence of the ID 0 is 0.
func (g *Generator) begin(first snowflake.ID) int64 {
	for _, field := range g.layout.Fields() {
		switch field.Name {
		case snowflake.FieldTime:
			return 0
		case snowflake.FieldSequence:
			const golden = 0x9e3779b97f4a7c15 // 2^64 divided by the golden ratio
			return int64(uint64(first) * golden >> (64 - field.Bits))
		}
	}
	return 0 // no layout is without a time
}

// SetTime sets the time of the next ID; those after it follow in steps. t may be before the IDs issued so far, for
// older rows.
func (g *Generator) SetTime(t time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.at = t
}

// Now returns the time of the last ID in UTC, rounded down to the tick. Before the first ID it is the time given to
// [New]. As gorm.Config.NowFunc it makes the times that GORM sets, such as CreatedAt, the same in every run.
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
