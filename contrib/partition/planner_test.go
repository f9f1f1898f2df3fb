package partition

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqlflake/sqlflake/contrib/partition/internal/engine"
	"github.com/sqlflake/sqlflake/contrib/partition/internal/postgres"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// TestPlansLeadToPartitionsForAllThatIsRetained goes through a year in steps of odd length.
func TestPlansLeadToPartitionsForAllThatIsRetained(t *testing.T) {
	for i, unit := range []Unit{Day, Week, Month, Unit(240 * time.Hour), Day, Month} {
		options := []Option{WithRetain(4), WithAhead(2), WithGrace(30 * time.Hour)}
		if i >= 4 {
			options = append(options, WithLayout(snowflake.Clustered()))
		}

		if unit < 0 {
			options = append(options, WithZone(zone(t, "America/Havana")))
		}

		both(t, unit, options, func(t *testing.T, s *Set) {
			c := &catalog{State: engine.State{Table: s.table.Name}}
			for now := date("2026-01-15"); now.Before(date("2027-02")); now = now.Add(17 * time.Hour) {
				before := slices.Clone(c.Parts)
				c.apply(s, c.plan(t, s, now))
				if again := c.plan(t, s, now); len(again.Steps)+len(again.Problems) > 0 {
					t.Fatalf("at %v: a second plan has %v, %v", now, again.Steps, again.Problems)
				}

				last, oldest := s.calendar.After(s.calendar.Containing(now), 2), s.calendar.Before(s.calendar.Containing(now.Add(-30*time.Hour)), 4)
				if got := c.Parts[len(c.Parts)-1]; got.Hi != last.Hi {
					t.Fatalf("at %v: the last partition is %+v, want the end of %v", now, got, last)
				}

				for i, p := range c.Parts {
					if i > 0 && p.Lo != c.Parts[i-1].Hi {
						t.Fatalf("at %v: %+v does not follow %+v", now, p, c.Parts[i-1])
					}
					if p.Hi <= oldest.Lo {
						t.Fatalf("at %v: %+v is beyond the retention", now, p)
					}
				}

				for _, p := range before {
					kept := slices.ContainsFunc(c.Parts, func(q engine.Part) bool { return p.Name == q.Name })
					if youngest := s.calendar.Layout.Time(snowflake.ID(p.Hi - 1)); !kept && !youngest.Before(oldest.From) {
						t.Fatalf("at %v: %+v is dropped, and retained is what is from %v on", now, p, oldest.From)
					}
				}
			}
		})
	}
}

func TestPlanOfAnotherUnitOrZoneGoesOnAtTheBoundsThereAre(t *testing.T) {
	days := newSet(t, sqldb.Postgres, Day, WithAhead(3))
	months := newSet(t, sqldb.Postgres, Month, WithAhead(1))
	c := &catalog{}
	tokyo := newSet(t, sqldb.Postgres, Day, WithZone(zone(t, "Asia/Tokyo")), WithAhead(4))
	for _, step := range []struct {
		s         *Set
		now, want string
	}{
		{days, "2026-01-29 12:00", "create t_2026_01_29, create t_2026_01_30, create t_2026_01_31, create t_2026_02_01"},
		{months, "2026-01-29 13:00", "create t_2026_01, create t_2026_02"}, // before the days, and after them
		{days, "2026-02-27 12:00", "create t_2026_03_01, create t_2026_03_02"},
		{tokyo, "2026-02-27 12:00", "create t_2026_03_03"}, // of 15 hours: a partition of UTC has the rest
	} {
		plan := c.plan(t, step.s, date(step.now))
		want(t, plan, step.want)
		c.apply(step.s, plan)
	}

	for i, p := range c.Parts[1:] {
		if p.Lo != c.Parts[i].Hi {
			t.Errorf("%+v does not follow %+v", p, c.Parts[i])
		}
	}
}

