package partition

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/contrib/partition/internal/engine"
	"github.com/sqlflake/sqlflake/contrib/partition/internal/period"
	"github.com/sqlflake/sqlflake/contrib/partition/internal/postgres"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	location, err := time.LoadLocation(name)
	must(t, err)
	return location
}

func TestDaysBeginAtTheirFirstInstant(t *testing.T) {
	for _, c := range []struct{ zone, day, utc, why string }{
		{"UTC", "2024-02-29", "2024-02-29T00:00:00Z", ""},
		{"Asia/Kathmandu", "2024-02-29", "2024-02-28T18:15:00Z", ""},
		{"America/Havana", "2024-03-10", "2024-03-10T05:00:00Z", "at 01:00: the clock goes forward at midnight"},
		{"Asia/Beirut", "2022-03-27", "2022-03-26T22:00:00Z", "the same"},
		{"America/Sao_Paulo", "2018-11-04", "2018-11-04T03:00:00Z", "the same"},
		{"America/Havana", "2024-11-03", "2024-11-03T04:00:00Z", "the hour from 00:00 on comes twice"},
		{"America/Sao_Paulo", "2018-02-18", "2018-02-18T03:00:00Z", "the hour until 24:00 of the day before comes twice"},
		{"Pacific/Apia", "2011-12-31", "2011-12-30T10:00:00Z", "the day before does not exist"},
		{"America/St_Johns", "2010-11-07", "2010-11-07T03:30:00Z", "at 00:01 the clock goes back to the day before"},
	} {
		location := zone(t, c.zone)
		noon, err := time.ParseInLocation("2006-01-02 15:04", c.day+" 12:00", location)
		must(t, err)
		want, _ := time.Parse(time.RFC3339, c.utc)
		start := period.Day.Start(noon, location)
		if !start.Equal(want) || !period.Day.Next(period.Day.Start(noon.Add(-36*time.Hour), location), location).Before(noon) {
			t.Errorf("%s %s (%s): begins at %v, want %v", c.zone, c.day, c.why, start.UTC(), want)
		}
	}
}

// All times of the layouts, and those around changes of the clock.
func TestPartitionOfAnIDIsThatOfItsTime(t *testing.T) {
	layout := func(tick time.Duration, timeBits, sequenceBits int) snowflake.Layout {
		return snowflake.MustLayout(time.Date(2005, 5, 5, 5, 5, 5, 5, time.UTC), tick,
			snowflake.Field{Name: "time", Bits: timeBits}, snowflake.Field{Name: "sequence", Bits: sequenceBits})
	}

	layouts := []snowflake.Layout{
		snowflake.Default(), snowflake.MustPreset("javascriptsafe"), snowflake.MustPreset("sonyflake"), layout(time.Second, 32, 10),
		layout(28*time.Second, 27, 36), layout(time.Second, 38, 1), layout(time.Millisecond, 41, 22), layout(11*time.Microsecond, 50, 1),
		snowflake.Clustered(),
		snowflake.MustLayout(time.Date(2005, 5, 5, 5, 5, 5, 5, time.UTC), time.Second, snowflake.Field{Name: "time", Bits: 20},
			snowflake.Field{Name: "worker", Bits: 3}, snowflake.Field{Name: "time", Bits: 16}, snowflake.Field{Name: "sequence", Bits: 9}),
	}

	zones := []string{
		"UTC", "Europe/Berlin", "America/Havana", "Asia/Beirut", "America/Sao_Paulo", "Pacific/Apia",
		"America/St_Johns", "Australia/Lord_Howe", "Asia/Kathmandu",
	}

	random := rand.New(rand.NewPCG(1, 2))
	for _, layout := range layouts {
		for _, zoneName := range zones {
			location := zone(t, zoneName)
			for _, unit := range []period.Unit{
				period.Day, period.Week, period.Month, period.Unit(time.Hour),
				period.Unit(6 * time.Hour), period.Unit(36 * time.Hour), period.Unit(97 * time.Second),
			} {
				if layout.Period() > layout.Tick() && unit.Shortest(location) < layout.Period() {
					continue
				}

				s := mustSet(t, Unit(unit), WithLayout(layout))
				if unit.ByCalendar() {
					s.calendar.Zone = location
				}

				for i := range 60 {
					id := snowflake.ID(random.Uint64() & (1<<layout.Bits() - 1))
					if i%2 == 0 { // the next change of the zone's clock, or near it
						_, change := layout.Time(id).In(location).ZoneBounds()
						near, err := layout.MinAt(change.Add(time.Duration(random.Int64N(int64(6*time.Hour)) - int64(3*time.Hour))))
						if err != nil {
							continue
						}
						id = near
					}
					checkPeriod(t, zoneName, s, id)
				}
			}
		}
	}
}

