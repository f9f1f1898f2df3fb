package lease_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

// floored returns a store after a failover, and a function that sets how far ahead its floor is.
func floored(store leasestore.Store) (s *altered, set func(ahead time.Duration)) {
	s = &altered{Store: store}
	return s, func(ahead time.Duration) {
		floor := time.Now().Add(ahead)
		s.granting(func(_ leasestore.Request, g *leasestore.Grant) { g.Floor = floor })
	}
}

func TestOpenRefusesAFloorThatNoRightClockCanHaveSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, setFloor := floored(lease.NewMemory(time.Now))
		for _, ahead := range []time.Duration{24 * time.Hour, 100 * 365 * 24 * time.Hour} { // the latter is beyond the layout
			setFloor(ahead)
			_, err := lease.Open(t.Context(), store, options(t)...)
			if !errors.Is(err, lease.ErrBehindHorizon) || !strings.Contains(err.Error(), "floor after a failover") {
				t.Errorf("Open with a floor ahead by %v: %v", ahead, err)
			}
			if entry(t, store, 0).Held {
				t.Error("the worker was not given back")
			}
		}
		setFloor(lease.MaxWindow + 20*time.Second) // the greatest window, lead and accepted skew
		mustClose(t, mustOpen(t, store))
	})
}

// The clock of a server was a day ahead when that was promoted. Later it is right, and the row of the namespace is
// repaired.
func TestARunningLeaseContinuesWhenItsFloorIsRepaired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory, setFloor := floored(lease.NewMemory(time.Now))
		store := newFaulty(memory)
		var events recorder
		l := mustOpen(t, store, lease.WithObserver(events.hook), lease.WithWorkers(0, 1))
		defer mustClose(t, l)
		mustNext(t, l)
		store.setDown(true)
		time.Sleep(25 * time.Second)
		thief := mustOpen(t, memory, lease.WithWorkers(0, 0))
		defer mustClose(t, thief)
		setFloor(24 * time.Hour)
		store.setDown(false)
		if _, err := l.Generator().Next(); !errors.Is(err, snowflake.ErrLeaseStalled) {
			t.Errorf("below the floor: %v", err)
		}
		events.mu.Lock()
		if err := events.events[len(events.events)-1].Err; !errors.Is(err, lease.ErrBehindHorizon) {
			t.Errorf("the last event has %v, want ErrBehindHorizon", err)
		}
		events.mu.Unlock()
		setFloor(0) // the right time; the store adds no reach here
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
