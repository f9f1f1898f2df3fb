package partition

import (
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// tableOf returns a table with partitions from the first period on, and a row in the middle of each of these periods.
func tableOf(s *Set, first, last string, spans ...string) *catalog {
	c := &catalog{idle: true}
	for at := s.period(date(first)); at.from.Before(date(last)); at = s.next(at) {
		name := s.unit.name(at.from, s.zone)
		c.parts = append(c.parts, part{name: named("t_" + name), lo: at.lo, hi: at.hi})
		for i := 0; i < len(spans); i += 2 {
			if !at.from.Before(date(spans[i])) && at.from.Before(date(spans[i+1])) {
				c.keys = append(c.keys, at.lo/2+at.hi/2)
			}
		}
	}
	return c
}

func named(table string) name { return name{"", table} }

// Both clocks show now. What they say is true up to the end of the first span of rows.
func TestClocksThatAreAheadRemoveNothing(t *testing.T) {
	for _, c := range []struct {
		name    string
		unit    Unit
		options []Option
		now     string
		rows    []string
		problem string // empty: the expired partitions are dropped
	}{
		{"right", Month, []Option{WithRetain(12)}, "2026-11-15", []string{"2025-02", "2026-12"}, ""},
		{"no row of this month yet", Month, []Option{WithRetain(12)}, "2026-11-15", []string{"2025-02", "2026-11"}, ""},
		{"six months ahead", Month, []Option{WithRetain(12)}, "2026-11-15", []string{"2025-02", "2026-06"}, "from 2026-06-01 UTC to 2026-11-01 UTC"},
		{"and writers", Month, []Option{WithRetain(12)}, "2026-11-15", []string{"2025-02", "2026-06", "2026-11", "2026-12"}, "WithIdle(5)"},
		{"and writers for months", Month, []Option{WithRetain(12)}, "2026-11-15", []string{"2025-02", "2026-03", "2026-08", "2026-12"}, "from 2026-03-01 UTC to 2026-08-01 UTC"},
		{"two months ahead", Month, []Option{WithRetain(12)}, "2026-11-15", []string{"2025-02", "2026-10"}, "WithIdle(1)"},
		{"and one retained", Month, []Option{WithRetain(1)}, "2026-11-15", []string{"2025-02", "2026-10", "2026-11", "2026-12"}, "WithIdle(1)"},
		{"a gap that is not retained any more", Month, []Option{WithRetain(6)}, "2026-11-15", []string{"2025-02", "2025-09", "2026-05", "2026-12"}, ""},
		{"a gap that is accepted", Month, []Option{WithRetain(12), WithIdle(5)}, "2026-11-15", []string{"2025-02", "2026-06", "2026-11", "2026-12"}, ""},
		{"a gap that is longer than that", Month, []Option{WithRetain(12), WithIdle(4)}, "2026-11-15", []string{"2025-02", "2026-06", "2026-11", "2026-12"}, "WithIdle(5)"},
		{"a gap that begins before what is retained", Month, []Option{WithRetain(12)}, "2026-11-15", []string{"2025-02", "2025-10", "2026-05", "2026-12"}, "WithIdle(6)"},
		{"no older row", Month, []Option{WithRetain(12)}, "2026-11-15", []string{"2025-02", "2025-02", "2026-08", "2026-12"}, ""},
		{"a weekend", Day, []Option{WithRetain(30)}, "2026-11-16 08:00", []string{"2026-09-25", "2026-11-14"}, ""},
		{"a weekend, and a week retained", Day, []Option{WithRetain(7)}, "2026-11-16 08:00", []string{"2026-10-25", "2026-11-14"}, "WithIdle(2)"},
		{"rows that are written a day late", Day, []Option{WithRetain(7), WithGrace(30 * time.Hour)}, "2026-11-16 08:00", []string{"2026-10-25", "2026-11-15"}, ""},
		{"a week of 30 days", Day, []Option{WithRetain(30)}, "2026-11-16 08:00", []string{"2026-09-25", "2026-11-09"}, "WithIdle(7)"},
	} {
		test := func(t *testing.T, s *Set) {
			end := s.next(s.period(date(c.now))).to.Format(time.DateOnly)
			plan := tableOf(s, c.rows[0][:7], end, c.rows...).plan(t, s, date(c.now))
			switch {
			case c.problem != "":
				want(t, plan, "", c.problem)
			case len(plan.Problems) > 0 || !strings.HasPrefix(steps(plan), "drop "):
				t.Errorf("%s: steps: %s, problems: %v", c.name, steps(plan), plan.Problems)
			}
		}
		both(t, c.unit, append(c.options, WithAhead(1)), test)
		both(t, c.unit, append(c.options, WithAhead(1), WithLayout(snowflake.Clustered())), test)
	}
	both(t, Month, []Option{WithRetain(12), WithAhead(1)}, func(t *testing.T, s *Set) {
		table := tableOf(s, "2025-02", "2027-01", "2025-01", "2026-06")
		table.fallback = &part{name: named("t_default"), lo: noLow, hi: noHigh}
		table.keys = append(table.keys, s.first("2026-08-20"), s.first("2027-05"))
		if s.dialect == sqldb.MySQL { // any row in it would be a separate problem
			table.parts = table.parts[:len(table.parts)-1]
		}
		plan := table.plan(t, s, date("2026-11-15"))
		if len(plan.Problems) == 0 || !strings.Contains(plan.Problems[len(plan.Problems)-1].Error(), "from 2026-09-01 UTC to 2026-11-01 UTC") {
			t.Errorf("rows of the default partition count: %v", plan.Problems)
		}
	})
}

func TestLayoutThatTheRowsContradictDoesNothing(t *testing.T) {
	for _, c := range []struct {
		name        string
		rows, wrong snowflake.Layout
		options     []Option
		now         string
		span        []string // of partitions and rows
		problem     string
	}{
		{"an older epoch", snowflake.Default(), snowflake.MustPreset("twitter"), nil, "2026-11-15", []string{"2026-08", "2026-12"}, "is of 2012-09"},
		{"a newer epoch", snowflake.MustPreset("twitter"), snowflake.Default(), nil, "2026-11-15", []string{"2026-08", "2026-12"}, "is of 2041-01"},
		{"the right layout", snowflake.MustPreset("twitter"), snowflake.MustPreset("twitter"), nil, "2026-11-15", []string{"2026-08", "2026-12"}, ""},
		{"after two months", snowflake.Default(), snowflake.Default(), nil, "2026-11-15", []string{"2026-01", "2026-09"}, ""},
		{"after ten months", snowflake.Default(), snowflake.Default(), nil, "2026-11-15", []string{"2025-08", "2026-01"}, "is of 2025-12-16"},
		{"after ten months that are normal", snowflake.Default(), snowflake.Default(), []Option{WithIdle(10)}, "2026-11-15", []string{"2025-08", "2026-01"}, ""},
	} {
		both(t, Month, append(c.options, WithLayout(c.wrong), WithAhead(3)), func(t *testing.T, s *Set) {
			right := newSet(t, s.dialect, Month, WithLayout(c.rows))
			table := tableOf(right, c.span[0], c.span[1], c.span...)
			plan := table.plan(t, s, date(c.now))
			switch {
			case c.problem != "":
				want(t, plan, "", c.problem)
			case len(plan.Problems) > 0 || !strings.HasPrefix(steps(plan), "create "):
				t.Errorf("%s: steps: %s, problems: %v", c.name, steps(plan), plan.Problems)
			}
			table.keys = nil
			if text := table.plan(t, s, date(c.now)).String(); strings.Contains(text, "by this layout") {
				t.Errorf("%s: without rows it is\n%s", c.name, text)
			}
		})
	}
}

// They are in one partition, which was made by hand before the first Maintain.
func TestKeysOfASequenceContradictNoLayout(t *testing.T) {
	for unit, layout := range map[Unit]snowflake.Layout{Day: snowflake.Default(), Month: snowflake.Default(), Week: snowflake.Clustered()} {
		both(t, unit, []Option{WithAhead(1), WithLayout(layout)}, func(t *testing.T, s *Set) {
			table := &catalog{idle: true, keys: []int64{1, 1000}}
			table.parts = []part{{name: named("t_old"), lo: noLow, hi: 1001}}
			if plan := table.plan(t, s, date("2026-11-15")); len(plan.Problems) > 0 || !strings.HasPrefix(steps(plan), "create ") {
				t.Errorf("steps: %s, problems: %v", steps(plan), plan.Problems)
			}
		})
	}
}

// Strays of a clock that is ahead do not stop the partitions of the others.
func TestRowsFarAheadPreventNoPartition(t *testing.T) {
	both(t, Month, []Option{WithAhead(1)}, func(t *testing.T, s *Set) {
		table := tableOf(s, "2026-01", "2026-12", "2026-01", "2026-11")
		table.keys = append(table.keys, s.first("2026-11-30"))
		want(t, table.plan(t, s, date("2026-11-15")), "create t_2026_12")
		table.parts = table.parts[len(table.parts)-1:] // a row says so, no bound
		table.parts[0].lo, table.parts[0].hi = noLow, s.first("2027-12-15")
		table.keys = []int64{s.first("2026-10-15"), s.first("2027-11")}
		want(t, table.plan(t, s, date("2026-11-15")), "")
	})
}

// A Set with a wrong layout has made partitions in a table without rows.
func TestPartitionsOfAWrongLayoutAreReported(t *testing.T) {
	both(t, Month, []Option{WithAhead(3)}, func(t *testing.T, s *Set) {
		adopted := &catalog{}
		adopted.add(s, "t_legacy", "", "2041-02")
		want(t, adopted.plan(t, s, date("2026-11-15")), "", "t_legacy: it ends at 2041-02-01 UTC, long after 2027-03-01 UTC")
		table := tableOf(s, "2026-09", "2027-03")
		old := &catalog{}
		old.add(s, "first", "", "2025-02")
		old.add(s, "old", "2025-02", "2026-09") // long, but it leaves room
		table.parts = append(old.parts, table.parts...)
		wrong := newSet(t, s.dialect, Month, WithAhead(3), WithLayout(snowflake.MustPreset("twitter")))
		table.apply(wrong, table.plan(t, wrong, date("2026-11-15")))
		if len(table.parts) != 2+6+4 {
			t.Fatalf("the partitions are %v", table.parts)
		}
		want(t, table.plan(t, s, date("2026-11-15")), "", "t_2026_11_2: it ends at 2041-01-")
	})
}
