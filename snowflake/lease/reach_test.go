package lease_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

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
	if err != nil {
		t.Fatal(err)
	}
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
				defer mustClose(t, l)
				least, most := c.first-c.layout.Tick(), c.first+2*c.layout.Tick()+10*time.Millisecond
				if ahead := time.Until(l.Status().Horizon); ahead < least || ahead > most {
					t.Errorf("the horizon is %v ahead, want about %v", ahead, c.first)
				}
				time.Sleep(59 * time.Minute)
				if ahead := time.Until(l.Status().Horizon); ahead > most || reports != 1 {
					t.Errorf("before an hour the horizon is %v ahead, with %d reports; want about %v, one", ahead, reports, c.first)
				}
				time.Sleep(2 * time.Minute)
				if ahead := time.Until(l.Status().Horizon); ahead < 20*time.Second {
					t.Errorf("after an hour the horizon is %v ahead", ahead)
				}
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
		defer mustClose(t, l)
		failed := false
		store.extend.set(func(ctx context.Context, c leasestore.Claim, horizon int64, ttl time.Duration) (time.Time, error) {
			if !failed {
				failed = true
				return time.Time{}, errors.New("reset")
			}
			return store.Store.Extend(ctx, c, horizon, ttl)
		})
		for range 100 {
			if _, err := l.Generator().Next(); err != nil {
				t.Error(err)
			}
			time.Sleep(50 * time.Millisecond)
		}
	})
}

// The machine of the owner sleeps after it has looked at its clock, until its lease may have expired.
func TestAClaimExpiresWhileItsExtensionIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &altered{Store: lease.NewMemory(time.Now)}
		l := mustOpen(t, store)
		unexpired := make(chan bool, 2)
		store.extending(func(c *leasestore.Claim) {
			store.extend.Store(nil)
			unexpired <- c.Unexpired()
			time.Sleep(2 * lease.DefaultWindow)
			unexpired <- c.Unexpired()
		})
		if before, after := <-unexpired, <-unexpired; !before || after {
			t.Errorf("unexpired before: %t, after: %t; want true, false", before, after)
		}
		mustClose(t, l)
	})
}