func checkPeriod(t *testing.T, where string, s *Set, id snowflake.ID) {
	t.Helper()
	at := s.calendar.Layout.Time(id)
	p, early := s.calendar.Of(int64(id)), s.calendar.Layout.Period()-s.calendar.Layout.Tick()
	if at.Add(early).Before(p.From) || !at.Before(p.To) || int64(id) < p.Lo || int64(id) >= p.Hi {
		t.Errorf("%s: the %v of %v is from %v to %v, the ID %d is not in [%d, %d)", where, s.calendar.Unit, at, p.From, p.To, id, p.Lo, p.Hi)
	}

	next, before := s.calendar.Next(p), s.calendar.Previous(p)
	if !next.From.Equal(p.To) || next.Lo != p.Hi || !before.To.Equal(p.From) || before.Hi != p.Lo {
		t.Errorf("%s: the %vs %v, %v and %v do not tile", where, s.calendar.Unit, before, p, next)
	}

	if got := s.calendar.Containing(next.From.Add(-1)); got != p {
		t.Errorf("%s: the last instant of the %v %v belongs to %v", where, s.calendar.Unit, p, got)
	}

	if bound := s.calendar.At(p.Lo); early > 0 && p.Lo > 0 && !bound.Equal(p.From) {
		t.Errorf("%s: the bound of the %v from %v is shown as %v", where, s.calendar.Unit, p.From, bound)
	}

	mine := nameOf(s, p.From)
	if mine == nameOf(s, next.From) {
		t.Errorf("%s: the %vs from %v and %v on are both named %s", where, s.calendar.Unit, p.From, next.From, mine)
	}

	if rest := at.UnixNano() % int64(max(s.calendar.Unit, 1)); !s.calendar.Unit.ByCalendar() && at.Year() < 2262 && !s.calendar.Containing(at).From.Equal(at.Add(-time.Duration(rest))) {
		t.Errorf("%s: the period of %v with %v begins at %v", where, at, s.calendar.Unit, p.From)
	}
}

func nameOf(s *Set, start time.Time) string {
	return s.table.Table + "_" + s.calendar.Unit.Name(start, s.calendar.Zone)
}

func TestNames(t *testing.T) {
	at := time.Date(2026, 12, 31, 23, 59, 59, 999_999_999, time.UTC)
	for _, c := range []struct {
		unit Unit
		zone string
		want string
	}{
		{Day, "UTC", "t_2026_12_31"},
		{Day, "Europe/Berlin", "t_2027_01_01"},
		{Week, "UTC", "t_2026_w53"},
		{Month, "UTC", "t_2026_12"},
		{Month, "Europe/Berlin", "t_2027_01"},
		{Unit(48 * time.Hour), "UTC", "t_2026_12_31_000000"},
		{Unit(20 * time.Second), "UTC", "t_2026_12_31_235940"},
	} {
		s := mustSet(t, c.unit, WithZone(zone(t, c.zone)))
		if got := nameOf(s, s.calendar.Containing(at).From); got != c.want {
			t.Errorf("%v in %s: %s, want %s", c.unit, c.zone, got, c.want)
		}
	}
}

