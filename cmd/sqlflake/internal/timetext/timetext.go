// Package timetext prints times and durations.
package timetext

import (
	"encoding/json"
	"strconv"
	"time"
)

const day = 24 * time.Hour

// YearSeconds is the mean length of a year.
const YearSeconds = 365.2425 * 24 * 60 * 60

// Moment is a time in JSON, where a time.Time can't have a year above 9999.
type Moment struct{ time.Time }

// MarshalJSON prints the time as RFC 3339 has it.
func (m Moment) MarshalJSON() ([]byte, error) {
	return json.Marshal(m.Format(time.RFC3339Nano))
}

// Second prints a time in UTC without fractions of a second. The zero time is "-".
func Second(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02T15:04:05Z")
}

// Years returns the years between two times, which can be more than a Duration holds.
func Years(from, to time.Time) float64 {
	return (float64(to.Unix()) - float64(from.Unix())) / YearSeconds
}

// Between prints the duration between two times with one unit.
func Between(from, to time.Time) string {
	d := to.Sub(from)
	if d >= 365*day {
		return strconv.FormatFloat(Years(from, to), 'f', 1, 64) + " years"
	}
	return Days(d)
}

// Days prints a duration, and from two days on how many days it has.
func Days(d time.Duration) string {
	switch {
	case d >= 2*day:
		return strconv.Itoa(int(d/day)) + " days"
	case d >= time.Second:
		d = d.Round(time.Second)
	}
	return d.String()
}
