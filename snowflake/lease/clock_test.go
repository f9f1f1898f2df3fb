package lease_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

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

func TestTheGeneratorsOwnClockWinsInEitherOrderOfTheOptions(t *testing.T) {
	ahead := lease.WithGenerator(snowflake.WithClock(offClock{5 * time.Second}))
	system := lease.WithClock(offClock{0})
	for name, opts := range map[string][]lease.Option{
		"its own first":          {ahead, system},
		"its own last":           {system, ahead},
		"the clock of the lease": {lease.WithClock(offClock{5 * time.Second})},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := mustOpen(t, leasetest.NewMemory(nil), opts...)
			defer mustClose(t, l)

			id, err := l.Generator().Next()
			if ahead := time.Until(l.Generator().Layout().Time(id)); err != nil || ahead < 4*time.Second {
				t.Errorf("%s: an ID %v ahead, %v, want 5 s", name, ahead, err)
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

// A year is what the option allows.
func TestOpenWaitsForAHorizonWithinTheAcceptedSkew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const day = 24 * time.Hour
		store, ahead := &altered{Store: leasetest.NewMemory(time.Now)}, time.Duration(0)
		store.granting(func(r lease.Request, g *lease.Grant) { g.Horizon = r.Tick + ahead.Milliseconds() })
		for _, accepted := range []time.Duration{10 * day, 20 * day, 365 * day} {
			ahead = 2*accepted - day
			mustClose(t, mustOpen(t, store, lease.WithMaxSkew(accepted)))
			ahead = 2*accepted + day
			_, err := lease.Open(t.Context(), store, options(t, lease.WithMaxSkew(accepted))...)
			if !errors.Is(err, lease.ErrBehindHorizon) || !strings.Contains(err.Error(), ahead.String()+", more than") {
				t.Errorf("with a skew of %v, %v behind the horizon: %v", accepted, ahead, err)
			}
		}
	})
}

func TestAStepForwardIsFollowedIfTheStoresClockConfirmsIt(t *testing.T) {
	for name, test := range map[string]struct {
		step     time.Duration
		too      bool // the store's clock
		followed bool
	}{
		"within the accepted skew":      {9 * time.Second, false, true},
		"by more":                       {11 * time.Second, false, false},
		"by a day":                      {24 * time.Hour, false, false},
		"by a day, as the store's does": {24 * time.Hour, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var process, server atomic.Int64
				l := mustOpen(t, leasetest.NewMemory(movableClock{&server}.Now), lease.WithClock(movableClock{&process}))
				defer mustClose(t, l)
				process.Store(int64(test.step))
				if test.too {
					server.Store(int64(test.step))
				}
				time.Sleep(lease.DefaultWindow)
				mustNext(t, l)
				time.Sleep(time.Second)
				id := mustNext(t, l)
				ahead := time.Until(l.Generator().Layout().Time(id))
				if followed := ahead > test.step-time.Second; followed != test.followed || !followed && ahead > time.Second {
					t.Errorf("the IDs are %v ahead", ahead)
				}
			})
		})
	}
}

// The monotonic clock stands still while a machine sleeps, or the wall clock is set back meanwhile.
func TestALeaseMayHaveExpiredByEitherClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &altered{Store: leasetest.NewMemory(time.Now)}
		var slept atomic.Int64
		l := mustOpen(t, store, lease.WithClock(movableClock{&slept}))
		defer mustClose(t, l)
		unexpired := make(chan bool, 1)
		for _, test := range []struct {
			sleep time.Duration
			want  bool
		}{{0, true}, {2 * lease.DefaultWindow, false}} {
			slept.Store(int64(test.sleep))
			store.extending(func(c *lease.Claim) {
				store.extend.Store(nil)
				unexpired <- c.Unexpired()
			})
			if got := <-unexpired; got != test.want {
				t.Errorf("after a sleep of %v: unexpired: %t", test.sleep, got)
			}
		}
	})

	until := time.Now().Add(time.Hour)
	if !(lease.Claim{Until: until}).Unexpired() {
		t.Error("an hour before the time, it is reached")
	}
	(*[3]uint64)(unsafe.Pointer(&until))[0] -= 7200 << 30 // seconds of the wall clock, as if the machine had slept
	if left := time.Until(until); left < time.Minute || (lease.Claim{Until: until}).Unexpired() {
		t.Errorf("%v are left by the monotonic clock, and none by the wall clock: %v", left, until)
	}
}
