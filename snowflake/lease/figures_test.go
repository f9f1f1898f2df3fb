package lease_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

func TestTheFiguresOfALossAreThoseOfItsEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := lease.NewMemory(time.Now)
		store := newFaulty(memory)
		l := mustOpen(t, store, lease.WithWorkers(0, 1))
		var seen, early recorder
		l.Observe(seen.hook)
		l.Observe(nil)()
		stop := l.Observe(early.hook)
		if s := l.Status(); s.Acquisitions != 1 || s.Takeovers != 0 || s.Losses != 0 {
			t.Errorf("at the start: %+v", s)
		}
		time.Sleep(time.Minute)
		extended, failed := seen.calls("extend")
		if acquired, _ := seen.calls("acquire"); extended != store.count("extend")-1 || failed != 0 || acquired != 0 {
			t.Errorf("observed %d extensions, %d errors, %d acquisitions; made %d", extended, failed, acquired, store.count("extend"))
		}
		stop()
		stop()
		store.setDown(true)
		time.Sleep(25 * time.Second)
		if n, bad := early.calls("extend"); n != extended || bad != 0 {
			t.Errorf("an observer that was stopped after %d extensions has seen %d, and %d errors", extended, n, bad)
		}
		failures := l.Status().Failures
		if _, failed := seen.calls("extend"); failed != failures || failures == 0 {
			t.Errorf("observed %d errors, want %d", failed, failures)
		}
		thief := mustOpen(t, memory, lease.WithWorkers(0, 0))
		if s := thief.Status(); s.Acquisitions != 1 || s.Takeovers != 1 {
			t.Errorf("the thief: %+v", s)
		}
		store.setDown(false)
		time.Sleep(time.Minute)
		acquired, _ := seen.calls("acquire")
		if s := l.Status(); s.Acquisitions != 2 || s.Takeovers != 0 || s.Losses != 1 || acquired != 1 {
			t.Errorf("after the loss: %+v, observed %d acquisitions", s, acquired)
		}
		mustClose(t, l)
		mustClose(t, thief)
		if n, bad := seen.calls("release"); n != 1 || bad != 0 {
			t.Errorf("observed %d releases, %d errors", n, bad)
		}
	})
}

func TestWorkersCountsTheHeldOnesOfItsRange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFaulty(lease.NewMemory(time.Now))
		l, other := mustOpen(t, store, lease.WithWorkers(0, 1)), mustOpen(t, store)
		outside, elsewhere := mustOpen(t, store, lease.WithWorkers(3, 3)), mustOpen(t, store, lease.WithNamespace("other"))
		check := func(l *lease.Lease, wantHeld, wantAll int64) {
			t.Helper()
			if held, all, err := l.Workers(t.Context()); held != wantHeld || all != wantAll || err != nil {
				t.Errorf("%d of %d, %v; want %d of %d", held, all, err, wantHeld, wantAll)
			}
		}
		check(l, 2, 2)
		check(other, 3, 4)
		mustClose(t, other)
		check(l, 1, 2)
		check(elsewhere, 1, 4)
		mustClose(t, l)
		mustClose(t, outside)
		mustClose(t, elsewhere)
	})
}
