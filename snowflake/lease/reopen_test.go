package lease_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
)

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

func (c *handClock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone += d
}

func (c *handClock) slept() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sleeps
}

// restarts are lives of a process that alone has worker 5, with a window of ten minutes.
type restarts struct {
	clock *handClock
	last  snowflake.ID
}

// life opens the lease, draws IDs and closes it. It returns the first ID, which must be above all of the earlier lives.
func (r *restarts) life(t *testing.T, store lease.Store, ids int) snowflake.ID {
	t.Helper()
	l, err := lease.Open(t.Context(), store, lease.WithWorkers(5, 5), lease.WithWindow(lease.MaxWindow),
		lease.WithMaxSkew(time.Hour), lease.WithLogger(slog.New(slog.DiscardHandler)),
		lease.WithGenerator(snowflake.WithClock(r.clock))) // which leaves the system clock behind
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, l)
	batch := make([]snowflake.ID, ids)
	if err := l.Generator().Fill(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	for _, id := range batch {
		if id <= r.last {
			t.Fatalf("ID %d after %d", id, r.last)
		}
		r.last = id
	}
	return batch[0]
}

func TestACleanRestartOfTheOnlyOwnerNeedsNoWait(t *testing.T) {
	store, r := leasetest.NewMemory(nil), restarts{clock: &handClock{wall: time.Now()}}
	for round := range 50 {
		r.life(t, store, 1+round%7*1000) // up to two ticks
		if n := r.clock.slept(); n > 0 {
			t.Fatalf("round %d: %d waits", round+1, n)
		}
		r.clock.move(2 * time.Millisecond) // as many ticks as it may use
	}
}

func TestARestartAfterAKillWaitsForTheOldHorizon(t *testing.T) {
	store, r := leasetest.NewMemory(nil), restarts{clock: &handClock{wall: time.Now()}}
	r.life(t, killed(store), 1)
	horizon := entry(t, store, 5).Horizon
	r.clock.move(time.Second)
	first := r.life(t, store, 1)
	tick, err := snowflake.Default().Field(first, snowflake.FieldTime)
	if err != nil || tick != horizon || r.clock.slept() == 0 {
		t.Errorf("the first tick is %d after %d waits, the horizon was %d: %v", tick, r.clock.slept(), horizon, err)
	}
}
