package partition

import (
	"cmp"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

func TestPartitionsAreDroppedAtTheExactEndOfRetentionAndGrace(t *testing.T) {
	both(t, Month, []Option{WithRetain(2), WithGrace(90 * time.Minute), WithAhead(1)}, func(t *testing.T, s *Set) {
		c := &catalog{}
		c.add(s, "january", "2026-01", "2026-02")
		c.add(s, "rest", "2026-02", "2027-01")
		want(t, c.plan(t, s, date("2026-04-01 01:29:59.999999999")), "")
		want(t, c.plan(t, s, date("2026-04-01 01:30")), "drop january")
	})
}

func TestOfTwoClocksTheEarlierDropsAndTheLaterCreates(t *testing.T) {
	both(t, Month, []Option{WithRetain(1), WithAhead(1)}, func(t *testing.T, s *Set) {
		for _, c := range []struct{ database, process, want string }{
			{"2026-03-15", "2026-03-15", "create t_2026_04, drop t_2026_01"},
			{"2026-02-15", "2026-03-15", "create t_2026_04"},
			{"2026-03-15", "2026-02-15", "create t_2026_04"},
			{"2026-02-15", "2026-02-15", ""},
		} {
			table := tableOf(s, "2026-01", "2026-04")
			table.idle, table.now = false, date(c.database)
			plan, err := makePlan(s, &table.state, date(c.process), table.probe())
			if want(t, plan, c.want); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestForeignRowsBlockTheDrop(t *testing.T) {
	layout := snowflake.MustLayout(date("2026-01-10"), time.Millisecond, snowflake.Field{Name: "time", Bits: 41},
		snowflake.Field{Name: "worker", Bits: 10}, snowflake.Field{Name: "sequence", Bits: 12})
	first := func(text string) int64 { return mustSet(t, Month, WithLayout(layout)).first(text) }
	const drop = "drop old"
	for _, c := range []struct {
		name     string
		from, to string
		key      int64
		start    string
		blocked  bool
	}{
		{"an ID of its month", "", "2026-06", first("2026-05-01"), "", false},
		{"an ID of the month before", "", "2026-06", first("2026-04-01"), "", false}, // the zone may have been another
		{"an older key", "", "2026-06", first("2026-04-01") - 1, "", true},
		{"a small key", "", "2026-06", 1, "", true},
		{"a negative key", "", "2026-06", -1, "", true},
		{"a small key in a partition that begins with 1", "2026-01-10 00:00:00.001", "2026-06", first("2026-01-10 00:00:00.002"), "", true},
		{"an older key, with a start", "", "2026-06", first("2026-04-01") - 1, "2026-01-15", false},
		{"the oldest key, with a start", "", "2026-06", first("2026-01-15"), "2026-01-15", false},
		{"a key before the start", "", "2026-06", first("2026-01-15") - 1, "2026-01-15", true},
		{"a key before the start, in a partition of a month", "2026-05", "2026-06", first("2026-05-02"), "2026-05-03", true},
		{"a small key, with a start", "", "2026-06", 1, "2026-01-10 00:00:00.001", true},
		{"a partition of a month", "2026-05", "2026-06", first("2026-05-01"), "", false},
		{"a small key in the month of the epoch", "", "2026-02", 1, "", true},
		{"a small key in the first partition, from 0 on", "2026-01", "2026-02", 1, "", true},
		{"the same, with a start", "2026-01", "2026-02", first("2026-01-10 00:00:00.001"), "2026-01-10 00:00:00.001", false},
		{"a hand-made partition for small keys", "", "2026-01-10 00:00:01", 1_000_000, "", true},
		{"the same, with a start", "", "2026-01-10 00:00:01", 1_000_000, "2026-05", true},
	} {
		options := []Option{WithLayout(layout), WithRetain(1), WithAhead(1)}
		if c.start != "" {
			options = append(options, WithStart(date(c.start)))
		}
		s := newSet(t, sqldb.Postgres, Month, options...)
		table := &catalog{keys: []int64{c.key, first("2026-08-01")}}
		table.add(s, "old", c.from, c.to)
		table.add(s, "new", c.to, "2027")
		plan := table.plan(t, s, date("2026-08-15"))
		if c.blocked {
			text := "or set WithStart to"
			if c.start != "" {
				text = "older than WithStart, " + c.start[:4]
			}
			want(t, plan, "", text)
		} else {
			want(t, plan, drop)
		}
		if t.Failed() {
			t.Fatal(c.name)
		}
		if !c.blocked && plan.Steps[0].floor > c.key {
			t.Errorf("%s: the floor of the step is %d, the key %d", c.name, plan.Steps[0].floor, c.key)
		}
	}
}

// A wrong layout, or both clocks, may show that all rows are old.
func TestNothingIsRemovedWithoutARowOfTheRetainedTime(t *testing.T) {
	for _, c := range []struct {
		name     string
		keys     []string
		fallback string // a key in the default partition
		problem  string
	}{
		{"no row", nil, "", "there is no row"},
		{"old rows", []string{"2026-01-20", "2026-03-31 23:59:59.999"}, "", "the youngest row is of 2026-03-31 23:59:59.999 UTC by this layout"},
		{"rows ahead of the clocks", []string{"2026-01-20", "2026-07-01"}, "2027-01-01", "the youngest row is of 2026-01-20 UTC"},
		{"the oldest row that is retained", []string{"2026-04-01"}, "", ""},
		{"a row of the current month", []string{"2026-06-30 23:59"}, "", ""},
		{"a row in the default partition", []string{"2026-01-20"}, "2026-05-20", ""},
	} {
		both(t, Month, []Option{WithRetain(2), WithAhead(1), WithIdle(2)}, func(t *testing.T, s *Set) {
			table := &catalog{idle: true}
			table.add(s, "old", "2026-01", "2026-02")
			table.add(s, "march", "2026-02", "2026-04")
			table.add(s, "april", "2026-04", "2026-05")
			table.add(s, "june", "2026-06", "2026-08")
			if c.fallback != "" { // it has the keys that no other one has
				table.fallback = &part{name: name{"", "t_default"}, lo: noLow, hi: noHigh}
				table.keys = append(table.keys, s.first(c.fallback))
			}
			for _, key := range c.keys {
				table.keys = append(table.keys, s.first(key))
			}
			table.loose = []part{{name: name{"s", "x"}, lo: s.first("2025-10"), hi: s.first("2025-11")}}
			plan := table.plan(t, s, date("2026-06-15"))
			if c.problem == "" {
				want(t, plan, "drop old, drop march, drop s.x")
			} else {
				want(t, plan, "", c.problem)
			}
		})
	}
}

func TestTheWholeTimeOfALayoutCanBeRetained(t *testing.T) {
	for _, unit := range []Unit{Day, Year, Unit(8760 * time.Hour), Unit(292 * 8760 * time.Hour)} {
		s := mustSet(t, unit, WithRetain(maxRetain), WithAhead(1))
		c := &catalog{}
		c.add(s, "all", "2025", "2092")
		if plan := c.plan(t, s, date("2092-06-01")); strings.Contains(steps(plan), "drop") {
			t.Errorf("%v: %v", unit, plan)
		}
	}
}

func archiveNothing(context.Context, string) error { return nil }

// On April 15 a month is retained. The partition old, of January, is beyond it, as is the detached table s.x; new is not.
func TestWhatHappensBeyondTheRetention(t *testing.T) {
	const created = "create t_2027_01, create t_2027_02, "
	none, keep, archive, concurrently := WithGrace(time.Hour), WithKeep(strings.ToUpper), WithArchive(archiveNothing), WithDetachConcurrently()
	moved := func(p *part) { p.twin, p.moved = "x", true }
	split := func(p *part) { p.twin, p.moved, p.split = "x", true, true }
	due := func(p *part) { p.due = true }
	archived := func(p *part) { p.archived = true }
	for _, c := range []struct {
		dialect       sqldb.Dialect // empty: both
		option        Option
		of            string      // what change is of; with s.x, that table exists
		change        func(*part) // nil: none
		now           string      // if it is not April 15
		want, problem string
		finish        bool
	}{
		{"", none, "old", nil, "", "drop old", "", false},
		{"", keep, "old", nil, "", "rename old", "", false},
		{"", archive, "old", nil, "", "detach old", "", false},
		{sqldb.Postgres, concurrently, "old", nil, "", "detach old", "", true},
		{sqldb.MySQL, concurrently, "old", nil, "", "drop old", "", false},
		{sqldb.Postgres, concurrently, "t_default", nil, "", "drop old", "", false},
		{sqldb.Postgres, none, "old", func(p *part) { p.pending = true }, "", "detach old", "", true},
		// Rows that were moved out of a partition are not forgotten.
		{sqldb.MySQL, none, "old", moved, "", "drop old", "", false},
		{sqldb.MySQL, none, "old", split, "", "", "old: an earlier call", false},
		{sqldb.MySQL, none, "old", moved, "2026-01-15", "", "old: an earlier call", false},
		// Detached tables are finished after partitions are created.
		{"", none, "s.x", nil, "2026-11-15", created + "drop old, drop s.x", "", false},
		{"", keep, "s.x", nil, "2026-11-15", created + "rename old, rename s.x", "", false},
		{"", archive, "s.x", nil, "2026-11-15", created + "detach old, archive s.x", "", false},
		{"", archive, "s.x", archived, "2026-11-15", created + "detach old, drop s.x", "", false},
		{"", none, "s.x", func(p *part) { p.hi = 1 << 62 }, "", "drop old", "s.x: it was detached, and is not beyond", false},
		// The first partition of MySQL has no lower bound, and so has the table that it becomes: there is a row with the key 7.
		{"", none, "s.x", func(p *part) { p.lo = noLow }, "", "drop old", "has rows outside of its bounds", false},
		// In a rolling deploy a Set without WithArchive runs beside one with it.
		{"", none, "s.x", due, "", "", "another Set is to archive it", false},
		{"", none, "old", due, "", "", "another Set is to archive it", false},
		{"", archive, "s.x", due, "", "detach old, archive s.x", "", false},
		{"", archive, "old", due, "", "detach old", "", false},
	} {
		both(t, Month, []Option{c.option, WithRetain(1)}, func(t *testing.T, s *Set) {
			if c.dialect != "" && c.dialect != s.dialect {
				return
			}
			table := &catalog{keys: []int64{7}}
			table.add(s, "old", "2026-01", "2026-02")
			table.add(s, "new", "2026-02", "2027")
			changed := &table.parts[0]
			switch c.of {
			case "t_default":
				table.fallback = &part{name: named("t_default"), lo: s.first("2027"), hi: noHigh}
			case "s.x":
				table.loose = []part{{name: name{"s", "x"}, lo: s.first("2025-10"), hi: s.first("2025-11")}}
				changed = &table.loose[0]
			}
			if c.change != nil {
				c.change(changed)
			}
			plan := table.plan(t, s, date(cmp.Or(c.now, "2026-04-15")))
			var problems []string
			if c.problem != "" {
				problems = []string{c.problem}
			}
			if want(t, plan, c.want, problems...); len(plan.Steps) > 0 && plan.Steps[0].finish != c.finish {
				t.Errorf("%+v: finish is %v", c, plan.Steps[0].finish)
			}
			if t.Failed() {
				t.Fatalf("%+v", c)
			}
		})
	}
}

func TestNoPartitionIsDetachedBehindAnInterruptedOne(t *testing.T) {
	s := mustSet(t, Month, WithRetain(1), WithDetachConcurrently())
	table := tableOf(s, "2026-01", "2026-08")
	table.idle, table.parts[0].pending = false, true
	plan := table.plan(t, s, date("2026-04-15"))
	if want(t, plan, "detach t_2026_01, detach t_2026_02"); plan.Steps[0].waits || !plan.Steps[1].waits {
		t.Errorf("%+v", plan.Steps)
	}
}