func TestGapsThatWereMadeByHandAreFilled(t *testing.T) {
	s := newSet(t, sqldb.Postgres, Month, WithAhead(1))
	c := &catalog{}
	c.add(s, "a", "2026-01", "2026-01-05")
	c.add(s, "b", "2026-01-05", "2026-01-07")
	c.add(s, "c", "2026-01-10", "2026-01-11")
	c.add(s, "d", "2026-02-03", "2026-03-04")
	c.add(s, "t_2026_01", "2027-02", "2027-03")
	plan := c.plan(t, s, date("2026-01-15"))
	want(t, plan, "create t_2026_01_2, create t_2026_01_3, create t_2026_02")
	for i, bounds := range [][2]string{{"2026-01-07", "2026-01-10"}, {"2026-01-11", "2026-02"}, {"2026-02", "2026-02-03"}} {
		if step := plan.Steps[i]; int64(step.Lo) != s.first(bounds[0]) || int64(step.Hi) != s.first(bounds[1]) ||
			!step.From.Equal(date(bounds[0])) || !step.To.Equal(date(bounds[1])) {
			t.Errorf("step %d: %+v, want %v", i, step, bounds)
		}
	}

	// Nobody writes to January in March any more. On MySQL there are no gaps.
	want(t, c.plan(t, s, date("2026-03-15")), "create t_2026_03, create t_2026_04")
	my := newSet(t, sqldb.MySQL, Month, WithAhead(1))
	c = &catalog{}
	c.add(my, "a", "", "2026-01-05")
	plan = c.plan(t, my, date("2026-03-15"))
	want(t, plan, "create t_2026_03, create t_2026_04")
	if got := int64(plan.Steps[0].Lo); got != s.first("2026-01-05") {
		t.Errorf("the partition after the gap begins with %d, want the end of the one before", got)
	}
}

func TestStartMakesPartitionsForOldIDs(t *testing.T) {
	const fromNovember = "create t_2025_11, create t_2025_12, create t_2026_01, create t_2026_02"
	for _, c := range []struct {
		start, now string
		options    []Option
		want       string
	}{
		{"2025-11-20", "2026-01-15", nil, fromNovember},
		{"1970", "2026-01-01 00:30", []Option{WithRetain(1)}, fromNovember},
		{"2026-01-01", "2026-01-01 00:30", nil, "create t_2025_12, create t_2026_01, create t_2026_02"}, // the grace counts too
	} {
		both(t, Month, append(c.options, WithAhead(1), WithStart(date(c.start))), func(t *testing.T, s *Set) {
			want(t, (&catalog{}).plan(t, s, date(c.now)), c.want)
		})
	}

	s := mustSet(t, Unit(time.Hour), WithStart(date("2025-01-01")))
	_, err := makePlan(s, &engine.State{Now: date("2026-05-01")}, date("2026-05-01"), (&catalog{}).probe())
	if !errors.Is(err, ErrOption) || !strings.Contains(err.Error(), "10000 partitions from 2025-01-01") {
		t.Errorf("%v, want %v", err, ErrOption)
	}
}

func TestRowsInTheDefaultPartitionPreventThePartitionOfTheirTime(t *testing.T) {
	both(t, Month, []Option{WithAhead(2)}, func(t *testing.T, s *Set) {
		c := &catalog{State: engine.State{Default: &engine.Part{Name: named("t_default"), Lo: engine.NoLow, Hi: engine.NoHigh}}}
		c.apply(s, c.plan(t, s, date("2026-01-15")))
		want(t, c.plan(t, s, date("2026-01-15")), "")
		c.keys = []int64{s.first("2026-04-20")}
		later := c.plan(t, s, date("2026-03-15"))
		if s.engine.Adjoins() { // each new one would copy all of its rows
			want(t, later, "", "t_default: it has rows, which the server would copy")
			return
		}

		want(t, later, "create t_2026_05", fmt.Sprintf("t_2026_04: the default partition t_default has rows of its range, FROM (%d) TO (%d): move them", s.first("2026-04"), s.first("2026-05")))
		c.keys = []int64{s.first("2026-06"), s.first("2026-04") - 1}
		want(t, c.plan(t, s, date("2026-03-15")), "create t_2026_04, create t_2026_05")
	})

	// One that has the name of another.
	c := &catalog{State: engine.State{Default: &engine.Part{Name: named("t_2026_02"), Lo: engine.NoLow, Hi: engine.NoHigh}}}
	want(t, c.plan(t, newSet(t, sqldb.MySQL, Month, WithAhead(1)), date("2026-01-15")), "create t_2026_01, create t_2026_02_2")
}

