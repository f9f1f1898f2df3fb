package period

import (
	"slices"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

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

// Reached returns the time from which on there can be IDs that are not below a bound: the start of the layout's
// period, in which a higher worker has IDs above a bound of any time.
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
