package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // for systems without a database of time zones

	"github.com/sqlflake/sqlflake/snowflake"
)

func rangeCommand() *command {
	c := newCommand("range", "FROM [TO]", "the bounds of the IDs of a span of time, for SQL", `
FROM and TO are times: 2026, 2026-11, 2026-11-22, 2026-11-22T15:04, with or without
seconds, in the time zone of -tz; or with an offset, as RFC 3339 has it; or now.
FROM is included, TO is not. Without TO, a year, month or day is the whole of it,
and another time lasts until now.

Durations are 90s, 15m, 36h, 7d (of 24 hours), and combinations such as 1d12h. As
FROM a duration counts back from TO, or from now; as TO it counts from FROM.

The time in an ID can be ahead of the clock by the generator's lead, 10 ms unless
it was changed.
`, `
snowflake range 2026-11
snowflake range 24h
snowflake range -tz Europe/Berlin 2026-11-22
snowflake range 2026-11-22T08:00 90m
psql -c "SELECT count(*) FROM orders AS o WHERE $(snowflake range -where -column o.id 24h)"
`)
	layout := c.layoutFlag()
	zone := c.zoneFlag("`ZONE` of times without an offset: UTC, Local or one such as Europe/Berlin")
	column := c.flags.String("column", "id", "the `NAME` of the key column")
	onlyWhere := c.flags.Bool("where", false, "print the condition only")
	asJSON := c.flags.Bool("json", false, "print JSON, with IDs as strings")
	c.run = func(_ context.Context, env environment, args []string) error {
		from, to, err := spanOf(args, env.now().In(*zone), *zone)
		if err != nil {
			return err
		}
		ranges, err := layout.Ranges(from, to)
		if err != nil {
			return err
		}
		if from.Before(layout.Epoch()) || to.After(layout.End()) {
			env.warn("note: the layout has times from %s to %s only", layout.Epoch().Format(time.RFC3339), layout.End().Format(time.RFC3339))
		}
		where, all := conditionOf(*column, ranges)
		switch {
		case *onlyWhere:
			_, err = fmt.Fprintln(env.out, where)
		case *asJSON:
			err = writeJSON(env.out, bounds{from, to, (*zone).String(), layout.String(), all, where})
		default:
			_, err = fmt.Fprintf(env.out, "zone    %s\nfrom    %s\nto      %s (not included)\nlayout  %s\nwhere   %s\n",
				*zone, inBoth(from), inBoth(to), layout, where)
		}
		return err
	}
	return c
}

// bounds is the output of range -json.
type bounds struct {
	From   time.Time   `json:"from"`
	To     time.Time   `json:"to"`
	Zone   string      `json:"zone"`
	Layout string      `json:"layout"`
	Ranges []jsonRange `json:"ranges"`
	Where  string      `json:"where"`
}

// jsonRange is the IDs from Lo on, below Hi; as JSON they are strings.
type jsonRange struct {
	Lo snowflake.ID `json:"lo"`
	Hi snowflake.ID `json:"hi"`
}

// inBoth prints the time in its zone, and in UTC if that is another one.
func inBoth(t time.Time) string {
	local, utc := t.Format(time.RFC3339Nano), t.UTC().Format(time.RFC3339Nano)
	if local == utc {
		return local
	}
	return local + " = " + utc
}

// conditionOf returns the ranges for SQL, and for JSON.
func conditionOf(column string, ranges []snowflake.Range) (where string, all []jsonRange) {
	var parts []string
	all = []jsonRange{} // not null
	for _, r := range ranges {
		parts = append(parts, fmt.Sprintf("%s >= %v AND %s < %v", column, r.Lo, column, r.Hi))
		all = append(all, jsonRange(r))
	}
	if len(parts) == 1 {
		return parts[0], all
	}
	return "(" + strings.Join(parts, " OR ") + ")", all
}

// spanOf returns the span of one argument or two.
func spanOf(args []string, now time.Time, zone *time.Location) (from, to time.Time, err error) {
	if len(args) < 1 || len(args) > 2 {
		return from, to, usage("want FROM, or FROM and TO")
	}
	back, isDuration := parseSpan(args[0])
	var end time.Time // of a year, month or day
	if !isDuration {
		if from, end, err = parseTime(args[0], now, zone); err != nil {
			return from, to, err
		}
	}
	to = now
	switch {
	case len(args) == 1 && !end.IsZero():
		to = end
	case len(args) == 2:
		if length, ok := parseSpan(args[1]); !ok {
			to, _, err = parseTime(args[1], now, zone)
		} else if !isDuration {
			to = from.Add(length)
		} else {
			err = usage("%s and %s are two durations, want at least one time", args[0], args[1])
		}
	}
	if isDuration {
		from = to.Add(-back)
	}
	if err == nil && from.After(to) {
		err = usage("FROM, %s, is after TO, %s", from.Format(time.RFC3339), to.Format(time.RFC3339))
	}
	return from, to, err
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
		"2006-01-02T15:04", "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05", time.RFC3339, "2006-01-02T15:04:05Z07", // psql
	} {
		if at, err := time.ParseInLocation(form, text, zone); err == nil {
			return at.In(zone), end, nil
		}
	}
	return at, end, usage("%q is neither a time, such as 2026-11-22T15:04, nor a duration, such as 36h or 7d", text)
}

// beginOf returns the first moment of a day, which is given by its midnight in UTC. If clocks are set at midnight, the
// day begins at 1:00 or has two midnights, of which time.Date would choose any.
func beginOf(day time.Time, zone *time.Location) time.Time {
	at := time.Date(day.Year(), day.Month(), day.Day(), 0, 0, 0, 0, zone)
	start, end := at.ZoneBounds() // of this offset from UTC
	if at.Day() != day.Day() {
		return end // the clock skips midnight, or the day
	}
	_, before := start.Add(-1).Zone()
	_, now := at.Zone()
	if first := at.Add(time.Duration(now-before) * time.Second); before > now && first.Before(start) {
		return first
	}
	return at
}

// parseSpan reads a duration that may begin with days.
func parseSpan(text string) (time.Duration, bool) {
	var d time.Duration
	if days, rest, ok := strings.Cut(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return 0, false
		}
		d = time.Duration(n) * 24 * time.Hour
		if text = rest; text == "" {
			return d, true
		}
	}
	rest, err := time.ParseDuration(text)
	return d + rest, err == nil && text != "0" && rest > 0
}
