package lease_test

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/internal/core"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

const probing = 2 * time.Minute // for a state that does not end

// probed asks Ready and then for an ID, which must agree, ten times a second as long as Ready returns the errors, or
// nil without one, and at most for the time of probing. It returns how long that was. Healthy must return nil.
func probed(t *testing.T, l *lease.Lease, want ...error) time.Duration {
	t.Helper()
	for start := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		err := probe(t, l)
		if time.Since(start) >= probing || len(want) == 0 && err != nil {
			return time.Since(start)
		}
		for _, target := range want {
			if !errors.Is(err, target) {
				return time.Since(start)
			}
		}
	}
}

func probe(t *testing.T, l *lease.Lease) error {
	t.Helper()
	synctest.Wait()
	err := l.Ready()
	ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond) // of the bubble: it ends if the call waits
	defer cancel()
	if _, next := l.Generator().NextContext(ctx); (err == nil) != (next == nil) {
		t.Fatalf("Ready: %v; the generator: %v", err, next)
	}
	if err := l.Healthy(); err != nil {
		t.Fatalf("Healthy: %v", err)
	}
	return err
}

func TestReadyMeansThatAnIDCanBeIssuedNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := lease.NewMemory(time.Now)
		floor, setFloor := floored(memory)
		store := newFaulty(floor)
		l := mustOpen(t, store, lease.WithWorkers(0, 0))
		if d := probed(t, l); d < probing {
			t.Fatalf("not ready after %v without a fault", d)
		}
		store.setDown(true)
		if d := probed(t, l); d < 5*time.Second-lease.DefaultWindow/20 || d > 11*time.Second {
			t.Errorf("the store is down: ready for %v, want half a window to a window", d)
		}
		if err := probe(t, l); !errors.Is(err, snowflake.ErrLeaseStalled) || !errors.Is(err, errDown) {
			t.Errorf("the store is down: %v", err)
		}
		time.Sleep(25 * time.Second)
		thief := mustOpen(t, memory, lease.WithWorkers(0, 0))
		store.setDown(false)
		if d := probed(t, l, snowflake.ErrLeaseStalled, errDown); d > lease.DefaultWindow {
			t.Errorf("the store is back, and the error is about its outage after %v", d)
		}
		if d := probed(t, l, snowflake.ErrLeaseStalled, lease.ErrNoWorker); d < probing {
			t.Errorf("all workers are held: %v after %v", l.Ready(), d)
		}
		setFloor(15 * time.Second) // as after a failover
		mustClose(t, thief)
		if d := probed(t, l, snowflake.ErrLeaseStalled, lease.ErrNoWorker); d > lease.DefaultWindow {
			t.Errorf("the worker is free, and %v after %v", l.Ready(), d)
		}
		if d := probed(t, l, lease.ErrBehindHorizon); d == 0 || d > 15*time.Second {
			t.Errorf("before the floor: for %v", d)
		}
		if d := probed(t, l); d < probing {
			t.Errorf("after the floor: not ready after %v: %v", d, l.Ready())
		}
		mustClose(t, l)
		if d := probed(t, l, lease.ErrClosed); d < probing {
			t.Errorf("after Close: %v", l.Ready())
		}
	})
}

func TestHealthyFailsOnlyWhenTheLeaseHasEndedByItself(t *testing.T) {
	for name, test := range map[string]struct {
		closed bool // the store; else the worker is lost
		opts   []lease.Option
		want   error
	}{
		"the store was closed":           {true, nil, os.ErrClosed},
		"the worker is lost":             {false, nil, nil},
		"the worker is lost, StopOnLoss": {false, []lease.Option{lease.WithStopOnLoss()}, lease.ErrLost},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, copyExtends := watched(t)
				l := mustOpen(t, store, append(test.opts, lease.WithWorkers(0, 1))...)
				if err := errors.Join(l.Healthy(), l.Ready()); err != nil {
					t.Fatal(err)
				}
				if test.closed {
					store.extend.set(func(context.Context, leasestore.Claim, int64, time.Duration) (time.Time, error) {
						return time.Time{}, os.ErrClosed
					})
				} else {
					copyExtends()
				}
				time.Sleep(time.Minute)
				if err := l.Healthy(); !errors.Is(err, test.want) {
					t.Errorf("Healthy: %v, want %v", err, test.want)
				}
				if err := l.Ready(); !errors.Is(err, test.want) {
					t.Errorf("Ready: %v, want %v", err, test.want)
				}
				mustClose(t, l)
				if err := l.Healthy(); err != nil {
					t.Errorf("Healthy after Close: %v", err)
				}
				if err := l.Ready(); !errors.Is(err, lease.ErrClosed) {
					t.Errorf("Ready after Close: %v", err)
				}
			})
		})
	}
}

