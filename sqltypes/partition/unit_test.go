package partition

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	location, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
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
		if err != nil {
			t.Fatal(err)
		}
		want, _ := time.Parse(time.RFC3339, c.utc)
		start := Day.start(noon, location)
		if !start.Equal(want) || !Day.next(Day.start(noon.Add(-36*time.Hour), location), location).Before(noon) {
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
			for _, unit := range []Unit{Day, Week, Month, Year, Unit(time.Hour), Unit(6 * time.Hour), Unit(36 * time.Hour), Unit(97 * time.Second)} {
				if layout.Period() > layout.Tick() && unit.shortest(location) < layout.Period() {
					continue
				}
				s := mustSet(t, unit, WithLayout(layout))
				if unit.calendar() {
					s.zone = location
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
	// A minute of a day that comes before the last hour of the day before.
	s := mustSet(t, Day, WithZone(zone(t, "America/St_Johns")), WithLayout(snowflake.MustPreset("twitter")))
	for _, text := range []string{"2010-11-07 02:29:59", "2010-11-07 02:30:30", "2010-11-07 02:31:30", "2010-11-07 03:30:30"} {
		checkPeriod(t, text, s, snowflake.ID(s.first(text)))
	}
}

func checkPeriod(t *testing.T, where string, s *Set, id snowflake.ID) {
	t.Helper()
	at := s.layout.Time(id)
	p, early := s.of(int64(id)), s.layout.Period()-s.layout.Tick()
	if at.Add(early).Before(p.from) || !at.Before(p.to) || int64(id) < p.lo || int64(id) >= p.hi {
		t.Errorf("%s: the %v of %v is from %v to %v, the ID %d is not in [%d, %d)", where, s.unit, at, p.from, p.to, id, p.lo, p.hi)
	}
	next, before := s.next(p), s.previous(p)
	if !next.from.Equal(p.to) || next.lo != p.hi || !before.to.Equal(p.from) || before.hi != p.lo {
		t.Errorf("%s: the %vs %v, %v and %v do not tile", where, s.unit, before, p, next)
	}
	if got := s.period(next.from.Add(-1)); got != p {
		t.Errorf("%s: the last instant of the %v %v belongs to %v", where, s.unit, p, got)
	}
	if bound := s.at(p.lo); early > 0 && p.lo > 0 && !bound.Equal(p.from) {
		t.Errorf("%s: the bound of the %v from %v is shown as %v", where, s.unit, p.from, bound)
	}
	mine := s.partitionName(p.from)
	if mine == s.partitionName(next.from) {
		t.Errorf("%s: the %vs from %v and %v on are both named %s", where, s.unit, p.from, next.from, mine)
	}
	if rest := at.UnixNano() % int64(max(s.unit, 1)); !s.unit.calendar() && at.Year() < 2262 && !s.period(at).from.Equal(at.Add(-time.Duration(rest))) {
		t.Errorf("%s: the period of %v with %v begins at %v", where, at, s.unit, p.from)
	}
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
		{Year, "Asia/Kathmandu", "t_2027"},
		{Unit(time.Hour), "UTC", "t_2026_12_31_23"},
		{Unit(48 * time.Hour), "UTC", "t_2026_12_31"},
		{Unit(15 * time.Minute), "UTC", "t_2026_12_31_2345"},
		{Unit(20 * time.Second), "UTC", "t_2026_12_31_235940"},
		{Unit(100 * time.Millisecond), "UTC", "t_2026_12_31_235959_900000000"},
	} {
		s := mustSet(t, c.unit, WithZone(zone(t, c.zone)))
		if got := s.partitionName(s.period(at).from); got != c.want {
			t.Errorf("%v in %s: %s, want %s", c.unit, c.zone, got, c.want)
		}
	}
}
