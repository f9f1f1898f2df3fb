// Package period divides time into the periods of partitions, and the keys of a layout with them.
package period

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

// Unit is a partition.Unit.
type Unit time.Duration

// Units of the calendar, with the values that they have in package partition.
const (
	Day   Unit = -1
	Week  Unit = -2 // of ISO 8601, from Monday on
	Month Unit = -3
)

// units has what a period of a unit of the calendar is called, what is added to the table's name, and its length.
var units = map[Unit]struct {
	noun, form   string
	months, days int
	least        time.Duration // in days
}{
	Day:   {"day", "2006_01_02", 0, 1, 1},
	Week:  {"week", "", 0, 7, 7},
	Month: {"month", "2006_01", 1, 0, 28},
}

// Noun returns what a period of the unit is called.
func (u Unit) Noun() string { return cmp.Or(units[u].noun, "period") }

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
	if !u.ByCalendar() {
		return time.Duration(u)
	}
	if zone == time.UTC {
		return units[u].least * 24 * time.Hour
	}
	return units[u].least*24*time.Hour - 3*time.Hour
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
	return startOfDay(year, month+time.Month(units[u].months), day+units[u].days, zone)
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

// Name returns what is added to the table's name for the period that starts at start. The zone is UTC unless the unit
// is one of the calendar.
func (u Unit) Name(start time.Time, zone *time.Location) string {
	if u == Week {
		year, week := start.In(zone).ISOWeek()
		return fmt.Sprintf("%04d_w%02d", year, week)
	}

	return start.In(zone).Format(cmp.Or(units[u].form, "2006_01_02_150405"))
}

// Calendar says which periods there are, and which IDs belong to them.
type Calendar struct {
	Unit   Unit
	Zone   *time.Location
	Layout snowflake.Layout
}

// Span is a span of time, a period or a part of one, and the IDs in it: Lo <= id && id < Hi. With a layout whose time
// has two parts, Lo and Hi are the starts of the layout's periods that contain From and To: the last rows before To are
// in the next period, so that none is removed too early.
type Span struct {
	From, To time.Time
	Lo, Hi   int64
}

// Containing returns the period that contains t. IDs before the epoch and after the layout's end belong to no period.
func (c Calendar) Containing(t time.Time) Span {
	from := c.Unit.Start(t, c.Zone)
	return c.span(from, c.Unit.Next(from, c.Zone))
}

// Next returns the period after p.
func (c Calendar) Next(p Span) Span { return c.span(p.To, c.Unit.Next(p.To, c.Zone)) }

// After returns the period n periods after p.
func (c Calendar) After(p Span, n int) Span {
	for range n {
		p = c.Next(p)
	}
	return p
}

// Before returns the period n periods before p, or the period of the epoch.
func (c Calendar) Before(p Span, n int) Span {
	for ; n > 0 && p.Lo > 0; n-- {
		p = c.Previous(p)
	}
	return p
}

// Previous returns the period before p.
func (c Calendar) Previous(p Span) Span { return c.Containing(p.From.Add(-1)) }

func (c Calendar) span(from, to time.Time) Span {
	return Span{from, to, c.Bound(from), c.Bound(to)}
}

// Bound returns the least ID of the layout's period that contains the first tick from t on.
func (c Calendar) Bound(t time.Time) int64 {
	ranges, _, _, _ := c.Layout.MaskedRanges(t, t) // partition.New has checked the layout
	return int64(ranges[0].Lo)
}

// Of returns the period that contains an ID.
func (c Calendar) Of(id int64) Span {
	p := c.Containing(c.Reached(id))
	if id >= p.Hi {
		return c.Next(p)
	}
	return p
}

// At returns the time of a bound: of the first ID that is not below it, or the start of the period that it begins.
func (c Calendar) At(bound int64) time.Time {
	if p := c.Of(bound); p.Lo == bound && bound > 0 {
		return Later(p.From, c.Reached(bound))
	}
	return c.timeOf(bound)
}

func (c Calendar) timeOf(id int64) time.Time { return c.Layout.Time(snowflake.ID(max(id, 0))) }

// Reached returns the earliest time at which an ID at or above a bound can be issued: the start of the layout's period
// that contains the bound's time. If the worker is above a part of the time, a higher worker is above the bound from
// the start of that period on.
func (c Calendar) Reached(bound int64) time.Time { return c.timeOf(c.Bound(c.timeOf(bound))) }

// Text returns a time for people, in the zone.
func (c Calendar) Text(t time.Time) string {
	return TimeText(t.In(c.Zone)) + t.In(c.Zone).Format(" MST")
}

// TimeText returns the date, and the time of day unless it is midnight.
func TimeText(t time.Time) string {
	text := strings.TrimSuffix(t.Format("2006-01-02 15:04:05.999999999"), " 00:00:00")
	return strings.TrimSuffix(text, ":00")
}

// Earlier returns the earlier one of two times.
func Earlier(a, b time.Time) time.Time { return slices.MinFunc([]time.Time{a, b}, time.Time.Compare) }

// Later returns the later one of two times.
func Later(a, b time.Time) time.Time { return slices.MaxFunc([]time.Time{a, b}, time.Time.Compare) }
