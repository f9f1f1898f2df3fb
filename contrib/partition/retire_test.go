package partition

import (
	"cmp"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/contrib/partition/internal/engine"
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
			table.idle, table.Now = false, date(c.database)
			plan, err := makePlan(s, &table.State, date(c.process), table.probe())
			must(t, err)
			want(t, plan, c.want)
		}
	})
}

func TestForeignRowsBlockTheDrop(t *testing.T) {
	layout := snowflake.MustLayout(date("2026-01-10"), time.Millisecond, snowflake.Field{Name: "time", Bits: 41},
		snowflake.Field{Name: "worker", Bits: 10}, snowflake.Field{Name: "sequence", Bits: 12})
	first := func(text string) int64 { return mustSet(t, Month, WithLayout(layout)).first(text) }
	const sequence, early = "or set WithStart to", "older than WithStart, 2026"
	for _, c := range []struct {
		name     string
		from, to string
		key      int64
		start    string
		problem  string
	}{
		{"an ID of its month", "", "2026-06", first("2026-05-01"), "", ""},
		{"an ID of the month before", "", "2026-06", first("2026-04-01"), "", ""}, // the zone may have been another
		{"an older key", "", "2026-06", first("2026-04-01") - 1, "", sequence},
		{"a small key", "", "2026-06", 1, "", sequence},
		{"a negative key", "", "2026-06", -1, "", sequence},
		{"a small key in a partition that begins with 1", "2026-01-10 00:00:00.001", "2026-06", first("2026-01-10 00:00:00.002"), "", sequence},
		{"an older key, with a start", "", "2026-06", first("2026-04-01") - 1, "2026-01-15", ""},
		{"the oldest key, with a start", "", "2026-06", first("2026-01-15"), "2026-01-15", ""},
		{"a key before the start", "", "2026-06", first("2026-01-15") - 1, "2026-01-15", early},
		{"a key before the start, in a partition of a month", "2026-05", "2026-06", first("2026-05-02"), "2026-05-03", early},
		{"a small key, with a start", "", "2026-06", 1, "2026-01-10 00:00:00.001", early},
		{"a partition of a month", "2026-05", "2026-06", first("2026-05-01"), "", ""},
		{"a small key in the month of the epoch", "", "2026-02", 1, "", sequence},
		{"a small key in the first partition, from 0 on", "2026-01", "2026-02", 1, "", sequence},
		{"the same, with a start", "2026-01", "2026-02", first("2026-01-10 00:00:00.001"), "2026-01-10 00:00:00.001", ""},
		{"a hand-made partition for small keys", "", "2026-01-10 00:00:01", 1_000_000, "", sequence},
		{"the same, with a start", "", "2026-01-10 00:00:01", 1_000_000, "2026-05", early},
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
		if want(t, plan, stepsUnless(c.problem, "drop old"), c.problem); t.Failed() {
			t.Fatal(c.name)
		}

		if c.problem == "" && plan.Steps[0].change.Floor > c.key {
			t.Errorf("%s: the floor of the step is %d, the key %d", c.name, plan.Steps[0].change.Floor, c.key)
		}
	}
}

// A wrong layout, or both clocks, may show that all rows are old.
func TestNothingIsRemovedWithoutARowOfTheRetainedTime(t *testing.T) {
	for _, c := range []struct {
		name        string
		keys        []string
		defaultPart string // a key in the default partition
		problem     string
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
			if c.defaultPart != "" { // it has the keys that no other one has
				table.Default = &engine.Part{Name: named("t_default"), Lo: engine.NoLow, Hi: engine.NoHigh}
				table.keys = append(table.keys, s.first(c.defaultPart))
			}

			for _, key := range c.keys {
				table.keys = append(table.keys, s.first(key))
			}

			table.Detached = []engine.Part{{Name: engine.Name{Schema: "s", Table: "x"}, Lo: s.first("2025-10"), Hi: s.first("2025-11")}}
			plan := table.plan(t, s, date("2026-06-15"))
			want(t, plan, stepsUnless(c.problem, "drop old, drop march, drop s.x"), c.problem)
		})
	}
}

