package snowflake_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

// fakeClock is a wall clock and a monotonic one that a test sets. Its Sleep lets them run.
type fakeClock struct {
	mu      sync.Mutex
	wall    time.Time
	elapsed time.Duration
	slept   time.Duration
	sleeps  int
	onSleep func() error // called before each sleep, which its error replaces
	onNow   func()       // called before the wall clock is read
}

// errAwake makes a Sleep return at once, without an error and without a look at its context.
var errAwake = errors.New("awake")

func newFakeClock(at time.Time) *fakeClock { return &fakeClock{wall: at, elapsed: time.Hour} }

func (c *fakeClock) Now() time.Time {
	if c.onNow != nil {
		c.onNow()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wall
}

func (c *fakeClock) Elapsed() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.elapsed
}

func (c *fakeClock) Sleep(ctx context.Context, d time.Duration) error {
	if c.onSleep != nil {
		if err := c.onSleep(); errors.Is(err, errAwake) {
			return nil
		} else if err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	c.mu.Lock()
	c.slept += d
	c.sleeps++
	c.mu.Unlock()
	c.Advance(d)
	return nil
}

// Advance lets time pass.
func (c *fakeClock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wall = c.wall.Add(d)
	c.elapsed += d
}

// Step sets the wall clock forward or back, which the monotonic one does not see.
func (c *fakeClock) Step(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wall = c.wall.Add(d)
}

func (c *fakeClock) Slept() (total time.Duration, times int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.slept, c.sleeps
}

var _ snowflake.Clock = (*fakeClock)(nil)

// clocked returns a generator of worker 1 and its clock.
func clocked(tb testing.TB, opts ...snowflake.Option) (*snowflake.Generator, *fakeClock) {
	tb.Helper()
	clock := newFakeClock(epoch2025.Add(time.Hour))
	return mustNew(tb, 1, append(opts, snowflake.WithClock(clock))...), clock
}

func mustNew(tb testing.TB, worker int64, opts ...snowflake.Option) *snowflake.Generator {
	tb.Helper()
	g, err := snowflake.New(worker, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

func fill(tb testing.TB, g *snowflake.Generator, n int) []snowflake.ID {
	tb.Helper()
	ids := make([]snowflake.ID, n)
	if err := g.Fill(tb.Context(), ids); err != nil {
		tb.Fatal(err)
	}
	return ids
}
