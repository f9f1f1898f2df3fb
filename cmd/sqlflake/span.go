package main

import (
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // for systems without a database of time zones
)

// spanOf returns the span of one argument or two.
func spanOf(args []string, now time.Time, zone *time.Location) (from, to time.Time, err error) {
	to = now
	back, isDuration := parseSpan(args[0])
	if !isDuration {
		var end time.Time // of a year, month or day
		if from, end, err = parseTime(args[0], now, zone); err != nil {
			return from, to, err
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
				return from, to, err
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
	return at, end, usage("%q is neither a time, such as 2026-11-22T15:04, nor a duration, such as 36h or 7d", text)
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
	var d time.Duration
	if days, rest, ok := strings.Cut(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return 0, false
		}

		d = time.Duration(n) * 24 * time.Hour
		if rest == "" {
			return d, true
		}
		text = rest
	}

	rest, err := time.ParseDuration(text)
	isPositive := text != "0" && rest > 0
	return d + rest, err == nil && isPositive
}