func TestTheWholeTimeOfALayoutCanBeRetained(t *testing.T) {
	for _, unit := range []Unit{Day, Unit(8760 * time.Hour), Unit(292 * 8760 * time.Hour)} {
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
	none, keep, archive := WithGrace(time.Hour), WithKeep(), WithArchive(archiveNothing)
	moved := func(p *engine.Part) { p.ExchangeTable, p.Moved = "x", true }
	split := func(p *engine.Part) { p.ExchangeTable, p.Moved, p.Split = "x", true, true }
	due := func(p *engine.Part) { p.Due = true }
	archived := func(p *engine.Part) { p.Archived = true }
	for _, c := range []struct {
		dialect       sqldb.Dialect // empty: both
		option        Option
		of            string             // what change is of; with s.x, that table exists
		change        func(*engine.Part) // nil: none
		now           string             // if it is not April 15
		want, problem string
	}{
		{"", none, "old", nil, "", "drop old", ""},
		{"", keep, "old", nil, "", "keep old", ""},
		{"", archive, "old", nil, "", "detach old", ""},
		{sqldb.Postgres, none, "old", func(p *engine.Part) { p.Pending = true }, "", "", "old: a DETACH CONCURRENTLY was interrupted"},
		// Rows that were moved out of a partition are not forgotten.
		{sqldb.MySQL, none, "old", moved, "", "drop old", ""},
		{sqldb.MySQL, none, "old", split, "", "", "old: an earlier call"},
		{sqldb.MySQL, none, "old", moved, "2026-01-15", "", "old: an earlier call"},
		// Detached tables are finished after partitions are created.
		{"", none, "s.x", nil, "2026-11-15", created + "drop old, drop s.x", ""},
		{"", keep, "s.x", nil, "2026-11-15", created + "keep old, keep s.x", ""},
		{"", archive, "s.x", nil, "2026-11-15", created + "detach old, archive s.x", ""},
		{"", archive, "s.x", archived, "2026-11-15", created + "detach old, drop s.x", ""},
		{"", none, "s.x", func(p *engine.Part) { p.Hi = 1 << 62 }, "", "drop old", "s.x: it was detached, and is not beyond"},
		// The first partition of MySQL has no lower bound, and so has the table that it becomes: there is a row with the key 7.
		{"", none, "s.x", func(p *engine.Part) { p.Lo = engine.NoLow }, "", "drop old", "has rows outside of its bounds"},
		// In a rolling deploy a Set without WithArchive runs beside one with it.
		{"", none, "s.x", due, "", "", "another Set is to archive it"},
		{"", none, "old", due, "", "", "another Set is to archive it"},
		{"", archive, "s.x", due, "", "detach old, archive s.x", ""},
		{"", archive, "old", due, "", "detach old", ""},
	} {
		both(t, Month, []Option{c.option, WithRetain(1)}, func(t *testing.T, s *Set) {
			if c.dialect != "" && c.dialect != dialectOf(s) {
				return
			}

			table := &catalog{keys: []int64{7}}
			table.add(s, "old", "2026-01", "2026-02")
			table.add(s, "new", "2026-02", "2027")
			changed := &table.Parts[0]
			if c.of == "s.x" {
				table.Detached = []engine.Part{{Name: engine.Name{Schema: "s", Table: "x"}, Lo: s.first("2025-10"), Hi: s.first("2025-11")}}
				changed = &table.Detached[0]
			}

			if c.change != nil {
				c.change(changed)
			}

			plan := table.plan(t, s, date(cmp.Or(c.now, "2026-04-15")))
			if want(t, plan, c.want, c.problem); t.Failed() {
				t.Fatalf("%+v", c)
			}
		})
	}
}

// tableOf returns a table with partitions from the first period on, and a row in the middle of each of these periods.
func tableOf(s *Set, first, last string, spans ...string) *catalog {
	c := &catalog{idle: true}
	for at := s.calendar.Containing(date(first)); at.From.Before(date(last)); at = s.calendar.Next(at) {
		name := s.calendar.Unit.Name(at.From, s.calendar.Zone)
		c.Parts = append(c.Parts, engine.Part{Name: named("t_" + name), Lo: at.Lo, Hi: at.Hi})
		for i := 0; i < len(spans); i += 2 {
			if !at.From.Before(date(spans[i])) && at.From.Before(date(spans[i+1])) {
				c.keys = append(c.keys, at.Lo/2+at.Hi/2)
			}
		}
	}
	return c
}

func named(table string) engine.Name { return engine.Name{Table: table} }

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
			end := s.calendar.Next(s.calendar.Containing(date(c.now))).To.Format(time.DateOnly)
			plan := tableOf(s, c.rows[0][:7], end, c.rows...).plan(t, s, date(c.now))
			if want(t, plan, stepsUnless(c.problem, "drop ..."), c.problem); t.Failed() {
				t.Fatal(c.name)
			}
		}
		both(t, c.unit, append(c.options, WithAhead(1)), test)
		both(t, c.unit, append(c.options, WithAhead(1), WithLayout(snowflake.Clustered())), test)
	}

	both(t, Month, []Option{WithRetain(12), WithAhead(1)}, func(t *testing.T, s *Set) {
		table := tableOf(s, "2025-02", "2027-01", "2025-01", "2026-06")
		table.Default = &engine.Part{Name: named("t_default"), Lo: engine.NoLow, Hi: engine.NoHigh}
		table.keys = append(table.keys, s.first("2026-08-20"), s.first("2027-05"))
		if s.engine.Adjoins() { // any row in it would be a separate problem
			table.Parts = table.Parts[:len(table.Parts)-1]
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
			right := newSet(t, dialectOf(s), Month, WithLayout(c.rows))
			table := tableOf(right, c.span[0], c.span[1], c.span...)
			plan := table.plan(t, s, date(c.now))
			want(t, plan, stepsUnless(c.problem, "create ..."), c.problem)
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
			table.Parts = []engine.Part{{Name: named("t_old"), Lo: engine.NoLow, Hi: 1001}}
			want(t, table.plan(t, s, date("2026-11-15")), "create ...")
		})
	}
}

// Strays of a clock that is ahead do not stop the partitions of the others.
func TestRowsFarAheadPreventNoPartition(t *testing.T) {
	both(t, Month, []Option{WithAhead(1)}, func(t *testing.T, s *Set) {
		table := tableOf(s, "2026-01", "2026-12", "2026-01", "2026-11")
		table.keys = append(table.keys, s.first("2026-11-30"))
		want(t, table.plan(t, s, date("2026-11-15")), "create t_2026_12")
		table.Parts = table.Parts[len(table.Parts)-1:] // a row says so, no bound
		table.Parts[0].Lo, table.Parts[0].Hi = engine.NoLow, s.first("2027-12-15")
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
		table.Parts = append(old.Parts, table.Parts...)
		wrong := newSet(t, dialectOf(s), Month, WithAhead(3), WithLayout(snowflake.MustPreset("twitter")))
		table.apply(wrong, table.plan(t, wrong, date("2026-11-15")))
		if len(table.Parts) != 2+6+4 {
			t.Fatalf("the partitions are %v", table.Parts)
		}

		want(t, table.plan(t, s, date("2026-11-15")), "", "t_2026_11_2: it ends at 2041-01-")
	})
}
