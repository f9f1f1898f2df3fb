package lease_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
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
		memory := leasetest.NewMemory(time.Now)
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
					store.extend.set(func(context.Context, lease.Claim, int64, time.Duration) (time.Time, error) {
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
