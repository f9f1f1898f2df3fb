package lease_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
)

func TestOpenRefusesClocksThatAreOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, off := range []time.Duration{-11 * time.Second, 11 * time.Second} {
			store := leasetest.NewMemory(func() time.Time { return time.Now().Add(off) })
			_, err := lease.Open(t.Context(), store, options(t)...)
			if !errors.Is(err, lease.ErrClockSkew) || !strings.Contains(err.Error(), "more than 10s") {
				t.Errorf("Open with a store's clock that is off by %v: %v", off, err)
			}
			if e := entry(t, store, 0); e.Held {
				t.Error("the worker was not given back")
			}
			l := mustOpen(t, store, lease.WithMaxSkew(time.Minute))
			if skew := l.Status().Skew; skew != -off {
				t.Errorf("skew %v, want %v", skew, -off)
			}
			mustClose(t, l)
		}
		store := killed(leasetest.NewMemory(nil))
		ahead := mustOpen(t, store, lease.WithWindow(5*time.Minute), lease.WithWorkers(0, 0))
		mustClose(t, ahead)
		_, err := lease.Open(t.Context(), store, options(t, lease.WithWorkers(0, 0))...)
		if !errors.Is(err, lease.ErrBehindHorizon) || !strings.Contains(err.Error(), "more than 30.01s") {
			t.Errorf("Open behind a horizon: %v", err)
		}
	})
}

// A store without a clock has that of the lease.
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
			for kind, store := range map[string]lease.Store{
				"a store": leasetest.NewMemory(time.Now), "a store without a clock": leasetest.NewMemory(nil),
			} {
				clock := offClock{test.off}
				l, err := lease.Open(t.Context(), store, options(t, lease.WithGenerator(snowflake.WithClock(clock)))...)
				if !errors.Is(err, test.want) {
					t.Errorf("Open on %s: %v, want %v", kind, err, test.want)
				}
				if err == nil {
					mustClose(t, l)
				}
				mustClose(t, mustOpen(t, store, lease.WithWorkers(0, 0))) // the wrong clock has left nothing behind
			}
		})
	}
}

// offClock differs from the system clock.
type offClock struct{ by time.Duration }

var clockOrigin = time.Now()

func (c offClock) Now() time.Time       { return time.Now().Add(c.by) }
func (offClock) Elapsed() time.Duration { return time.Since(clockOrigin) }

func (offClock) Sleep(_ context.Context, d time.Duration) error {
	time.Sleep(d)
	return nil
}
