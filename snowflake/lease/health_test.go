package lease_test

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

const (
	probing = 2 * time.Minute // for a state that does not end
	ever    = time.Duration(math.MaxInt64)
)

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
		floor, setFloor := floored(lease.NewMemory(time.Now))
		store := newFaulty(floor)
		l := mustOpen(t, store, lease.WithWorkers(0, 0))
		wantTime(t, "ready without a fault", probed(t, l), probing, ever)
		store.setDown(true)
		const half = lease.DefaultWindow / 2
		wantTime(t, "ready while the store is down", probed(t, l), half-lease.DefaultWindow/20, 11*time.Second)
		wantErr(t, "the store is down", probe(t, l), snowflake.ErrLeaseStalled, errDown.Error())
		thief := store.robbed(t)
		store.setDown(false)
		inOutage := probed(t, l, snowflake.ErrLeaseStalled, errDown)
		wantTime(t, "the store is back, and the error is about its outage", inOutage, 0, lease.DefaultWindow)
		wantTime(t, "all workers are held", probed(t, l, snowflake.ErrLeaseStalled, lease.ErrNoWorker), probing, ever)
		setFloor(15 * time.Second) // as after a failover
		mustClose(t, thief)
		alone := probed(t, l, snowflake.ErrLeaseStalled, lease.ErrNoWorker)
		wantTime(t, "the worker is free, and not taken", alone, 0, lease.DefaultWindow)
		wantTime(t, "before the floor", probed(t, l, lease.ErrBehindHorizon), 1, 15*time.Second)
		wantTime(t, "ready after the floor", probed(t, l), probing, ever)
		mustClose(t, l)
		wantTime(t, "after Close", probed(t, l, lease.ErrClosed), probing, ever)
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
				must(t, errors.Join(l.Healthy(), l.Ready()))
				if test.closed {
					store.extend.set(func(context.Context, leasestore.Claim, int64, time.Duration) (time.Time, error) {
						return time.Time{}, os.ErrClosed
					})
				} else {
					copyExtends()
				}

				time.Sleep(time.Minute)
				wantErr(t, "Healthy", l.Healthy(), test.want)
				wantErr(t, "Ready", l.Ready(), test.want)
				mustClose(t, l)
				wantErr(t, "Healthy after Close", l.Healthy(), nil)
				wantErr(t, "Ready after Close", l.Ready(), lease.ErrClosed)
			})
		})
	}
}

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
				process, server := clockOff(test.back), clockOff(test.back)
				store := &altered{Store: lease.NewMemory(server.Now)}
				store.granting(func(_ leasestore.Request, g *leasestore.Grant) { g.Forgets = test.forgets })
				var events recorder
				l := mustOpen(t, store, lease.WithClock(process), lease.WithObserver(events.hook))
				probed(t, l)

				if !test.stays {
					process.wall.Store(0)
				}
				if !test.alone {
					server.wall.Store(0)
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
					wantErr(t, "Ready after the stop", l.Ready(), lease.ErrClockSkew)
					if e := events.last(lease.Stepped); time.Since(start) > lease.DefaultWindow && !errors.Is(e.Err, lease.ErrClockSkew) {
						t.Fatalf("%v after the stop: the event %+v", time.Since(start), e)
					}
					time.Sleep(100 * time.Millisecond)
				}
				t.Logf("stopped after %v for %v", ready, time.Since(start))
				wantTime(t, "ready after the stop", probed(t, l), probing, ever)
				if id := mustNext(t, l); id <= before {
					t.Errorf("%d after %d", id, before)
				}
			})
		})
	}
}

// endingIn returns the option for a layout that ends after left.
func endingIn(tb testing.TB, left time.Duration) lease.Option {
	tb.Helper()
	const span = 1 << 41 * time.Millisecond
	return lease.WithGenerator(snowflake.WithLayout(snowflake.MustLayout(time.Now().Add(left-span), time.Millisecond,
		snowflake.Field{Name: "time", Bits: 41}, snowflake.Field{Name: "worker", Bits: 2}, snowflake.Field{Name: "sequence", Bits: 12})))
}

