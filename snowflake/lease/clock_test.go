package lease_test

import (
	"context"
	"errors"
	"fmt"
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
			wantErr(t, fmt.Sprint("a store's clock off by ", off), openErr(t, store), lease.ErrClockSkew, "more than 10s")
			wantFree(t, store, 0)
			l := mustOpen(t, store, lease.WithMaxSkew(time.Minute))
			if skew := l.Status().Skew; skew != -off {
				t.Errorf("skew %v, want %v", skew, -off)
			}
			mustClose(t, l)
		}

		store := killed(lease.NewMemory(nil))
		ahead := mustOpen(t, store, lease.WithWindow(5*time.Minute), lease.WithWorkers(0, 0))
		mustClose(t, ahead)
		err := openErr(t, store, lease.WithWorkers(0, 0))
		wantErr(t, "Open behind a horizon", err, lease.ErrBehindHorizon, "more than 30.01s")
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
				own := lease.WithGenerator(snowflake.WithClock(clockOff(test.off)))
				wantErr(t, "Open on "+kind, openErr(t, store, own), test.want)
				mustClose(t, mustOpen(t, store, lease.WithWorkers(0, 0))) // the wrong clock has left nothing behind
			}
		})
	}
}

func TestTheGeneratorsOwnClockWinsInEitherOrderOfTheOptions(t *testing.T) {
	ahead := lease.WithGenerator(snowflake.WithClock(clockOff(5 * time.Second)))
	system := lease.WithClock(clockOff(0))
	for name, opts := range map[string][]lease.Option{
		"its own first":          {ahead, system},
		"its own last":           {system, ahead},
		"the clock of the lease": {lease.WithClock(clockOff(5 * time.Second))},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := mustOpen(t, lease.NewMemory(nil), opts...)

			ahead := time.Until(l.Generator().Layout().Time(mustNext(t, l)))
			if ahead < 4*time.Second {
				t.Errorf("%s: an ID %v ahead, want 5 s", name, ahead)
			}
		})
	}
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
			err := openErr(t, store, lease.WithMaxSkew(accepted))
			wantErr(t, fmt.Sprint("a skew of ", accepted), err, lease.ErrBehindHorizon, ahead.String()+", more than")
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
				var process, server setClock
				l := mustOpen(t, lease.NewMemory(server.Now), lease.WithClock(&process))
				process.wall.Store(int64(test.step))
				if test.too {
					server.wall.Store(int64(test.step))
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
					var clock setClock
					mustOpen(t, store, lease.WithClock(&clock))
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

// setClock is a wall clock and a monotonic one, each ahead of the system's by what it is set to.
type setClock struct{ wall, elapsed atomic.Int64 }

// clockOff returns a clock whose wall time is ahead.
func clockOff(by time.Duration) *setClock {
	c := &setClock{}
	c.wall.Store(int64(by))
	return c
}

var clockOrigin = time.Now()

func (c *setClock) Now() time.Time { return time.Now().Add(time.Duration(c.wall.Load())) }

func (c *setClock) Elapsed() time.Duration {
	return time.Since(clockOrigin) + time.Duration(c.elapsed.Load())
}

func (c *setClock) Sleep(ctx context.Context, d time.Duration) error { return core.Sleep(ctx, d) }

// floored returns a store after a failover, and a function that sets how far ahead its floor is.
func floored(store leasestore.Store) (s *altered, set func(ahead time.Duration)) {
	s = &altered{Store: store}
	return s, func(ahead time.Duration) {
		floor := time.Now().Add(ahead)
		s.granting(func(_ leasestore.Request, g *leasestore.Grant) { g.Floor = floor })
	}
}

func TestOpenRefusesAFloorThatNoRightClockCanHaveSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, setFloor := floored(lease.NewMemory(time.Now))
		for _, ahead := range []time.Duration{24 * time.Hour, 100 * 365 * 24 * time.Hour} { // the latter is beyond the layout
			setFloor(ahead)
			wantErr(t, "Open", openErr(t, store), lease.ErrBehindHorizon, "floor after a failover")
			wantFree(t, store, 0)
		}
		setFloor(lease.MaxWindow + 20*time.Second) // the greatest window, lead and accepted skew
		mustClose(t, mustOpen(t, store))
	})
}

// The clock of a server was a day ahead when that was promoted. Later it is right, and the row of the namespace is
// repaired.
func TestARunningLeaseContinuesWhenItsFloorIsRepaired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory, setFloor := floored(lease.NewMemory(time.Now))
		store := newFaulty(memory)
		var events recorder
		l := mustOpen(t, store, lease.WithObserver(events.hook), lease.WithWorkers(0, 1))
		mustNext(t, l)
		store.robbed(t)
		setFloor(24 * time.Hour)
		store.setDown(false)
		wantErr(t, "below the floor", errOf(l.Generator().Next()), snowflake.ErrLeaseStalled)
		wantErr(t, "the last event", events.last(lease.Failed).Err, lease.ErrBehindHorizon)
		setFloor(0)    // the right time; the store adds no reach here
		mustNext(t, l) // after the repair
		synctest.Wait()
		events.want(t, lease.Acquired, lease.Failed, lease.Lost, lease.Failed, lease.Acquired)
	})
}

