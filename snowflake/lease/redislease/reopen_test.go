package redislease_test

import (
	"context"
	"log/slog"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/redislease"
)

// killed is a store whose releases free the worker and lower nothing, like the expiry after a kill.
type killed struct{ lease.Store }

func (s killed) Release(ctx context.Context, c lease.Claim, _ int64) error {
	return s.Store.Release(ctx, c, math.MaxInt64)
}

// handClock is a clock that advances only when it is moved or slept on.
type handClock struct {
	mu     sync.Mutex
	wall   time.Time
	gone   time.Duration
	sleeps int
}

func (c *handClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wall.Add(c.gone)
}

func (c *handClock) Elapsed() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.gone
}

func (c *handClock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sleeps++
	c.gone += d
	return ctx.Err()
}

// life opens and closes a lease of the only worker, and returns its first ID.
func life(t *testing.T, store lease.Store, clock snowflake.Clock) snowflake.ID {
	t.Helper()
	l, err := lease.Open(t.Context(), store, lease.WithWorkers(5, 5), lease.WithWindow(lease.MaxWindow),
		lease.WithLogger(slog.New(slog.DiscardHandler)), lease.WithGenerator(snowflake.WithClock(clock)))
	if err != nil {
		t.Fatal(err)
	}
	id, err := l.Generator().Next()
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return id
}

func TestACleanRestartNeedsNoWaitAndOneAfterAKillDoes(t *testing.T) {
	client, prefix := connect(t)
	store := open(t, client, redislease.WithPrefix(prefix))
	clock := &handClock{wall: time.Now()}
	var last snowflake.ID
	for round := range 50 {
		id := life(t, store, clock)
		if id <= last || clock.sleeps > 0 {
			t.Fatalf("round %d: ID %d after %d, %d waits", round, id, last, clock.sleeps)
		}
		last = id
		clock.gone += time.Millisecond
	}
	life(t, killed{store}, clock)
	entries, err := store.List(t.Context(), lease.DefaultNamespace)
	if err != nil || len(entries) != 1 {
		t.Fatalf("%+v, %v", entries, err)
	}
	clock.gone += time.Second
	tick, err := snowflake.Default().Field(life(t, store, clock), snowflake.FieldTime)
	if err != nil || tick != entries[0].Horizon || clock.sleeps == 0 {
		t.Errorf("after a kill the first tick is %d after %d waits, the horizon was %d: %v", tick, clock.sleeps, entries[0].Horizon, err)
	}
}
