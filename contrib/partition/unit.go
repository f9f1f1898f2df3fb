package partition

import "time"

// Unit is the span of time of a partition: Day, Week or Month, which follow the calendar of a time zone, or a
// fixed duration of whole seconds, such as Unit(time.Hour) or Unit(6*time.Hour), which is counted from 1970-01-01 00:00
// UTC.
type Unit time.Duration

// Units of the calendar.
const (
	Day   Unit = -1
	Week  Unit = -2 // of ISO 8601, from Monday on
	Month Unit = -3
)