// known returns a store whose namespace knows a window, and allows no greater reach for an hour.
func known(t *testing.T, window time.Duration, more ...lease.Option) *altered {
	t.Helper()
	store := &altered{Store: lease.NewMemory(time.Now)}
	var limit time.Duration
	var until time.Time
	store.extend.set(func(ctx context.Context, c leasestore.Claim, horizon int64, ttl time.Duration) (time.Time, error) {
		if until.IsZero() {
			limit = c.Reach
		} else if c.Reach > limit && time.Now().Before(until) {
			return time.Time{}, &lease.ReachError{Reach: c.Reach, Limit: limit, Wait: time.Until(until)}
		}
		return store.Store.Extend(ctx, c, horizon, ttl)
	})

	mustClose(t, mustOpen(t, store, append(more, lease.WithWindow(window))...))
	until = time.Now().Add(time.Hour)
	return &altered{Store: store}
}

func TestAWindowIsShortenedUntilTheNamespaceAllowsIt(t *testing.T) {
	seconds, err := snowflake.ParseLayout("epoch=1999-01-01T00:00:00Z tick=1s time:32 worker:4 sequence:12")
	must(t, err)
	for name, c := range map[string]struct {
		layout snowflake.Layout
		first  time.Duration
	}{
		"a fine tick":                           {four(t), 10 * time.Second},
		"a window of one coarse tick":           {seconds, time.Second},
		"a window of one and a half such ticks": {seconds, 1500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				layout := lease.WithGenerator(snowflake.WithLayout(c.layout))
				store := known(t, c.first, layout)
				reports := 0
				l := mustOpen(t, store, layout, lease.WithWindow(time.Minute), lease.WithObserver(func(e lease.Event) {
					var reach *lease.ReachError
					if e.Kind == lease.Failed && errors.As(e.Err, &reach) {
						reports++
					}
				}))

				least, most := c.first-c.layout.Tick(), c.first+2*c.layout.Tick()+10*time.Millisecond
				wantTime(t, "to the horizon", time.Until(l.Status().Horizon), least, most)
				time.Sleep(59 * time.Minute)
				wantTime(t, "to the horizon before an hour", time.Until(l.Status().Horizon), 0, most)
				if reports != 1 {
					t.Errorf("%d reports, want one", reports)
				}

				time.Sleep(2 * time.Minute)
				wantTime(t, "to the horizon after an hour", time.Until(l.Status().Horizon), 20*time.Second, 2*time.Minute)
			})
		})
	}
}

func TestAReachThatNoWindowFitsIsAnErrorAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := known(t, 5*time.Second, lease.WithMaxSkew(time.Second))
		begin := time.Now()
		_, err := lease.Open(t.Context(), store, options(t)...) // whose skew alone is more
		var reach *lease.ReachError
		if !errors.As(err, &reach) || time.Since(begin) > 0 {
			t.Errorf("after %v: %v", time.Since(begin), err)
		}
	})
}

// Copies of a process that were made meanwhile have the same next token.
func TestARepeatedExtensionAsksForNoMoreIfItIsShortened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := known(t, 10*time.Second)
		begin, asked := time.Now(), map[string]int64{}
		store.extend.set(func(ctx context.Context, c leasestore.Claim, horizon int64, ttl time.Duration) (time.Time, error) {
			if before, ok := asked[c.Next]; ok && horizon > before {
				t.Errorf("%d more ticks than the first time", horizon-before)
			}
			asked[c.Next] = horizon
			if time.Since(begin) < 6*time.Second {
				return time.Time{}, errors.New("the request was lost")
			}
			return store.Store.Extend(ctx, c, horizon, ttl)
		})

		mustClose(t, mustOpen(t, store, lease.WithWindow(12*time.Second)))
	})
}

// The store has forgotten the last extension, and a greater reach with it.
func TestAnExtensionWithTheTokenBeforeIsShortened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &altered{Store: lease.NewMemory(time.Now)}
		l := mustOpen(t, store)
		time.Sleep(12 * time.Second)
		forgotten, confirmed := "", 0
		store.extend.set(func(_ context.Context, c leasestore.Claim, _ int64, _ time.Duration) (time.Time, error) {
			if forgotten == "" {
				forgotten = c.Token
			}
			if limit := 18 * time.Second; c.Token == forgotten {
				return time.Time{}, lease.ErrLost
			} else if c.Reach > limit {
				return time.Time{}, &lease.ReachError{Reach: c.Reach, Limit: limit, Wait: time.Hour}
			}
			confirmed++
			return time.Now(), nil
		})

		time.Sleep(time.Minute)
		store.extend.Store(nil)
		_ = l.Close(context.Background())
		if confirmed == 0 {
			t.Error("no extension was confirmed")
		}
	})
}

func TestAfterAFailureAShortWindowIsExtendedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := known(t, time.Second)
		l := mustOpen(t, store, lease.WithWindow(time.Minute), lease.WithPatience(100*time.Millisecond))
		failed := false
		store.extend.set(func(ctx context.Context, c leasestore.Claim, horizon int64, ttl time.Duration) (time.Time, error) {
			if !failed {
				failed = true
				return time.Time{}, errors.New("reset")
			}
			return store.Store.Extend(ctx, c, horizon, ttl)
		})

		for range 100 {
			mustNext(t, l)
			time.Sleep(50 * time.Millisecond)
		}
	})
}
