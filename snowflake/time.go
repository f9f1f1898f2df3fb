package snowflake

import (
	"fmt"
	"math"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/internal/core"
)

// Time returns the start of the tick in which id was issued, in UTC. The true instant is up to one tick later, or
// earlier by up to the generator's lead. The zero Layout returns the zero Time.
func (l Layout) Time(id ID) time.Time {
	return l.space.Start(l.space.Time.Get(int64(id)))
}

// Start returns the start of the tick with the given number since the epoch, in UTC. A number beyond the last tick
// counts as the one after it, a negative one as 0. The zero Layout returns the zero Time.
func (l Layout) Start(tick int64) time.Time {
	return l.space.Start(min(core.Ticks(max(tick, 0)), 1<<l.space.Time.Width()))
}

// End returns the end of the last tick; from then on generators return ErrTimeExhausted. The zero Layout returns the
// zero Time.
func (l Layout) End() time.Time { return l.space.End() }

// MinAt returns the least ID of the [Layout.Period] that contains t: all smaller IDs are from before t. A period is a
// tick unless the time has two parts. MinAt returns ErrBeforeEpoch or ErrTimeExhausted for a t outside the layout's
// time, and ErrFieldOrder if the time is not the highest field.
func (l Layout) MinAt(t time.Time) (ID, error) {
	if err := l.checkTimeFirst(); err != nil {
		return 0, err
	}
	tick, err := l.space.TickOf(t)
	return ID(l.space.Time.Put(tick - tick%l.space.Time.Period())), err
}

// Range returns bounds for `id >= lo AND id < hi` that select the IDs with !Time(id).Before(from) &&
// Time(id).Before(to): the index of the primary key serves as an index on the time of creation. A time outside the
// layout counts as its nearest end, so Range(time.Time{}, t) covers everything before t.
//
// It returns ErrFieldOrder if the time is not the highest field, or has two parts and one of the times does not begin a
// [Layout.Period]; and ErrInvalidRange if from is after to. If the layout uses all 63 bits and to is at or after End, hi is the greatest int64, and the range does not contain that number.
func (l Layout) Range(from, to time.Time) (lo, hi ID, err error) {
	if err := l.checkTimeFirst(); err != nil {
		return 0, 0, err
	}
	if err := checkOrder(from, to); err != nil {
		return 0, 0, err
	}
	return l.bounds(from, to)
}

// Range is the IDs id with Lo <= id && id < Hi.
type Range struct{ Lo, Hi ID }

// maxRangeBits bounds what Ranges returns. A query with more ranges is slower than one by an index on the time.
const maxRangeBits = 8

// Ranges is Range for any layout: one range for each value of the fields above the time, in ascending order. A shard
// above the time spreads inserts over the ranges of TiDB or CockroachDB.
//
// It returns ErrFieldOrder if there are more than 256 values above the time, or as Range does for a time in two parts;
// and ErrInvalidRange if from is after to.
// The last range of a layout of 63 bits does not contain the greatest int64 if to is at or after End.
func (l Layout) Ranges(from, to time.Time) ([]Range, error) {
	if l.bits == 0 {
		return nil, errZeroLayout
	}
	above := l.space.Time.Top()
	if l.bits-above > maxRangeBits {
		return nil, fmt.Errorf("%w: the %d bits above it have more than %d values; the fields are %s", ErrFieldOrder,
			l.bits-above, 1<<maxRangeBits, l.names)
	}
	if err := checkOrder(from, to); err != nil {
		return nil, err
	}
	lo, hi, err := l.bounds(from, to)
	if err != nil {
		return nil, err
	}
	ranges := make([]Range, 1<<(l.bits-above))
	for i := range ranges {
		value := uint64(i) << (above & 63)
		ranges[i] = Range{ID(min(value+uint64(lo), math.MaxInt64)), ID(min(value+uint64(hi), math.MaxInt64))}
	}
	return ranges, nil
}

func checkOrder(from, to time.Time) error {
	if from.After(to) {
		return fmt.Errorf("%w: from %s to %s", ErrInvalidRange, from.Format(time.RFC3339Nano), to.Format(time.RFC3339Nano))
	}
	return nil
}

// bounds returns firstAtOrAfter of both times.
func (l Layout) bounds(from, to time.Time) (lo, hi ID, err error) {
	if lo, err = l.firstAtOrAfter(from); err != nil {
		return 0, 0, err
	}
	if hi, err = l.firstAtOrAfter(to); err != nil {
		return 0, 0, err
	}
	return lo, hi, nil
}

// firstAtOrAfter returns the least ID whose Time is not before t and whose fields above the time are 0. After the last
// tick it is the first number above them. It is an ErrFieldOrder if some IDs above that one are from before t.
func (l Layout) firstAtOrAfter(t time.Time) (ID, error) {
	tick, inside, before := l.space.TicksUntil(t)
	if before {
		return 0, nil
	}
	if inside {
		tick++
	}
	if tick > core.Ticks(l.space.Time.Max()) {
		return ID(min(uint64(1)<<l.space.Time.Top(), math.MaxInt64)), nil
	}
	if tick%l.space.Time.Period() != 0 {
		return 0, fmt.Errorf("%w: %s is inside a period of %v, in which IDs are not in order by time; the fields are %s",
			ErrFieldOrder, t.UTC().Format(time.RFC3339Nano), l.Period(), l.names)
	}
	return ID(l.space.Time.Put(tick)), nil
}

func (l Layout) checkTimeFirst() error {
	if l.bits == 0 {
		return errZeroLayout
	}
	if l.space.Time.Top() != l.bits {
		return fmt.Errorf("%w: the fields are %s", ErrFieldOrder, l.names)
	}
	return nil
}