func TestTheLastTwoYearsAreInTheLogTheEventAndReady(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		left time.Duration
		says string
	}{
		{3 * 365 * day, ""},
		{2*365*day + time.Minute, ""},
		{700 * day, "ends at 2001-12-01T00:00:00Z, in 700 days"},
		{time.Hour, "ends at 2000-01-01T01:00:00Z, in 0 days"},
	} {
		synctest.Test(t, func(t *testing.T) {
			check := func(what, text string) {
				t.Helper()
				if c.says != "" && !strings.Contains(text, c.says) || c.says == "" && strings.Contains(text, "ends") {
					t.Errorf("%v left: %s: %s", c.left, what, text)
				}
			}

			store := newFaulty(lease.NewMemory(time.Now))
			var log strings.Builder
			var events recorder
			l := mustOpen(t, store, endingIn(t, c.left), lease.WithWorkers(0, 0), lease.WithObserver(events.hook),
				lease.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
			check("log", log.String())
			if end := l.Generator().Layout().End().Format("layout_end=2006-01-02"); !strings.Contains(log.String(), end) {
				t.Errorf("the log has no %s: %s", end, &log)
			}

			if warned := strings.Contains(log.String(), "level=WARN"); warned != (c.says != "") || (events.events[0].Err != nil) != warned {
				t.Errorf("%v left: %s%+v", c.left, &log, events.events[0])
			}

			must(t, errors.Join(l.Ready(), l.Healthy()))
			store.setDown(true)
			time.Sleep(lease.DefaultWindow + time.Second)
			end, _, _ := strings.Cut(c.says, ", ") // less is left by now
			wantErr(t, "Ready", l.Ready(), snowflake.ErrLeaseStalled, errDown.Error(), end)
			if c.says == "" {
				check("Ready", l.Ready().Error())
			}

			store.setDown(false)
			mustClose(t, l)
			if err := l.Ready(); !errors.Is(err, lease.ErrClosed) || strings.Contains(err.Error(), "ends") {
				t.Errorf("after Close: %v", err)
			}
		})
	}
}

func TestAWarningOfTheStoreIsReportedAndDoesNotHideTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, left := range []time.Duration{time.Hour, 3 * 365 * 24 * time.Hour} {
			store := &altered{Store: lease.NewMemory(time.Now)}
			limited := errors.New("no right to ask")
			store.granting(func(_ leasestore.Request, g *leasestore.Grant) { g.Warning = limited })
			var log strings.Builder
			var events recorder
			mustClose(t, mustOpen(t, store, endingIn(t, left), lease.WithObserver(events.hook),
				lease.WithLogger(slog.New(slog.NewTextHandler(&log, nil)))))
			if err := events.events[0].Err; !errors.Is(err, limited) || strings.Contains(err.Error(), "in 0 days") != (left == time.Hour) {
				t.Error(err)
			}

			if !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), limited.Error()) {
				t.Errorf("log: %s", &log)
			}
		}
	})
}

func TestAfterTheEndReadyAndOpenNameIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := lease.NewMemory(time.Now)
		ending := endingIn(t, time.Minute)
		l := mustOpen(t, store, ending)
		must(t, l.Ready())
		time.Sleep(time.Minute + time.Second)
		for _, err := range []error{l.Ready(), openErr(t, store, ending)} {
			wantErr(t, "after the end", err, snowflake.ErrTimeExhausted, "the end, 2000-01-01T00:01:00Z")
			if err != nil && strings.Contains(err.Error(), "days") {
				t.Errorf("after the end: %v", err)
			}
		}
	})
}

func TestANamespaceOfALaterVersionStopsAProcessAtItsHorizon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := lease.NewMemory(time.Now)
		l := mustOpen(t, store)
		require := store.(interface {
			Require(namespace, version string)
		}).Require

		require(lease.DefaultNamespace, "2")
		horizon := l.Status().Horizon
		wantTime(t, "ready", probed(t, l), lease.DefaultWindow/2, 11*time.Second)
		var later *lease.VersionError
		if err := probe(t, l); !errors.Is(err, snowflake.ErrLeaseStalled) || !errors.As(err, &later) || later.Version != "2" {
			t.Errorf("at the horizon: %v, want ErrLeaseStalled and a *VersionError", err)
		}

		if e := entry(t, store, l.Status().Worker); l.Status().Horizon != horizon || e.Epoch != 1 {
			t.Errorf("the horizon was %v and is %v; the row is %+v", horizon, l.Status().Horizon, e)
		}

		start := time.Now()
		if _, err := lease.Open(t.Context(), store, options(t)...); !errors.As(err, &later) || time.Since(start) > 0 {
			t.Errorf("Open: %v after %v, want a *VersionError at once", err, time.Since(start))
		}

		require(lease.DefaultNamespace, "") // as in a way back
		wantTime(t, "not ready", probed(t, l, snowflake.ErrLeaseStalled), 0, lease.DefaultWindow)
	})
}
