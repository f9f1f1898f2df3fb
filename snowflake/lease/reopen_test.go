package lease_test

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
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
	r.life(t, killed{store}, 1)
	horizon := entry(t, store, 5).Horizon
	r.clock.move(time.Second)
	first := r.life(t, store, 1)
	tick, err := snowflake.Default().Field(first, snowflake.FieldTime)
	if err != nil || tick != horizon || r.clock.slept() == 0 {
		t.Errorf("the first tick is %d after %d waits, the horizon was %d: %v", tick, r.clock.slept(), horizon, err)
	}
}

func TestAClaimThatWasNotUsedGivesBackAllOfIt(t *testing.T) {
	store := newFaulty(leasetest.NewMemory(nil))
	r := restarts{clock: &handClock{wall: time.Now()}}
	r.life(t, killed{store}, 1)
	before := entry(t, store, 5)
	// Extended in the store, but the lease never got the reply and never used it.
	store.loseNext("extend", 1000)
	r.clock.move(time.Minute)
	_, err := lease.Open(t.Context(), store, lease.WithWorkers(5, 5), lease.WithWindow(lease.MaxWindow),
		lease.WithMaxSkew(time.Hour), lease.WithLogger(slog.New(slog.DiscardHandler)), lease.WithClock(r.clock))
	if !errors.Is(err, errLostReply) || store.count("extend") < 2 {
		t.Fatalf("Open: %v, %d extensions", err, store.count("extend"))
	}
	if after := entry(t, store, 5); after.Held || after.Horizon != before.Horizon || after.Epoch != before.Epoch+1 {
		t.Errorf("the row was %+v and is now %+v", before, after)
	}
}

// counting records the horizons of the releases.
type counting struct {
	lease.Store
	mu       sync.Mutex
	releases []int64
}

func (s *counting) Release(ctx context.Context, c lease.Claim, horizon int64) error {
	s.mu.Lock()
	s.releases = append(s.releases, horizon)
	s.mu.Unlock()
	return s.Store.Release(ctx, c, horizon)
}

func TestALostLeaseGivesNothingBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := leasetest.NewMemory(time.Now)
		away := newFaulty(memory)
		store := &counting{Store: away}
		l := mustOpen(t, store, lease.WithWorkers(2, 2), lease.WithStopOnLoss())
		mustNext(t, l)
		away.setDown(true)
		time.Sleep(25 * time.Second)
		thief := mustOpen(t, memory, lease.WithWorkers(2, 2))
		defer mustClose(t, thief)
		away.setDown(false)
		time.Sleep(10 * time.Second) // it notices the loss
		mustClose(t, l)
		if len(store.releases) > 0 || l.Status().Held {
			t.Errorf("released to %d, %+v", store.releases, l.Status())
		}
		if e := entry(t, memory, 2); !e.Held || e.Epoch != 2 {
			t.Errorf("%+v", e)
		}
	})
}

// TestCloseAmongCallsGivesBackNothingThatIsIssued closes while many callers draw IDs. Calls that have drawn return
// during Close and after it.
func TestCloseAmongCallsGivesBackNothingThatIsIssued(t *testing.T) {
	store := &counting{Store: leasetest.NewMemory(nil)}
	var last snowflake.ID
	for round := range 150 {
		l, err := lease.Open(t.Context(), store, lease.WithWorkers(5, 5), lease.WithLogger(slog.New(slog.DiscardHandler)))
		if err != nil {
			t.Fatal(err)
		}
		var (
			calls   sync.WaitGroup
			mu      sync.Mutex
			lowest  = snowflake.ID(math.MaxInt64)
			highest snowflake.ID
		)
		for caller := range 12 {
			calls.Go(func() {
				batch := make([]snowflake.ID, []int{1, 1, 100, 5000}[caller%4])
				for {
					if err := l.Generator().Fill(t.Context(), batch); err != nil {
						if !errors.Is(err, lease.ErrClosed) {
							t.Error(err)
						}
						return
					}
					mu.Lock()
					lowest, highest = min(lowest, batch[0]), max(highest, batch[len(batch)-1])
					mu.Unlock()
				}
			})
		}
		time.Sleep(rand.N(3 * time.Millisecond))
		mustClose(t, l)
		calls.Wait()
		if highest == 0 {
			continue
		}
		horizon := store.releases[len(store.releases)-1]
		if tick := l.Generator().Layout().Decompose(highest).Time; !tick.Before(l.Generator().Layout().Start(horizon)) {
			t.Fatalf("round %d: an ID of %v, the worker was given back from %v on", round, tick, l.Generator().Layout().Start(horizon))
		}
		if lowest <= last {
			t.Fatalf("round %d: ID %d after %d of the rounds before", round, lowest, last)
		}
		last = highest
	}
	if last == 0 {
		t.Error("nothing was issued")
	}
}
