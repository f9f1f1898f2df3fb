package settled_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/testclock"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
	"github.com/sqlflake/sqlflake/sqltypes/settled"
)

func TestBoundIsTheMarginBeforeTheDatabasesTime(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		db, layout := target.Open(t), snowflake.Default()
		before := time.Now()
		var b settled.Bound
		for end := before.Add(2 * time.Minute); ; {
			var err error
			if b, err = settled.Read(t.Context(), db, dialectOf(target), layout); err == nil {
				break
			}
			if !errors.Is(err, settled.ErrUnknown) || time.Now().After(end) { // those of other tests on the server pass
				t.Fatal(err)
			}
		}
		if b.Lag < settled.DefaultMargin {
			t.Errorf("the lag is %v, below the margin", b.Lag)
		}
		// The clock is that of this machine.
		at := layout.Time(b.Below).Add(b.Lag)
		if at.Before(before.Add(-5*time.Second)) || at.After(time.Now().Add(5*time.Second)) {
			t.Errorf("the bound is %v before %v, and it is %v", b.Lag, at, before)
		}
	})
}

func TestReadRejectsWhatHasNoBound(t *testing.T) {
	db := testdb.SQLite(t).Open(t)
	shard := snowflake.MustLayout(time.Unix(0, 0), time.Millisecond, snowflake.Field{Name: "shard", Bits: 4},
		snowflake.Field{Name: "time", Bits: 42}, snowflake.Field{Name: "sequence", Bits: 10})
	past := snowflake.MustLayout(time.Unix(0, 0), time.Millisecond, snowflake.Field{Name: "time", Bits: 20},
		snowflake.Field{Name: "sequence", Bits: 10})
	for name, c := range map[string]struct {
		dialect sqldb.Dialect
		layout  snowflake.Layout
		option  settled.Option
		want    error
	}{
		"dialect":       {"oracle", snowflake.Default(), settled.WithMargin(0), settled.ErrOption},
		"margin":        {sqldb.SQLite, snowflake.Default(), settled.WithMargin(-1), settled.ErrOption},
		"nil option":    {sqldb.SQLite, snowflake.Default(), nil, settled.ErrOption},
		"nil store":     {sqldb.SQLite, snowflake.Default(), settled.WithLeases(nil, "a", 0), settled.ErrOption},
		"zero layout":   {sqldb.SQLite, snowflake.Layout{}, settled.WithMargin(0), snowflake.ErrLayout},
		"field order":   {sqldb.SQLite, shard, settled.WithMargin(0), snowflake.ErrFieldOrder},
		"after its end": {sqldb.SQLite, past, settled.WithMargin(0), snowflake.ErrTimeExhausted},
	} {
		if b, err := settled.Read(t.Context(), db, c.dialect, c.layout, c.option); !errors.Is(err, c.want) || b != (settled.Bound{}) {
			t.Errorf("%s: %+v, %v, want %v", name, b, err, c.want)
		}
	}
	future := snowflake.MustLayout(time.Now().Add(time.Hour), time.Millisecond, snowflake.Field{Name: "time", Bits: 41},
		snowflake.Field{Name: "sequence", Bits: 10})
	if b, err := settled.Read(t.Context(), db, sqldb.SQLite, future); err != nil || b.Below != 0 {
		t.Errorf("before the epoch: %+v, %v, want 0", b, err)
	}
}

func TestLaggingClockOfALeaseHoldsTheBound(t *testing.T) {
	// On SQLite no other test has transactions.
	db, dialect := testdb.SQLite(t).Open(t), sqldb.SQLite
	store, err := sqllease.New(db, dialect)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	const window, behind = 2 * time.Minute, time.Minute // the time that an extension takes counts, too
	owner := func(opts ...lease.Option) *lease.Lease {
		t.Helper()
		l, err := lease.Open(t.Context(), store, append(opts, lease.WithWindow(window), lease.WithMaxSkew(2*behind), lease.WithLogger(slog.New(slog.DiscardHandler)))...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close(t.Context()) })
		return l
	}
	read := func(window time.Duration) settled.Bound {
		t.Helper()
		b, err := settled.Read(t.Context(), db, dialect, snowflake.Default(), settled.WithMargin(time.Second),
			settled.WithLeases(store, lease.DefaultNamespace, window))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	lag := func(window time.Duration) time.Duration { return read(window).Lag - time.Second }
	if got := lag(window); got != 0 {
		t.Errorf("without leases the lag is %v, want 0", got)
	}
	owner() // one whose clock is right
	if got := lag(window); got > behind/2 {
		t.Errorf("the lag is %v with a right clock", got)
	}
	late := owner(lease.WithClock(testclock.New(-behind)))
	id := next(t, late.Generator())
	if b := read(window); b.Below > id || !strings.Contains(b.Reason, "behind") {
		t.Errorf("%+v, above %d of a clock that is %v behind", b, id, behind)
	}
	for _, known := range []time.Duration{0, window / 2, window} {
		if got := lag(known); got < behind-time.Second || got > behind+window/3 {
			t.Errorf("the lag is %v with a clock that is %v behind, if the window is at least %v", got, behind, known)
		}
	}
	if err := late.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := lag(0); got > behind/2 {
		t.Errorf("the lag is %v after the late one has closed", got)
	}
}

// An extension rounds its window up to ticks.
func TestTickThatAWindowBeginsIsNoLead(t *testing.T) {
	layout := snowflake.Default()
	for window, ticks := range map[time.Duration]int64{
		2 * time.Millisecond: 2, 2*time.Millisecond + 1: 3, 3*time.Millisecond - 1: 3, 3 * time.Millisecond: 3,
	} {
		e := lease.Entry{Expires: layout.Start(1000).Add(2 * window)}
		e.Horizon = 1000 + ticks
		if got := settled.Lag(e, layout, window, e.Expires); got != 0 {
			t.Errorf("with a window of %v the lag is %v, want 0", window, got)
		}
	}
}

func TestTickOfALeaseIsNoReason(t *testing.T) {
	db, dialect := testdb.SQLite(t).Open(t), sqldb.SQLite
	store, err := sqllease.New(db, dialect)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The time of the test is the last third of a tick.
	layout := snowflake.MustLayout(time.Now().Add(-time.Hour-40*time.Second), time.Minute, snowflake.Field{Name: "time", Bits: 41},
		snowflake.Field{Name: "worker", Bits: 10}, snowflake.Field{Name: "sequence", Bits: 12})
	l, err := lease.Open(t.Context(), store, lease.WithGenerator(snowflake.WithLayout(layout)), lease.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close(context.WithoutCancel(t.Context())) })
	b, err := settled.Read(t.Context(), db, dialect, layout, settled.WithLeases(store, lease.DefaultNamespace, lease.DefaultWindow))
	if err != nil || b.Lag < settled.DefaultMargin+10*time.Second || b.Reason != "" {
		t.Errorf("%+v, %v; want a lag of a part of a tick, and no reason", b, err)
	}
}
