package lease_test

import (
	"context"
	"errors"
	"log/slog"
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

func TestEventsWithoutAWorkerNameNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := lease.NewMemory(time.Now)
		holder := mustOpen(t, store, lease.WithWorkers(0, 0))
		var log strings.Builder
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
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
		mustClose(t, holder)
	})
}
