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
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
)

// recorder keeps the events of a lease.
type recorder struct {
	mu     sync.Mutex
	events []lease.Event
}

func (r *recorder) hook(e lease.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.Kind != lease.Called {
		r.events = append(r.events, e)
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

func TestEventsWithoutAWorkerNameNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := leasetest.NewMemory(time.Now)
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

func TestEventsAfterALossNameNoWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := leasetest.NewMemory(time.Now)
		store := newFaulty(memory)
		var events recorder
		l := mustOpen(t, store, lease.WithWorkers(0, 0), lease.WithObserver(events.hook))
		store.setDown(true)
		time.Sleep(25 * time.Second)
		thief := mustOpen(t, memory, lease.WithWorkers(0, 0))
		store.setDown(false)
		time.Sleep(20 * time.Second)
		mustClose(t, l)
		mustClose(t, thief)
		last := events.events[len(events.events)-1]
		lost := events.events[len(events.events)-2]
		if lost.Kind != lease.Lost || lost.Worker != 0 || lost.Epoch != 1 || last.Kind != lease.Failed || last.Worker != -1 {
			t.Errorf("the last events are %+v and %+v", lost, last)
		}
	})
}

// warning is a store that lacks a right.
type warning struct{ lease.Store }

func (s warning) Acquire(ctx context.Context, r lease.Request) (lease.Grant, error) {
	grant, err := s.Store.Acquire(ctx, r)
	grant.Warning = errors.New("no right to ask")
	return grant, err
}

func TestTheWarningOfAGrantIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, warned := range []bool{false, true} {
			store := leasetest.NewMemory(time.Now)
			if warned {
				store = warning{store}
			}
			var log strings.Builder
			var events recorder
			mustClose(t, mustOpen(t, store, lease.WithObserver(events.hook), lease.WithLogger(slog.New(slog.NewTextHandler(&log, nil)))))
			if kinds := events.kinds(); len(kinds) != 2 || kinds[0] != lease.Acquired || warned != (events.events[0].Err != nil) {
				t.Errorf("events %+v", events.events)
			}
			if warned != strings.Contains(log.String(), "level=WARN") || warned != strings.Contains(log.String(), "no right to ask") {
				t.Errorf("log: %s", log.String())
			}
		}
	})
}
