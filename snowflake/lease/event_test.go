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

// wantCalls checks how many calls of the store there were, and how many of them failed.
func (r *recorder) wantCalls(t *testing.T, call string, n, failed int) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.called {
		if e.Call == call {
			n--
			if e.Err != nil {
				failed--
			}
		}
	}

	if n != 0 || failed != 0 {
		t.Errorf("%s: %d calls less than wanted, %d of them failed", call, n, failed)
	}
}

// wantFigures checks what the lease has counted.
func wantFigures(t *testing.T, what string, l *lease.Lease, acquisitions, takeovers, losses uint64) {
	t.Helper()
	s, want := l.Status(), [3]uint64{acquisitions, takeovers, losses}
	if got := [3]uint64{s.Acquisitions, s.Takeovers, s.Losses}; got != want {
		t.Errorf("%s: acquisitions, takeovers and losses are %v, want %v", what, got, want)
	}
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
		wantFigures(t, "at the start", l, 1, 0, 0)
		time.Sleep(time.Minute)
		extended := store.count("extend") - 1 // Open has made one
		seen.wantCalls(t, "extend", extended, 0)
		seen.wantCalls(t, "acquire", 0, 0)
		stop()
		stop()
		thief := store.robbed(t)
		early.wantCalls(t, "extend", extended, 0) // none after it was stopped
		failures := l.Status().Failures
		seen.wantCalls(t, "extend", extended+failures, failures)
		if failures == 0 {
			t.Error("no extension has failed")
		}

		wantFigures(t, "the thief", thief, 1, 1, 0)
		store.setDown(false)
		time.Sleep(time.Minute)
		seen.wantCalls(t, "acquire", 1, 0)
		wantFigures(t, "after the loss", l, 2, 0, 1)
		mustClose(t, l)
		mustClose(t, thief)
		seen.wantCalls(t, "release", 1, 0)
	})
}
