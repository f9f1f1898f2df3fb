package simulator

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
)

// newSimCase returns a world without events, with the Default layout, the default window and lead, and two hosts.
func newSimCase(tb testing.TB, workers int64) *simWorld {
	tb.Helper()
	return newSimCaseOf(tb, simKind{}, workers)
}

func newSimCaseOf(tb testing.TB, kind simKind, workers int64) *simWorld {
	tb.Helper()
	plan := simPlan{
		layout: snowflake.Default(), workers: workers, hosts: 2, slots: 2,
		window: lease.DefaultWindow, other: lease.DefaultWindow, lead: 10 * time.Millisecond,
	}
	w := newSimWorld(kind, plan, newSimChoices(1, nil))
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Logf("%s\n%s", w.violation, &w.trace)
		}
	})
	return w
}

func TestQuickRestartsDoNotMoveTheHorizonFurtherAhead(t *testing.T) {
	w := newSimCase(t, 1)
	for i := range 10 {
		p := w.start(w.hosts[0])
		p.step()
		if !p.opened {
			t.Fatalf("start %d was refused", i+1)
		}
		if i%2 == 0 {
			p.close()
			continue
		}
		p.crash()
		w.advance(2 * w.plan.window)
	}
	limit := w.tick(w.now) + w.ticks(w.plan.window+w.plan.lead)
	if horizon := w.ledger.rows[0].horizon; horizon > limit {
		t.Errorf("the horizon is %d, more than a window and the lead ahead: %d", horizon, limit)
	}
}

func TestAWaitReadsTheWallClockAtLeastOnceASecond(t *testing.T) {
	w := newSimCase(t, 1)
	p := w.start(w.hosts[0])
	p.step()
	w.suspend(w.hosts[0], 10*time.Hour) // its monotonic clock stands still
	other := w.start(w.hosts[1])
	other.step()
	other.close()
	p.step() // lost
	p.step() // has another worker, whose horizon is 10 hours ahead of its clock
	if !p.State().Held {
		t.Fatal("no worker")
	}
	p.call()
	// Within a second of use the wall clock is followed.
	if w.longest > 2*time.Second {
		t.Errorf("a call waits %v in one piece", w.longest)
	}
}

func TestCloseReplacesTheErrorOfAFailure(t *testing.T) {
	g, l, err := snowflake.NewLeased(0, nil)
	if err != nil {
		t.Fatal(err)
	}
	l.Fail(lease.ErrLost)
	l.Close(lease.ErrClosed)
	if _, err := g.Next(); !errors.Is(err, lease.ErrClosed) {
		t.Errorf("Next after Fail and Close: %v", err)
	}
}

// failsOnce is a store whose first Acquire fails.
type failsOnce struct {
	lease.Store
	failed bool
}

func (s *failsOnce) Acquire(ctx context.Context, r lease.Request) (lease.Grant, error) {
	if !s.failed {
		s.failed = true
		return lease.Grant{}, errors.New("no connection")
	}
	return s.Store.Acquire(ctx, r)
}

func TestOpenWaitsForAWorkerAlsoAfterAFailedCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := leasetest.NewMemory(nil)
		layout := snowflake.MustLayout(time.Now(), time.Millisecond,
			snowflake.Field{Name: "time", Bits: 41}, snowflake.Field{Name: "worker", Bits: 10}, snowflake.Field{Name: "sequence", Bits: 12})
		held := lease.Request{
			Namespace: lease.DefaultNamespace, Layout: layout.String(),
			Token: "00000000000000000000000000000001", TTL: time.Hour,
		}
		if _, err := store.Acquire(t.Context(), held); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour)
		defer cancel()
		l, err := lease.Open(ctx, &failsOnce{Store: store}, lease.WithWorkers(0, 0),
			lease.WithGenerator(snowflake.WithLayout(layout)))
		if err != nil {
			t.Fatalf("Open did not wait: %v", err)
		}
		if err := l.Close(ctx); err != nil {
			t.Error(err)
		}
	})
}
