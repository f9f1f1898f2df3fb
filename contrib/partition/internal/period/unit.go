// Package period divides time into the periods of partitions, and the keys of a layout with them.
package period

import (
	"cmp"
	"fmt"
	"sort"
	"time"
)

// Unit is a partition.Unit.
type Unit time.Duration

// Units of the calendar, with the values that they have in package partition.
const (
	Day   Unit = -1
	Week  Unit = -2 // of ISO 8601, from Monday on
	Month Unit = -3
)

// names has what a period of a unit is called, and what is added to the table's name.
var names = map[Unit]struct {
	noun, form string
	days       time.Duration // at least
}{
	Day:   {"day", "2006_01_02", 1},
	Week:  {"week", "", 7},
	Month: {"month", "2006_01", 28},
}

// Noun returns what a period of the unit is called.
func (u Unit) Noun() string { return cmp.Or(names[u].noun, "period") }

// ByCalendar reports whether the unit depends on a time zone.
func (u Unit) ByCalendar() bool { return u < 0 }

// Valid reports whether the unit is one of the calendar, or a duration of whole seconds, which names can tell.
func (u Unit) Valid() bool {
	if u.ByCalendar() {
		return u >= Month
	}
	return u != 0 && time.Duration(u)%time.Second == 0
}

// Shortest returns the least length of a period. The clock of a zone goes forward by up to 3 hours at a time.
func (u Unit) Shortest(zone *time.Location) time.Duration {
	switch {
	case !u.ByCalendar():
		return time.Duration(u)
	case zone == time.UTC:
		return names[u].days * 24 * time.Hour
	}
	return names[u].days*24*time.Hour - 3*time.Hour
}

// Start returns the start of the period that contains t.
func (u Unit) Start(t time.Time, zone *time.Location) time.Time {
	if !u.ByCalendar() {
		return truncate(t, time.Duration(u))
	}

	t = t.In(zone)
	year, month, day := t.Date()
	switch u {
	case Week:
		day -= (int(t.Weekday()) + 6) % 7
	case Month:
		day = 1
	}

	start := startOfDay(year, month, day, zone)
	if start.After(t) {
		// In St. John's the clock went from 00:01 back to 23:01 of the day before: the minute belongs to that day.
		return u.Start(start.Add(-1), zone)
	}

	return start
}

// Next returns the start of the period after the one that starts at start.
func (u Unit) Next(start time.Time, zone *time.Location) time.Time {
	if !u.ByCalendar() {
		return start.Add(time.Duration(u))
	}

	// The first instant of a day may be at 01:00, and its date is the one that counts.
	year, month, day := start.In(zone).Date()
	switch u {
	case Day:
		day++
	case Week:
		day += 7
	case Month:
		month++
	}

	return startOfDay(year, month, day, zone)
}

// startOfDay returns the first instant whose date in the zone is not before the given one. Where daylight saving time
// begins at midnight the day begins at 01:00; where it ends then an hour comes twice, and time.Date does not say which
// instant it returns. Time.ZoneBounds can't be used: its end is before the time on December 31 of leap years (Go 1.26).
func startOfDay(year int, month time.Month, day int, zone *time.Location) time.Time {
	const most = 36 * 60 * 60 // seconds by which a zone is before or after UTC, and more
	midnight := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	first := midnight.Unix() - most
	after := sort.Search(2*most, func(seconds int) bool {
		year, month, day := time.Unix(first+int64(seconds), 0).In(zone).Date()
		return !time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Before(midnight)
	})
	return time.Unix(first+int64(after), 0).In(zone)
}

// truncate rounds t down to a multiple of span since 1970. Time.Truncate counts from the year 1.
func truncate(t time.Time, span time.Duration) time.Time {
	epoch := time.Unix(0, 0)
	offset := epoch.Sub(epoch.Truncate(span))
	return t.Add(-offset).Truncate(span).Add(offset).UTC()
}

// Name returns what is added to the table's name for the period that starts at start.
func (u Unit) Name(start time.Time, zone *time.Location) string {
	if u == Week {
		year, week := start.In(zone).ISOWeek()
		return fmt.Sprintf("%04d_w%02d", year, week)
	}

	if u.ByCalendar() {
		return start.In(zone).Format(names[u].form)
	}

	return start.UTC().Format("2006_01_02_150405")
}