func TestEndOfTheLayout(t *testing.T) {
	both(t, Month, []Option{WithAhead(2), WithRetain(2)}, func(t *testing.T, s *Set) {
		c := &catalog{}
		c.add(s, "old", "2094-03", "2094-04")
		c.add(s, "rest", "2094-04", "2094-08")
		for _, at := range []struct {
			now, steps string
			problems   []string
		}{
			{"2094-07-05", "create t_2094_08, create t_2094_09, drop old", []string{"2094-09-07"}}, // all that can be done is done
			{"2094-08-15", "", []string{"2094-09-07"}},
			{"2095-01-15", "", []string{"2094-09-07", "no row is younger than the retention"}}, // and none can come
		} {
			plan := c.plan(t, s, date(at.now))
			want(t, plan, at.steps, at.problems...)
			if !errors.Is(plan.Problems[0], snowflake.ErrTimeExhausted) {
				t.Errorf("%v does not match %v", plan.Problems[0], snowflake.ErrTimeExhausted)
			}
			c.apply(s, plan)
		}

		end, err := s.calendar.Layout.MinAt(s.calendar.Layout.End().Add(-1))
		if last := c.Parts[len(c.Parts)-1]; err != nil || last.Hi < int64(end)|(int64(end)&-int64(end)-1) { // with all bits below the time
			t.Errorf("the last partition is %+v, the layout ends at %v", last, s.calendar.Layout.End())
		}
	})
}

func TestClocksBeforeTheEpochAreAnError(t *testing.T) {
	s := mustSet(t, Month, WithAhead(1))
	c := &catalog{}
	for _, table := range []*catalog{c, tableOf(s, "2026-08", "2026-10", "2026-08", "2026-10")} {
		table.Now = date("2024-12-31 23:59:59")
		if _, err := makePlan(s, &table.State, date("1970"), table.probe()); !errors.Is(err, snowflake.ErrBeforeEpoch) {
			t.Errorf("%d rows: %v, want %v", len(table.keys), err, snowflake.ErrBeforeEpoch)
		}
	}
	c.Now = date("2025-02-15") // the other clock shows 1970: more is created, and nothing dropped
	plan, err := makePlan(s, &c.State, date("1970"), c.probe())
	must(t, err)
	want(t, plan, "create t_2025_01, create t_2025_02, create t_2025_03")
}

// The period that ends at the greatest key and a default partition would both be VALUES LESS THAN MAXVALUE.
func TestMySQLHasOneLastPartition(t *testing.T) {
	layout := snowflake.MustLayout(time.Unix(0, 0), 28*time.Second, snowflake.Field{Name: "time", Bits: 27}, snowflake.Field{Name: "sequence", Bits: 36})
	const unit = 28 * time.Second << 20 // the layout ends with one
	now := layout.End().Add(-unit * 3 / 2)
	s := newSet(t, sqldb.MySQL, Unit(unit), WithLayout(layout), WithAhead(1), WithNow(func() time.Time { return now }))
	text, err := s.TableOptions()
	if err != nil || !strings.HasSuffix(text, "`t_2088_02_27_160416` VALUES LESS THAN (MAXVALUE))") {
		t.Errorf("%s, %v", text, err)
	}

	c := &catalog{}
	c.apply(s, c.plan(t, s, now))
	last := len(c.Parts) - 1 // the engine takes it for the default partition
	c.Default, c.Parts = &c.Parts[last], c.Parts[:last]
	want(t, c.plan(t, s, now), "")
}

