package lease_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

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
			if err := errors.Join(l.Ready(), l.Healthy()); err != nil {
				t.Error(err)
			}
			store.setDown(true)
			time.Sleep(lease.DefaultWindow + time.Second)
			if err := l.Ready(); !errors.Is(err, snowflake.ErrLeaseStalled) || !errors.Is(err, errDown) {
				t.Error(err)
			} else if text := err.Error(); c.says == "" {
				check("Ready", text)
			} else if !strings.Contains(text, strings.Split(c.says, ", ")[0]) { // less is left by now
				t.Error(err)
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
		if err := l.Ready(); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute + time.Second)
		_, opened := lease.Open(t.Context(), store, options(t, ending)...)
		for _, err := range []error{l.Ready(), opened} {
			if !errors.Is(err, snowflake.ErrTimeExhausted) || !strings.Contains(err.Error(), "the end, 2000-01-01T00:01:00Z") ||
				strings.Contains(err.Error(), "days") {
				t.Errorf("after the end: %v", err)
			}
		}
		mustClose(t, l)
	})
}
