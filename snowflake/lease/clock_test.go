package lease_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/internal/core"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

func TestOpenRefusesClocksThatAreOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, off := range []time.Duration{-11 * time.Second, 11 * time.Second} {
			store := lease.NewMemory(func() time.Time { return time.Now().Add(off) })
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
		store := killed(lease.NewMemory(nil))
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
			for kind, store := range map[string]leasestore.Store{
				"a store": lease.NewMemory(time.Now), "a store without a clock": lease.NewMemory(nil),
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
			l := mustOpen(t, lease.NewMemory(nil), opts...)
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
		store, ahead := &altered{Store: lease.NewMemory(time.Now)}, time.Duration(0)
		store.granting(func(r leasestore.Request, g *leasestore.Grant) { g.Horizon = r.Tick + ahead.Milliseconds() })
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
				l := mustOpen(t, lease.NewMemory(movableClock{&server}.Now), lease.WithClock(movableClock{&process}))
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

// The monotonic clock stands still while a machine sleeps, and the wall clock is set back.
func TestALeaseMayHaveExpiredByEitherClock(t *testing.T) {
	const passed = int64(2 * lease.DefaultWindow)
	for name, test := range map[string]struct{ wall, elapsed int64 }{
		"the machine sleeps":         {wall: passed},
		"the wall clock is set back": {elapsed: passed},
	} {
		for _, during := range []bool{false, true} { // the call, instead of before it
			t.Run(fmt.Sprintf("%s, during the call: %t", name, during), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					store := &altered{Store: lease.NewMemory(time.Now)}
					var clock twoClocks
					l := mustOpen(t, store, lease.WithClock(&clock))
					defer mustClose(t, l)
					change := func() {
						clock.wall.Store(test.wall)
						clock.elapsed.Store(test.elapsed)
					}

					before, after := make(chan bool, 1), make(chan bool, 1)
					store.extending(func(c *leasestore.Claim) {
						store.extend.Store(nil)
						before <- c.Unexpired()
						change()
						after <- c.Unexpired()
					})
					if !during {
						change()
					}
					if got := <-before; got != during {
						t.Errorf("unexpired when the call begins: %t", got)
					}
					if <-after {
						t.Error("unexpired though a clock has come to the end")
					}
				})
			})
		}
	}
}

// twoClocks are a wall clock and a monotonic one, each ahead of the system's by what it is set to.
type twoClocks struct{ wall, elapsed atomic.Int64 }

func (c *twoClocks) Now() time.Time { return time.Now().Add(time.Duration(c.wall.Load())) }

func (c *twoClocks) Elapsed() time.Duration {
	return time.Since(clockOrigin) + time.Duration(c.elapsed.Load())
}

func (c *twoClocks) Sleep(ctx context.Context, d time.Duration) error { return core.Sleep(ctx, d) }