func TestPlanAsText(t *testing.T) {
	s := mustSet(t, Month, WithAhead(1), WithRetain(1))
	c := &catalog{State: engine.State{Table: engine.Name{Schema: "public", Table: "t"}}, taken: []string{"t_2026_06"}}
	c.add(s, "old", "2026-02", "2026-03")
	c.add(s, "april", "2026-04", "2026-05")
	got := fmt.Sprint(c.plan(t, s, date("2026-05-15")))
	const text = `public.t: 2 partitions, 2 steps, times in UTC
ACTION  PARTITION  FROM        TO          REASON
create  t_2026_05  2026-05-01  2026-06-01  current month
drop    old        2026-02-01  2026-03-01  beyond the retention of 1 month
problem: t_2026_06: a table of this name exists and is no partition: rename it
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

		// A step that does not depend on the time.
		for last, overdue := range map[string]string{"2026-04": "2026-02", "2026-06": "0001"} {
			table := tableOf(s, "2026-01", last)
			table.idle, table.Parts[2].Reattached = false, true
			plan := table.plan(t, s, date("2026-03-15"))
			if !plan.Overdue.Equal(date(overdue)) || !strings.HasSuffix(steps(plan), "alter t_2026_03") {
				t.Errorf("overdue since %v, want %s: %s", plan.Overdue, overdue, steps(plan))
			}
		}

		table := &catalog{}
		table.add(s, "all", "2026-01", "")
		if plan := table.plan(t, s, date("2026-02-20")); !plan.Covered.Equal(s.calendar.Layout.End()) || !plan.Overdue.IsZero() {
			t.Errorf("covered until %v, overdue since %v", plan.Covered, plan.Overdue)
		}
	})
}

// A table got the layout clustered after its partitions were made: they end within a period.
func TestRowsOfAllWorkersHaveAPartitionUntilCovered(t *testing.T) {
	both(t, Day, []Option{WithLayout(snowflake.Clustered()), WithRetain(3)}, func(t *testing.T, s *Set) {
		table := tableOf(newSet(t, dialectOf(s), Day), "2026-11", "2026-11-18", "2026-11-01", "2026-11-16")
		now, end := date("2026-11-15 12:00"), table.Parts[len(table.Parts)-1].Hi
		covered := table.plan(t, s, now).Covered
		for at := now; at.Before(covered); at = at.Add(time.Minute) {
			if id, err := s.calendar.Layout.Compose(snowflake.Parts{Time: at, Worker: s.calendar.Layout.MaxWorker()}); err != nil || int64(id) >= end {
				t.Fatalf("covered until %v, and %d of %v has no partition, %v", covered, id, at, err)
			}
		}

		if early := date("2026-11-18").Sub(covered); early < 0 || early > s.calendar.Layout.Period() {
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
		{(&catalog{}).plan(t, days, date("2026-05-15 12:00")), "t_2026_05_15  2026-05-15  2026-05-16  current day"},
		{(&catalog{}).plan(t, days, date("2026-05-15 12:00")), "times in Asia/Kolkata"},
		{c.plan(t, parts, date("2026-05-15 12:00")), "2026-05-15 12:00       2026-05-15 13:30"},
		{c.plan(t, parts, date("2026-05-15 12:00")), "drop    old                  2026-05-01             2026-05-15 00:00:00.5  beyond the retention of 2 periods of 1h30m0s"},
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
		s := mustSet(t, Day, WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		ctx, cancel := context.WithTimeout(t.Context(), 150*time.Second)
		defer cancel()
		if err := s.patiently(ctx, &waiter{}, func() error { return engine.ErrBusy }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the error is %v", err)
		}
		if n := strings.Count(log.String(), "level=WARN"); n != 2 || strings.Count(log.String(), "table=t") != n {
			t.Errorf("in 150 s the log has\n%s", &log)
		}
	})
}

// withoutLocks is a database with an empty table, whose lock is always refused.
type withoutLocks struct{ postgres.Engine }

var errRefused = errors.New("no lock")

func (withoutLocks) Connect(
	_ context.Context, _ *sql.DB, t *engine.Table, _ bool, f func(*engine.Table, engine.Querier) error,
) error {
	return f(t, nil)
}

func (withoutLocks) Inspect(context.Context, engine.Querier, *engine.Table) (*engine.State, error) {
	return &engine.State{Now: date("2026-01-15")}, nil
}

func (withoutLocks) Taken(context.Context, engine.Querier, *engine.State, string) (bool, error) {
	return false, nil
}

func (withoutLocks) Execute(context.Context, engine.Querier, *engine.Table, *engine.State, engine.Change) error {
	return errRefused
}

func (withoutLocks) Refused(err error) bool { return errors.Is(err, errRefused) }

func TestMaintainEndsWithoutAPauseAfterItsLastStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mustSet(t, Day, WithPatience(0), WithNow(func() time.Time { return date("2026-01-15") }),
			WithLogger(slog.New(slog.DiscardHandler)))
		s.engine = withoutLocks{}
		start := time.Now()
		_, err := s.Maintain(t.Context(), nil)
		if took := time.Since(start); !errors.Is(err, ErrLocked) || took > 0 {
			t.Errorf("%v after %v, want ErrLocked at once: the other steps need the same lock", err, took)
		}
	})
}
