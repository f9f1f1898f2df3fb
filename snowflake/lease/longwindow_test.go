package lease_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
)

// Long windows are for outages. They don't make anybody wait for what is there again.

func TestALeaseWithALongWindowIsSoonBackAfterAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFaulty(leasetest.NewMemory(time.Now))
		l := mustOpen(t, store, lease.WithWindow(lease.MaxWindow))
		store.setDown(true)
		time.Sleep(3 * lease.MaxWindow) // far beyond the horizon
		store.setDown(false)
		start := time.Now()
		if _, err := l.Generator().NextContext(t.Context()); err != nil {
			t.Error(err)
		}
		if waited := time.Since(start); waited > 3*time.Second {
			t.Errorf("the first ID came %v after the store was back", waited)
		}
		mustClose(t, l)
	})
}

func TestOpenWithALongWindowSoonGivesUpOnAStoreThatDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFaulty(leasetest.NewMemory(time.Now))
		store.setDown(true)
		start := time.Now()
		_, err := lease.Open(t.Context(), store, options(t, lease.WithWindow(lease.MaxWindow))...)
		if waited := time.Since(start); !errors.Is(err, errDown) || waited > 15*time.Second {
			t.Errorf("Open: %v after %v", err, waited)
		}
	})
}

func TestAWorkerWithALongWindowIsSoonTakenWhenItIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := leasetest.NewMemory(time.Now)
		only := []lease.Option{lease.WithWindow(lease.MaxWindow), lease.WithWorkers(0, 0)}
		first := mustOpen(t, store, only...)
		var closed time.Time
		time.AfterFunc(time.Minute, func() {
			closed = time.Now()
			mustClose(t, first)
		})
		second := mustOpen(t, store, only...)
		if waited := time.Since(closed); waited > lease.DefaultWindow {
			t.Errorf("the worker was taken %v after it was given back", waited)
		}
		mustClose(t, second)
	})
}
