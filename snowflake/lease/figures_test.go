package lease_test

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
)

// calls counts the calls of the store that events are about, and the errors among them.
type calls struct {
	mu     sync.Mutex
	n, bad map[string]int
}

func newCalls() *calls { return &calls{n: map[string]int{}, bad: map[string]int{}} }

func (c *calls) observe(e lease.Event) {
	if e.Kind != lease.Called {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n[e.Call]++
	if e.Err != nil {
		c.bad[e.Call]++
	}
}

// of returns how many calls there were, and how many of them failed.
func (c *calls) of(call string) (n, bad int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n[call], c.bad[call]
}

func TestTheFiguresOfALossAreThoseOfItsEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := leasetest.NewMemory(time.Now)
		store := newFaulty(memory)
		l := mustOpen(t, store, lease.WithWorkers(0, 1))
		seen := newCalls()
		l.Observe(seen.observe)
		l.Observe(nil)()
		early := newCalls()
		stop := l.Observe(early.observe)
		if s := l.Status(); s.Acquisitions != 1 || s.Takeovers != 0 || s.Losses != 0 {
			t.Errorf("at the start: %+v", s)
		}
		time.Sleep(time.Minute)
		extended, failed := seen.of("extend")
		if acquired, _ := seen.of("acquire"); extended != store.count("extend")-1 || failed != 0 || acquired != 0 {
			t.Errorf("observed %d extensions, %d errors, %d acquisitions; made %d", extended, failed, acquired, store.count("extend"))
		}
		stop()
		stop()
		store.setDown(true)
		time.Sleep(25 * time.Second)
		if n, bad := early.of("extend"); n != extended || bad != 0 {
			t.Errorf("an observer that was stopped after %d extensions has seen %d, and %d errors", extended, n, bad)
		}
		failures := l.Status().Failures
		if _, failed := seen.of("extend"); failed != failures || failures == 0 {
			t.Errorf("observed %d errors, want %d", failed, failures)
		}
		thief := mustOpen(t, memory, lease.WithWorkers(0, 0))
		if s := thief.Status(); s.Acquisitions != 1 || s.Takeovers != 1 {
			t.Errorf("the thief: %+v", s)
		}
		store.setDown(false)
		time.Sleep(time.Minute)
		acquired, _ := seen.of("acquire")
		if s := l.Status(); s.Acquisitions != 2 || s.Takeovers != 0 || s.Losses != 1 || acquired != 1 {
			t.Errorf("after the loss: %+v, observed %d acquisitions", s, acquired)
		}
		mustClose(t, l)
		mustClose(t, thief)
		if n, bad := seen.of("release"); n != 1 || bad != 0 {
			t.Errorf("observed %d releases, %d errors", n, bad)
		}
	})
}

func TestLeftIsTheTimeUntilTheHorizonByTheGeneratorsClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFaulty(leasetest.NewMemory(time.Now))
		l := mustOpen(t, store, lease.WithPatience(0))
		if left := l.Status().Left; left < 10*time.Second || left > 10*time.Second+20*time.Millisecond {
			t.Errorf("at the start: %v, want the window and the lead", left)
		}
		store.setDown(true)
		before := l.Status().Left
		time.Sleep(4 * time.Second)
		if left := l.Status().Left; left != before-4*time.Second {
			t.Errorf("4 s after %v: %v", before, left)
		}
		time.Sleep(before - 4*time.Second - time.Millisecond)
		if _, err := l.Generator().Next(); err != nil || l.Status().Left != time.Millisecond {
			t.Errorf("in the last millisecond: %v, %v left", err, l.Status().Left)
		}
		time.Sleep(time.Second)
		if _, err := l.Generator().Next(); !errors.Is(err, snowflake.ErrLeaseStalled) || l.Status().Left != -999*time.Millisecond {
			t.Errorf("after it: %v, %v left", err, l.Status().Left)
		}
		store.setDown(false)
		time.Sleep(10 * time.Second)
		if left := l.Status().Left; left < time.Second {
			t.Errorf("the store is back: %v", left)
		}
		mustClose(t, l)
		if s := l.Status(); s.Left != 0 || s.Held {
			t.Errorf("closed: %+v", s)
		}
	})
}

func TestWorkersCountsTheHeldOnesOfItsRange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFaulty(leasetest.NewMemory(time.Now))
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
