package partition

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

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
		if unit.calendar() {
			options = append(options, WithZone(zone(t, "America/Havana")))
		}
		both(t, unit, options, func(t *testing.T, s *Set) {
			c := &catalog{state: state{table: s.table}}
			for now := date("2026-01-15"); now.Before(date("2027-02")); now = now.Add(17 * time.Hour) {
				before := slices.Clone(c.parts)
				c.apply(s, c.plan(t, s, now))
				if again := c.plan(t, s, now); len(again.Steps)+len(again.Problems) > 0 {
					t.Fatalf("at %v: a second plan has %v, %v", now, again.Steps, again.Problems)
				}
				last, oldest := s.after(s.period(now), 2), s.before(s.period(now.Add(-30*time.Hour)), 4)
				if got := c.parts[len(c.parts)-1]; got.hi != last.hi {
					t.Fatalf("at %v: the last partition is %+v, want the end of %v", now, got, last)
				}
				for i, p := range c.parts {
					if i > 0 && p.lo != c.parts[i-1].hi {
						t.Fatalf("at %v: %+v does not follow %+v", now, p, c.parts[i-1])
					}
					if p.hi <= oldest.lo {
						t.Fatalf("at %v: %+v is beyond the retention", now, p)
					}
				}
				for _, p := range before {
					kept := slices.ContainsFunc(c.parts, func(q part) bool { return p.name == q.name })
					if youngest := s.layout.Time(snowflake.ID(p.hi - 1)); !kept && !youngest.Before(oldest.from) {
						t.Fatalf("at %v: %+v is dropped, and retained is what is from %v on", now, p, oldest.from)
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
	for i, p := range c.parts[1:] {
		if p.lo != c.parts[i].hi {
			t.Errorf("%+v does not follow %+v", p, c.parts[i])
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
	_, err := makePlan(s, &state{now: date("2026-05-01")}, date("2026-05-01"), (&catalog{}).probe())
	if !errors.Is(err, ErrOption) || !strings.Contains(err.Error(), "10000 partitions from 2025-01-01") {
		t.Errorf("%v, want %v", err, ErrOption)
	}
}

func TestRowsInTheDefaultPartitionPreventThePartitionOfTheirTime(t *testing.T) {
	both(t, Month, []Option{WithAhead(2), WithDefault()}, func(t *testing.T, s *Set) {
		c := &catalog{}
		c.apply(s, c.plan(t, s, date("2026-01-15")))
		if c.fallback == nil || c.fallback.table != "t_default" {
			t.Fatalf("the default partition is %+v", c.fallback)
		}
		want(t, c.plan(t, s, date("2026-01-15")), "")
		c.keys = []int64{s.first("2026-04-20")}
		later := c.plan(t, s, date("2026-03-15"))
		if s.dialect == sqldb.MySQL { // each new one would copy all of its rows
			want(t, later, "", "t_default: it has rows, which the server would copy")
			return
		}
		want(t, later, "create t_2026_05", "t_2026_04: the default partition t_default has rows of its time: MoveDefault")
		c.keys = []int64{s.first("2026-06"), s.first("2026-04") - 1}
		want(t, c.plan(t, s, date("2026-03-15")), "create t_2026_04, create t_2026_05")
	})
	// One that has the name of another.
	c := &catalog{state: state{fallback: &part{name: named("t_2026_02"), lo: noLow, hi: noHigh}}}
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
		end, err := s.layout.MinAt(s.layout.End().Add(-1))
		if last := c.parts[len(c.parts)-1]; err != nil || last.hi < int64(end)|(int64(end)&-int64(end)-1) { // with all bits below the time
			t.Errorf("the last partition is %+v, the layout ends at %v", last, s.layout.End())
		}
	})
}

func TestClocksBeforeTheEpochAreAnError(t *testing.T) {
	s := mustSet(t, Month, WithAhead(1))
	c := &catalog{}
	for _, table := range []*catalog{c, tableOf(s, "2026-08", "2026-10", "2026-08", "2026-10")} {
		table.now = date("2024-12-31 23:59:59")
		if _, err := makePlan(s, &table.state, date("1970"), table.probe()); !errors.Is(err, snowflake.ErrBeforeEpoch) {
			t.Errorf("%d rows: %v, want %v", len(table.keys), err, snowflake.ErrBeforeEpoch)
		}
	}
	c.now = date("2025-02-15") // the other clock shows 1970: more is created, and nothing dropped
	plan, err := makePlan(s, &c.state, date("1970"), c.probe())
	if err != nil {
		t.Fatal(err)
	}
	want(t, plan, "create t_2025_01, create t_2025_02, create t_2025_03")
}

func TestNamesThatOthersHave(t *testing.T) {
	c := &catalog{taken: []string{"t_2026_02", "t_default"}}
	want(t, c.plan(t, mustSet(t, Month, WithAhead(1), WithDefault()), date("2026-01-15")), "create t_2026_01",
		"t_2026_02: a table of this name", "t_default: a table of this name")
	same := mustSet(t, Month, WithAhead(1), WithNames(func(time.Time) string { return "p" }))
	want(t, c.plan(t, same, date("2026-01-15")), "create p, create p_2")
}

// The period that ends at the greatest key and the default partition would both be VALUES LESS THAN MAXVALUE.
func TestMySQLHasOneLastPartition(t *testing.T) {
	layout := snowflake.MustLayout(time.Unix(0, 0), 28*time.Second, snowflake.Field{Name: "time", Bits: 27}, snowflake.Field{Name: "sequence", Bits: 36})
	const unit = 28 * time.Second << 20 // the layout ends with one
	now := layout.End().Add(-unit * 3 / 2)
	for last, options := range map[string][]Option{"t_2088_02_27_160416": nil, "t_default": {WithDefault()}} {
		s := newSet(t, sqldb.MySQL, Unit(unit), append(options, WithLayout(layout), WithAhead(1), WithNow(func() time.Time { return now }))...)
		text, err := s.TableOptions()
		if err != nil || strings.Count(text, "MAXVALUE") != 1 || !strings.HasSuffix(text, "`"+last+"` VALUES LESS THAN (MAXVALUE))") {
			t.Errorf("%s, %v, want %s as the last one", text, err, last)
		}
		c := &catalog{}
		c.apply(s, c.plan(t, s, now))
		want(t, c.plan(t, s, now), "") // nothing is left to do
	}
}