func TestBadSettingsAreRejected(t *testing.T) {
	berlin := zone(t, "Europe/Berlin")
	field := func(name string, bits int) snowflake.Field { return snowflake.Field{Name: name, Bits: bits} }
	shardFirst := snowflake.MustLayout(time.Unix(0, 0), time.Millisecond, field("shard", 4), field("time", 41), field("sequence", 10))
	for _, c := range []struct {
		name    string
		dialect sqldb.Dialect
		table   string
		unit    Unit
		options []Option
		want    error
		text    string
	}{
		{"SQLite", sqldb.SQLite, "t", Day, nil, ErrOption, "sqlite"},
		{"no table", sqldb.MySQL, "", Day, nil, ErrOption, "1 to 6"},
		{"no schema", sqldb.MySQL, ".t", Day, nil, ErrOption, ".t"},
		{"no table in a schema", sqldb.MySQL, "s.", Day, nil, ErrOption, "1 to 6"},
		{"three parts", sqldb.Postgres, "a.b.c", Day, nil, ErrOption, "a.b.c"},
		{"zero byte", sqldb.Postgres, "a\x00", Day, nil, ErrOption, "a\\x00"},
		{"no UTF-8", sqldb.Postgres, "a\xff", Day, nil, ErrOption, "a\\xff"},
		{"long name", sqldb.Postgres, strings.Repeat("a", 64), Day, nil, ErrOption, "63 bytes"},
		{"long name on MySQL", sqldb.MySQL, strings.Repeat("a", 65), Day, nil, ErrOption, "64 bytes"},
		{"no unit", sqldb.Postgres, "t", 0, nil, ErrOption, "unit 0"},
		{"negative unit", sqldb.Postgres, "t", Unit(-5), nil, ErrOption, "-5"},
		{"part of a second", sqldb.Postgres, "t", Unit(1500 * time.Millisecond), nil, ErrOption, "whole seconds"},
		{"unit below a period", sqldb.Postgres, "t", Unit(time.Hour), []Option{WithLayout(snowflake.Clustered())}, ErrOption, "1h9m54.304s"},
		{"hours of a zone", sqldb.Postgres, "t", Unit(time.Hour), []Option{WithZone(berlin)}, ErrOption, "Europe/Berlin"},
		{"nil", sqldb.Postgres, "t", Day, []Option{nil}, ErrOption, "nil"},
		{"shard first", sqldb.Postgres, "t", Day, []Option{WithLayout(shardFirst)}, snowflake.ErrFieldOrder, "shard time sequence"},
		{"scattered", sqldb.Postgres, "t", Day, []Option{WithLayout(snowflake.Scattered())}, snowflake.ErrFieldOrder, "sequence time worker"},
		{"no layout", sqldb.Postgres, "t", Day, []Option{WithLayout(snowflake.Layout{})}, snowflake.ErrLayout, "the table t"},
		{"no key", sqldb.Postgres, "t", Day, []Option{WithKey("")}, ErrOption, "WithKey"},
		{"no zone", sqldb.Postgres, "t", Day, []Option{WithZone(nil)}, ErrOption, "WithZone"},
		{"none ahead", sqldb.Postgres, "t", Day, []Option{WithAhead(0)}, ErrOption, "[1, 1000]"},
		{"far ahead", sqldb.Postgres, "t", Day, []Option{WithAhead(1001)}, ErrOption, "1001"},
		{"none retained", sqldb.Postgres, "t", Day, []Option{WithRetain(0)}, ErrOption, "all partitions are kept"},
		{"many retained", sqldb.Postgres, "t", Day, []Option{WithRetain(100_001)}, ErrOption, "100001"},
		{"short grace", sqldb.Postgres, "t", Day, []Option{WithGrace(time.Minute - 1)}, ErrOption, "59.999999999s"},
		{"no start", sqldb.Postgres, "t", Day, []Option{WithStart(time.Time{})}, ErrOption, "WithStart"},
		{"no lock timeout", sqldb.Postgres, "t", Day, []Option{WithLockTimeout(0)}, ErrOption, "[1ms, 1m]"},
		{"long lock timeout", sqldb.Postgres, "t", Day, []Option{WithLockTimeout(time.Minute + 1)}, ErrOption, "1m0.000000001s"},
		{"no archive", sqldb.Postgres, "t", Day, []Option{WithArchive(nil)}, ErrOption, "Archive"},
		{"Keep and Archive", sqldb.Postgres, "t", Day, []Option{WithKeep(), WithArchive(archiveNothing)}, ErrOption, "Archive"},
		{"no logger", sqldb.Postgres, "t", Day, []Option{WithLogger(nil)}, ErrOption, "WithLogger"},
	} {
		s, err := New(c.dialect, c.table, c.unit, c.options...)
		if s != nil || !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, %v, want %v with %q", c.name, s, err, c.want, c.text)
		}
	}
}

func TestNamesThatAreTooLongEndWithAChecksum(t *testing.T) {
	long := strings.Repeat("t", 46)
	for table, want := range map[string]string{
		"t": "t_legacy", long + strings.Repeat("t", 14): long + "t_1101f03e_legacy", long + "ä" + strings.Repeat("ö", 6): long + "_29ea1b1e_legacy",
	} {
		if got := engine.FitName(postgres.Engine{}, table, "_legacy"); got != want {
			t.Errorf("%s: %s, want %s", table, got, want)
		}
	}
	s, err := New(sqldb.Postgres, long+"tttttttttt", Month, WithAhead(1))
	must(t, err)
	want(t, (&catalog{}).plan(t, s, date("2026-05-15")), "create "+long+"_e8e51cd6_2026_05, create "+long+"_e8e51cd6_2026_06")
}

// On MySQL a partition of a table with a long name becomes a table of its own name: with both the name would be too long.
func TestTablesThatPartitionsBecomeHaveTheNameOfTheirs(t *testing.T) {
	long := strings.Repeat("x", 60)
	for _, c := range []struct{ parent, partition, want string }{
		{"t", "t_2026_05", "t_2026_05"},
		{"t", "may", "t_may"},
		{long, "may", long + "_may"},
		{long, "2026_05", "2026_05"},
		{"", "t_2026_05", "t_2026_05"}, // detached before
	} {
		part := engine.Part{Name: named(c.partition), Parent: named(c.parent)}
		if got := part.TableName(); got != c.want {
			t.Errorf("%s of %s becomes %s, want %s", c.partition, c.parent, got, c.want)
		}
	}
}
