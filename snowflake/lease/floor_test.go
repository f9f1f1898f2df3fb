package lease_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
)

// floored is a store after a failover.
type floored struct {
	lease.Store
	floor *atomic.Pointer[time.Time] // nil: there was none
}

func (s floored) Acquire(ctx context.Context, r lease.Request) (lease.Grant, error) {
	grant, err := s.Store.Acquire(ctx, r)
	if floor := s.floor.Load(); err == nil && floor != nil {
		grant.Floor = *floor
	}
	return grant, err
}

func (s floored) set(ahead time.Duration) {
	floor := time.Now().Add(ahead)
	s.floor.Store(&floor)
}

func TestOpenRefusesAFloorThatNoRightClockCanHaveSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := floored{leasetest.NewMemory(time.Now), new(atomic.Pointer[time.Time])}
		for _, ahead := range []time.Duration{24 * time.Hour, 100 * 365 * 24 * time.Hour} { // the latter is beyond the layout
			store.set(ahead)
			_, err := lease.Open(t.Context(), store, options(t)...)
			if !errors.Is(err, lease.ErrBehindHorizon) || !strings.Contains(err.Error(), "floor after a failover") {
				t.Errorf("Open with a floor ahead by %v: %v", ahead, err)
			}
			if entry(t, store, 0).Held {
				t.Error("the worker was not given back")
			}
		}
		store.set(lease.MaxWindow + 20*time.Second) // the greatest window, lead and accepted skew
		mustClose(t, mustOpen(t, store))
	})
}

// The clock of a server was a day ahead when that was promoted. Later it is right, and the row of the namespace is
// repaired.
func TestARunningLeaseContinuesWhenItsFloorIsRepaired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := floored{leasetest.NewMemory(time.Now), new(atomic.Pointer[time.Time])}
		store := newFaulty(memory)
		var events recorder
		l := mustOpen(t, store, lease.WithObserver(events.hook), lease.WithWorkers(0, 1))
		defer mustClose(t, l)
		mustNext(t, l)
		store.setDown(true)
		time.Sleep(25 * time.Second)
		thief := mustOpen(t, memory, lease.WithWorkers(0, 0))
		defer mustClose(t, thief)
		memory.set(24 * time.Hour)
		store.setDown(false)
		if _, err := l.Generator().Next(); !errors.Is(err, snowflake.ErrLeaseStalled) {
			t.Errorf("below the floor: %v", err)
		}
		events.mu.Lock()
		if err := events.events[len(events.events)-1].Err; !errors.Is(err, lease.ErrBehindHorizon) {
			t.Errorf("the last event has %v, want ErrBehindHorizon", err)
		}
		events.mu.Unlock()
		memory.set(0) // the right time; the store adds no reach here
		if _, err := l.Generator().Next(); err != nil {
			t.Errorf("after the repair: %v", err)
		}
		synctest.Wait()
		kinds := slices.Compact(events.kinds())
		if !slices.Equal(kinds, []lease.EventKind{lease.Acquired, lease.Failed, lease.Lost, lease.Failed, lease.Acquired}) {
			t.Errorf("events: %v", kinds)
		}
	})
}
