package lease_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/filelease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
)

func TestCloseWithAnEndedContextGivesTheWorkerBack(t *testing.T) {
	store, err := filelease.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	l := mustOpen(t, store, lease.WithWorkers(0, 0), lease.WithWindow(50*time.Millisecond))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Close(ended); err != nil {
		t.Errorf("Close: %v", err)
	}
	if e := entry(t, store, 0); e.Held {
		t.Errorf("after Close the worker is held: %+v", e)
	}
	if err := l.Close(ended); err != nil {
		t.Errorf("the second Close: %v", err)
	}
}

func TestCloseCanBeRepeatedAfterAFailureAndTellsTheTruth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := leasetest.NewMemory(time.Now)
		store := &stuckStore{Store: memory, block: make(chan struct{})}
		l := mustOpen(t, store)
		last := mustNext(t, l)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		for range 20 {
			start := time.Now()
			err := l.Close(ended)
			if !errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(err.Error(), "lease: release worker 0") ||
				time.Since(start) != time.Second {
				t.Fatalf("Close: %v after %v, want the store's error after a second", err, time.Since(start))
			}
		}
		close(store.block)
		mustClose(t, l)
		tick := l.Generator().Layout().Decompose(last).Time
		if e := entry(t, memory, 0); e.Held || !l.Generator().Layout().Start(e.Horizon).Equal(tick.Add(time.Millisecond)) {
			t.Errorf("after Close: %+v, the last ID is of %v", e, tick)
		}
	})
}

func TestCloseAfterALostReplyAndATakeoverIsNoError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := leasetest.NewMemory(time.Now)
		store := newFaulty(memory)
		l := mustOpen(t, store, lease.WithWorkers(0, 0))
		store.loseNext("release", 1)
		if err := l.Close(t.Context()); !errors.Is(err, errLostReply) {
			t.Errorf("the first Close: %v", err)
		}
		next := mustOpen(t, memory, lease.WithWorkers(0, 0))
		defer mustClose(t, next)
		mustClose(t, l)
		mustClose(t, l)
		if n := store.count("release"); n != 2 || l.Status().Held {
			t.Errorf("%d releases, %+v", n, l.Status())
		}
	})
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
			lease.WithHook(func(e lease.Event) {
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
		l := mustOpen(t, store, lease.WithWorkers(0, 0), lease.WithHook(events.hook))
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

func TestTheGeneratorsOwnClockIsComparedWithTheStores(t *testing.T) {
	for name, test := range map[string]struct {
		off  time.Duration
		want error
	}{
		"a day ahead":         {24 * time.Hour, lease.ErrClockSkew},
		"a day behind":        {-24 * time.Hour, lease.ErrClockSkew},
		"within the limit":    {9 * time.Second, nil},
		"beyond the limit":    {11 * time.Second, lease.ErrClockSkew},
		"behind by the limit": {-9 * time.Second, nil},
	} {
		t.Run(name, func(t *testing.T) {
			clock := &handClock{wall: time.Now().Add(test.off)}
			l, err := lease.Open(t.Context(), leasetest.NewMemory(time.Now), options(t, lease.WithGenerator(snowflake.WithClock(clock)))...)
			if !errors.Is(err, test.want) {
				t.Errorf("Open: %v, want %v", err, test.want)
			}
			if err == nil {
				mustClose(t, l)
			}
		})
	}
}

func TestOpenReturnsAFinalErrorOfAnExtensionAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		_, err := lease.Open(t.Context(), refusing{leasetest.NewMemory(time.Now)}, options(t)...)
		if !errors.Is(err, lease.ErrOption) || time.Since(start) > 0 {
			t.Errorf("Open: %v after %v", err, time.Since(start))
		}
	})
}

// refusing is a store that can't be used, which only an extension shows.
type refusing struct{ lease.Store }

func (refusing) Extend(context.Context, lease.Claim, int64, time.Duration) (time.Time, error) {
	return time.Time{}, lease.ErrOption
}
