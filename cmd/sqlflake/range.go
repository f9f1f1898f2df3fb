package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // for systems without a database of time zones

	"github.com/spf13/cobra"

	"github.com/sqlflake/sqlflake/cmd/sqlflake/internal/timetext"
	"github.com/sqlflake/sqlflake/snowflake"
)

type rangeOptions struct {
	layout chosenLayout
	zone   *time.Location
	column string
	format string
}

func rangeCommand(now func() time.Time) *cobra.Command {
	o := &rangeOptions{format: "text"}
	c := &cobra.Command{
		Use:   "range FROM [TO]",
		Short: "Print the bounds of the IDs of a span of time, for SQL",
		Long: `FROM and TO are times: 2026, 2026-11, 2026-11-22, 2026-11-22T15:04, with or
without seconds, in the time zone of --tz; or with an offset, as RFC 3339 has
it; or now. FROM is included, TO is not. Without TO, a year, month or day is the
whole of it, and another time lasts until now.

Durations are 90s, 15m, 36h, 7d (of 24 hours), and combinations such as 1d12h.
As FROM a duration counts back from TO, or from now; as TO it counts from FROM.

The time in an ID can be ahead of the clock by the generator's lead, 10 ms
unless it was changed.`,
		Example: `  sqlflake range 2026-11
  sqlflake range 24h
  sqlflake range --tz Europe/Berlin 2026-11-22
  sqlflake range 2026-11-22T08:00 90m
  psql -c "SELECT * FROM orders WHERE $(sqlflake range --where 24h)"`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error { return o.run(streamsOf(c), now(), args) },
	}
	o.addFlags(c)
	return c
}

func (o *rangeOptions) addFlags(c *cobra.Command) {
	layoutFlag(c, &o.layout)
	zoneFlag(c, &o.zone, "time `zone` of times without an offset: UTC, Local or a name such as Europe/Berlin")
	c.Flags().StringVar(&o.column, "column", "id", "`name` of the key column")
	formatFlag(c, &o.format, "where", "print the condition only")
	formatFlag(c, &o.format, "json", "print JSON, with IDs as strings")
	c.MarkFlagsMutuallyExclusive("where", "json")
}

func (o *rangeOptions) run(s streams, now time.Time, args []string) error {
	from, to, err := spanOf(args, now.In(o.zone), o.zone)
	if err != nil {
		return err
	}
	found, err := o.bounds(from, to)
	if err != nil {
		return err
	}

	if from.Before(o.layout.Epoch()) || to.After(o.layout.End()) {
		fmt.Fprintf(s.errs, "note: the layout has times from %s to %s only\n",
			o.layout.Epoch().Format(time.RFC3339), o.layout.End().Format(time.RFC3339))
	}
	if o.format == "where" {
		fmt.Fprintln(s.out, found.Where)
		return nil
	}
	return printResult(s.out, o.format == "json", found, found.write)
}

// bounds is the output of range --json.
type bounds struct {
	From   timetext.Moment `json:"from"`
	To     timetext.Moment `json:"to"`
	Zone   string          `json:"zone"`
	Layout string          `json:"layout"`
	Ranges []jsonRange     `json:"ranges"`
	// With a Mask only those IDs count whose bits in it are in Times.
	Mask  snowflake.ID `json:"mask,omitzero"`
	Times *jsonRange   `json:"times,omitempty"`
	Where string       `json:"where"`
}

// jsonRange is the IDs from Lo on, below Hi; as JSON they are strings.
type jsonRange struct {
	Lo snowflake.ID `json:"lo"`
	Hi snowflake.ID `json:"hi"`
}

// bounds returns the bounds of the IDs of a span.
func (o *rangeOptions) bounds(from, to time.Time) (*bounds, error) {
	ranges, mask, times, err := o.layout.MaskedRanges(from, to)
	if err != nil {
		return nil, err
	}

	b := &bounds{
		From: timetext.Moment{Time: from}, To: timetext.Moment{Time: to}, Zone: o.zone.String(),
		Layout: o.layout.String(), Ranges: []jsonRange{}, // not null
		Where: conditionOf(o.column, ranges),
	}
	for _, r := range ranges {
		b.Ranges = append(b.Ranges, jsonRange(r))
	}
	if mask != 0 {
		b.Mask, b.Times = mask, (*jsonRange)(&times)
		b.Where += fmt.Sprintf(" AND (%s & %d) >= %d AND (%d & %s) < %d",
			o.column, mask, times.Lo, mask, o.column, times.Hi)
	}
	return b, nil
}