// movableClock differs from that of the bubble by what it is set to.
type movableClock struct{ by *atomic.Int64 }

func (c movableClock) Now() time.Time       { return time.Now().Add(time.Duration(c.by.Load())) }
func (movableClock) Elapsed() time.Duration { return time.Since(clockOrigin) }

func (movableClock) Sleep(ctx context.Context, d time.Duration) error { return core.Sleep(ctx, d) }

// All clocks are set back, or one of the two.
func TestAStepBackStopsIDsForNoLongerThanItIs(t *testing.T) {
	for name, test := range map[string]struct {
		back    time.Duration
		forgets bool // the store
		alone   bool // the process
		stays   bool // the process, and the server is set back alone
		stops   bool
	}{
		"less than a window":                    {back: 7 * time.Second, forgets: true},
		"more than a window":                    {back: 12 * time.Second, forgets: true, stops: true},
		"half a minute":                         {back: 30 * time.Second, forgets: true, stops: true},
		"an hour":                               {back: time.Hour, forgets: true, stops: true},
		"an hour, alone":                        {back: time.Hour, forgets: true, alone: true},
		"half a minute, of the server alone":    {back: 30 * time.Second, forgets: true, stays: true, stops: true},
		"an hour, on a store that can't forget": {back: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var process, server atomic.Int64
				process.Store(int64(test.back))
				server.Store(int64(test.back))
				store := &altered{Store: lease.NewMemory(movableClock{&server}.Now)}
				store.granting(func(_ leasestore.Request, g *leasestore.Grant) { g.Forgets = test.forgets })
				var events recorder
				l := mustOpen(t, store, lease.WithClock(movableClock{&process}), lease.WithObserver(events.hook))
				defer mustClose(t, l)
				probed(t, l)

				if !test.stays {
					process.Store(0)
				}
				if !test.alone {
					server.Store(0)
				}
				before, horizon := mustNext(t, l), l.Status().Horizon
				ready := probed(t, l)
				if h := l.Status().Horizon; test.stops && h.After(horizon) && !test.stays &&
					time.Until(h) > lease.DefaultWindow+time.Second {
					t.Errorf("the horizon was %v, and %v after the step it is %v", horizon, ready, h)
				}
				if stops := ready < probing; stops != test.stops {
					t.Fatalf("ready for %v: %v", ready, l.Ready())
				}
				if !test.stops {
					return
				}

				start := time.Now()
				time.Sleep(lease.DefaultWindow / 8) // the pause between two extensions
				for probe(t, l) != nil && time.Since(start) <= test.back {
					if err := l.Ready(); !errors.Is(err, lease.ErrClockSkew) {
						t.Fatalf("%v after the stop: %v", time.Since(start), err)
					}
					if e := events.last(lease.Stepped); time.Since(start) > lease.DefaultWindow && !errors.Is(e.Err, lease.ErrClockSkew) {
						t.Fatalf("%v after the stop: the event %+v", time.Since(start), e)
					}
					time.Sleep(100 * time.Millisecond)
				}
				t.Logf("stopped after %v for %v", ready, time.Since(start))
				if d := probed(t, l); d < probing {
					t.Errorf("ready for %v after the stop: %v", d, l.Ready())
				}
				if id := mustNext(t, l); id <= before {
					t.Errorf("%d after %d", id, before)
				}
			})
		})
	}
}
