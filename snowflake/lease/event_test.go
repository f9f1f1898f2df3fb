package lease_test

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// recorder keeps the events of a lease.
type recorder struct {
	mu             sync.Mutex
	events, called []lease.Event
}

func (r *recorder) hook(e lease.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.Kind == lease.Called {
		r.called = append(r.called, e)
		return
	}
	r.events = append(r.events, e)
}

// last returns the last event of the kind.
func (r *recorder) last(kind lease.EventKind) (last lease.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if e.Kind == kind {
			last = e
		}
	}
	return last
}

// calls returns how many calls of the store there were, and how many of them failed.
func (r *recorder) calls(call string) (n, failed int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.called {
		if e.Call == call {
			n++
			if e.Err != nil {
				failed++
			}
		}
	}
	return n, failed
}

func (r *recorder) kinds() []lease.EventKind {
	r.mu.Lock()
	defer r.mu.Unlock()
	var kinds []lease.EventKind
	for _, e := range r.events {
		if e.Kind != lease.Extended {
			kinds = append(kinds, e.Kind)
		}
	}
	return kinds
}

// want checks the kinds, of which several in a row count as one.
func (r *recorder) want(t *testing.T, kinds ...lease.EventKind) {
	t.Helper()
	if got := slices.Compact(r.kinds()); !slices.Equal(got, kinds) {
		t.Errorf("events: %v, want %v", got, kinds)
	}
}

func TestEventsWithoutAWorkerNameNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := lease.NewMemory(time.Now)
		mustOpen(t, store, lease.WithWorkers(0, 0))
		var log strings.Builder
		ctx := within(t, 50*time.Millisecond)
		var events atomic.Int32
		_, err := lease.Open(ctx, store, options(t, lease.WithWorkers(0, 0),
			lease.WithLogger(slog.New(slog.NewTextHandler(&log, nil))),
			lease.WithObserver(func(e lease.Event) {
				events.Add(1)
				if e.Worker != -1 || e.Epoch != 0 || !e.Horizon.IsZero() {
					t.Errorf("event %+v", e)
				}
			}))...)
		if !errors.Is(err, lease.ErrNoWorker) || events.Load() == 0 || strings.Contains(log.String(), "worker=") ||
			strings.Contains(log.String(), "horizon=") || strings.Contains(log.String(), "epoch=") {
			t.Errorf("%v, %d events, log: %s", err, events.Load(), log.String())
		}
	})
}

func TestTheFiguresOfALossAreThoseOfItsEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFaulty(lease.NewMemory(time.Now))
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
		thief := store.robbed(t)
		if n, bad := early.calls("extend"); n != extended || bad != 0 {
			t.Errorf("an observer that was stopped after %d extensions has seen %d, and %d errors", extended, n, bad)
		}
		failures := l.Status().Failures
		if _, failed := seen.calls("extend"); failed != failures || failures == 0 {
			t.Errorf("observed %d errors, want %d", failed, failures)
		}
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
