package partition

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

func TestPlanAsText(t *testing.T) {
	s := mustSet(t, Month, WithAhead(1), WithRetain(1))
	for n, want := range map[int64]string{
		0: "0 B", 999: "999 B", 1000: "1.0 kB", 9949: "9.9 kB", 9950: "10 kB", 999_499: "999 kB", 999_500: "1.0 MB", 12_345_678_901_234_567: "12346 TB",
	} {
		if got := sizeText(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
	c := &catalog{state: state{table: name{"public", "t"}}, taken: []string{"t_2026_06"}}
	c.add(s, "old", "2026-02", "2026-03")
	c.add(s, "april", "2026-04", "2026-05")
	c.parts[0].rows, c.parts[0].bytes = 1_234_567, 339_900_000
	got := fmt.Sprint(c.plan(t, s, date("2026-05-15")))
	const text = `public.t: 2 partitions, 2 steps, times in UTC
ACTION  PARTITION  FROM        TO          ROWS    SIZE    REASON
create  t_2026_05  2026-05-01  2026-06-01  -       -       current month
drop    old        2026-02-01  2026-03-01  ~1.2 M  340 MB  beyond the retention of 1 month
problem: t_2026_06: a table of this name exists and is no partition: rename it, or set other names
`
	if got != text {
		t.Errorf("%s\nwant:\n%s", got, text)
	}
}

func TestPlanSaysHowLongRowsHaveAPartitionAndSinceWhenAStepIsDue(t *testing.T) {
	both(t, Month, []Option{WithAhead(2), WithRetain(3), WithGrace(6 * time.Hour)}, func(t *testing.T, s *Set) {
		for _, c := range []struct{ now, last, covered, overdue string }{ // the partitions are those from January to before last
			{"2026-02-20", "2026-05", "2026-05-01", ""},
			{"2026-04-20", "2026-05", "2026-05-01", "2026-03-01"},          // May
			{"2026-05-01", "2026-05", "", "2026-03-01"},                    // nothing is left
			{"2026-05-02", "2026-08", "2026-08-01", "2026-05-01 06:00:00"}, // January
			{"2026-06-02", "2026-08", "2026-08-01", "2026-05-01 06:00:00"}, // and February, and a new one
		} {
			table := tableOf(s, "2026-01", c.last)
			table.idle = false
			plan := table.plan(t, s, date(c.now))
			if plan.Covered.Format("2006-01-02") != cmp.Or(c.covered, "0001-01-01") || !plan.Overdue.Equal(date(cmp.Or(c.overdue, "0001"))) {
				t.Errorf("%+v: covered until %v, overdue since %v: %s", c, plan.Covered, plan.Overdue, steps(plan))
			}
			if !strings.Contains(plan.String(), "until "+c.covered) && c.covered != "" {
				t.Errorf("%v", plan)
			}
		}
		// Steps that do not depend on the time.
		for last, overdue := range map[string]string{"2026-04": "2026-02", "2026-06": "0001"} {
			table := tableOf(s, "2026-01", last)
			table.idle, table.parts[2].interrupted = false, true
			also := newSet(t, s.dialect, Month, WithAhead(2), WithDefault())
			plan := table.plan(t, also, date("2026-03-15"))
			if !plan.Overdue.Equal(date(overdue)) || !strings.HasSuffix(steps(plan), "create t_default, alter t_2026_03") {
				t.Errorf("overdue since %v, want %s: %s", plan.Overdue, overdue, steps(plan))
			}
		}
		table := &catalog{}
		table.add(s, "all", "2026-01", "")
		if plan := table.plan(t, s, date("2026-02-20")); !plan.Covered.Equal(s.layout.End()) || !plan.Overdue.IsZero() {
			t.Errorf("covered until %v, overdue since %v", plan.Covered, plan.Overdue)
		}
	})
}

// A table got the layout clustered after its partitions were made: they end within a period.
func TestRowsOfAllWorkersHaveAPartitionUntilCovered(t *testing.T) {
	both(t, Day, []Option{WithLayout(snowflake.Clustered()), WithRetain(3)}, func(t *testing.T, s *Set) {
		table := tableOf(newSet(t, s.dialect, Day), "2026-11", "2026-11-18", "2026-11-01", "2026-11-16")
		now, end := date("2026-11-15 12:00"), table.parts[len(table.parts)-1].hi
		covered := table.plan(t, s, now).Covered
		for at := now; at.Before(covered); at = at.Add(time.Minute) {
			if id, err := s.layout.Compose(snowflake.Parts{Time: at, Worker: s.layout.MaxWorker()}); err != nil || int64(id) >= end {
				t.Fatalf("covered until %v, and %d of %v has no partition, %v", covered, id, at, err)
			}
		}
		if early := date("2026-11-18").Sub(covered); early < 0 || early > s.layout.Period() {
			t.Errorf("covered until %v", covered)
		}
	})
}

func TestTimesOfPlansAreInTheZoneOfTheSet(t *testing.T) {
	days := newSet(t, sqldb.Postgres, Day, WithAhead(1), WithZone(zone(t, "Asia/Kolkata")))
	parts := newSet(t, sqldb.MySQL, Unit(90*time.Minute), WithAhead(1), WithRetain(2), WithIdle(2))
	c := &catalog{}
	c.add(parts, "old", "2026-05-01", "2026-05-15 00:00:00.5")
	for _, test := range []struct {
		plan *Plan
		want string
	}{
		{(&catalog{}).plan(t, days, date("2026-05-15 12:00")), "t_2026_05_15  2026-05-15  2026-05-16  -     -     current day"},
		{(&catalog{}).plan(t, days, date("2026-05-15 12:00")), "times in Asia/Kolkata"},
		{c.plan(t, parts, date("2026-05-15 12:00")), "2026-05-15 12:00       2026-05-15 13:30"},
		{c.plan(t, parts, date("2026-05-15 12:00")), "drop    old                2026-05-01             2026-05-15 00:00:00.5  ~0    0 B   beyond the retention of 2 periods of 1h30m0s"},
	} {
		if got := test.plan.String(); !strings.Contains(got, test.want) {
			t.Errorf("%s\nwant: %s", got, test.want)
		}
	}
}

// A lock that another process keeps, or that was left behind, is not waited for in silence.
func TestLongWaitForAnotherProcessIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s, err := New(sqldb.Postgres, "events", Day, WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 150*time.Second)
		defer cancel()
		if err := s.patiently(ctx, &waiter{}, func() error { return errBusy }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the error is %v", err)
		}
		if n := strings.Count(log.String(), "level=WARN"); n != 2 || strings.Count(log.String(), "table=events") != n {
			t.Errorf("in 150 s the log has\n%s", &log)
		}
	})
}