// conditionOf returns the ranges for SQL.
func conditionOf(column string, ranges []snowflake.Range) string {
	var parts []string
	for _, r := range ranges {
		parts = append(parts, fmt.Sprintf("%s >= %v AND %s < %v", column, r.Lo, column, r.Hi))
	}

	if len(parts) == 1 {
		return parts[0]
	}
	return "(" + strings.Join(parts, " OR ") + ")"
}

func (b *bounds) write(w io.Writer) {
	fmt.Fprintf(w, `zone    %s
from    %s
to      %s (not included)
layout  %s
where   %s
`, b.Zone, inBoth(b.From.Time), inBoth(b.To.Time), b.Layout, b.Where)
}

// inBoth prints the time in its zone, and in UTC if that is another one.
func inBoth(t time.Time) string {
	local, utc := t.Format(time.RFC3339Nano), t.UTC().Format(time.RFC3339Nano)
	if local == utc {
		return local
	}
	return local + " = " + utc
}

// spanOf returns the span of one argument or two.
func spanOf(args []string, now time.Time, zone *time.Location) (from, to time.Time, err error) {
	to = now
	back, isDuration := parseSpan(args[0])
	if !isDuration {
		var end time.Time // of a year, month or day
		if from, end, err = parseTime(args[0], now, zone); err != nil {
			return from, to, usage("%v, nor a duration, such as 36h or 7d", err)
		}
		if !end.IsZero() {
			to = end
		}
	}

	if len(args) == 2 {
		length, hasLength := parseSpan(args[1])
		switch {
		case isDuration && hasLength:
			return from, to, usage("%s and %s are two durations, want at least one time", args[0], args[1])
		case hasLength:
			to = from.Add(length)
		default:
			if to, _, err = parseTime(args[1], now, zone); err != nil {
				return from, to, usage("%v, nor a duration, such as 36h or 7d", err)
			}
		}
	}

	if isDuration {
		from = to.Add(-back)
	}
	if from.After(to) {
		return from, to, usage("FROM, %s, is after TO, %s", from.Format(time.RFC3339), to.Format(time.RFC3339))
	}
	return from, to, nil
}

// parseTime reads a time. For a year, month or day it also returns the end of it.
func parseTime(text string, now time.Time, zone *time.Location) (at, end time.Time, err error) {
	if text == "now" {
		return now, end, nil
	}

	for _, form := range []struct {
		layout              string
		years, months, days int
	}{{"2006", 1, 0, 0}, {"2006-01", 0, 1, 0}, {time.DateOnly, 0, 0, 1}} {
		if day, err := time.Parse(form.layout, text); err == nil {
			return beginOf(day, zone), beginOf(day.AddDate(form.years, form.months, form.days), zone), nil
		}
	}

	text = strings.Replace(text, " ", "T", 1)
	for _, form := range []string{
		"2006-01-02T15:04", "2006-01-02T15:04Z07:00",
		"2006-01-02T15:04:05", time.RFC3339, "2006-01-02T15:04:05Z07", // the last one is of psql
	} {
		if at, err := time.ParseInLocation(form, text, zone); err == nil {
			return at.In(zone), end, nil
		}
	}
	return at, end, usage("%q is not a time, such as 2026-11-22 or 2026-11-22T15:04", text)
}

// beginOf returns the first moment of a day, which is given by its midnight in UTC. If clocks are set at midnight, the
// day begins at 1:00, or it has two midnights and time.Date would choose either.
func beginOf(day time.Time, zone *time.Location) time.Time {
	at := time.Date(day.Year(), day.Month(), day.Day(), 0, 0, 0, 0, zone)
	start, end := at.ZoneBounds() // of this offset from UTC
	if at.Day() != day.Day() {
		return end // the clock skips midnight, or the day
	}

	_, before := start.Add(-1).Zone()
	_, now := at.Zone()
	first := at.Add(time.Duration(now-before) * time.Second)
	if before > now && first.Before(start) {
		return first
	}
	return at
}

// parseSpan reads a duration that may begin with days.
func parseSpan(text string) (time.Duration, bool) {
	if days, rest, ok := strings.Cut(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return 0, false
		}
		text = fmt.Sprintf("%dh%s", 24*n, rest)
	}

	d, err := time.ParseDuration(text)
	return d, err == nil && d > 0
}
