package snowflake

import (
	"fmt"
	"math"
	"time"
)

// MinAt returns the least ID of the tick that contains t. It returns ErrBeforeEpoch or ErrTimeExhausted for a t outside
// the layout's time, and ErrFieldOrder if the time is not the highest field.
func (l Layout) MinAt(t time.Time) (ID, error) {
	if err := l.checkTimeFirst(); err != nil {
		return 0, err
	}
	tick, err := l.tickOf(t)
	return l.time.put(int64(tick)), err
}

// MaxAt returns the greatest ID of the tick that contains t. Its errors are those of MinAt.
func (l Layout) MaxAt(t time.Time) (ID, error) {
	lo, err := l.MinAt(t)
	if err != nil {
		return 0, err
	}
	return lo | (1<<l.time.shift - 1), nil
}

// Range returns bounds for `id >= lo AND id < hi` that select the IDs with !Time(id).Before(from) &&
// Time(id).Before(to): the index of the primary key serves as an index on the time of creation. A time outside the
// layout counts as its nearest end, so Range(time.Time{}, t) covers everything before t.
//
// It returns ErrFieldOrder if the time is not the highest field, and ErrInvalidRange if from is after to. If the layout
// uses all 63 bits and to is at or after End, hi is the greatest int64, and the range does not contain that number.
func (l Layout) Range(from, to time.Time) (lo, hi ID, err error) {
	if err := l.checkTimeFirst(); err != nil {
		return 0, 0, err
	}
	if from.After(to) {
		return 0, 0, fmt.Errorf("%w: from %s to %s", ErrInvalidRange,
			from.Format(time.RFC3339Nano), to.Format(time.RFC3339Nano))
	}
	return l.firstAtOrAfter(from), l.firstAtOrAfter(to), nil
}

// firstAtOrAfter returns the least ID whose Time is not before t.
func (l Layout) firstAtOrAfter(t time.Time) ID {
	tick, inside, before := l.ticksUntil(t)
	if before {
		return 0
	}
	if inside {
		tick++
	}
	if tick > ticks(l.time.max()) {
		return ID(min(uint64(1)<<l.bits, math.MaxInt64))
	}
	return l.time.put(int64(tick))
}

func (l Layout) checkTimeFirst() error {
	if l.IsZero() {
		return errZeroLayout
	}
	if l.time.shift+l.time.width != l.bits {
		return fmt.Errorf("%w: the fields are %s", ErrFieldOrder, l.names)
	}
	return nil
}
