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

// End returns the end of the last tick, when generators begin to return ErrTimeExhausted. The zero Layout returns the
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
// [Layout.Period], see [Layout.MaskedRanges]; and ErrInvalidRange if from is after to. If the layout uses all 63 bits
// and to is at or after End, hi is the greatest int64, and the range does not contain that number.
func (l Layout) Range(from, to time.Time) (lo, hi ID, err error) {
	if err := l.checkTimeFirst(); err != nil {
		return 0, 0, err
	}

	ranges, mask, _, err := l.MaskedRanges(from, to)
	if err != nil {
		return 0, 0, err
	}
	if mask != 0 {
		return 0, 0, fmt.Errorf("%w: %s or %s is inside a period of %v; the fields are %s", ErrFieldOrder,
			from.UTC().Format(time.RFC3339Nano), to.UTC().Format(time.RFC3339Nano), l.Period(), l.names)
	}
	return ranges[0].Lo, ranges[0].Hi, nil
}

// Range is the IDs id with Lo <= id && id < Hi.
type Range struct{ Lo, Hi ID }

// maxRangeBits bounds what MaskedRanges returns. A query with more ranges is slower than one by an index on the time.
const maxRangeBits = 8

// MaskedRanges is Range for all times of all layouts: it returns one range for each value of the fields above the time,
// in ascending order, such as 128 with [Scattered], and a mask for a time in two parts, as [Clustered] has it. An ID
// that Range describes is in one of the ranges, and id&mask is in times. If the ranges suffice, mask is 0 and times
// contains 0, so with the time first one statement serves all layouts (in SQL & binds stronger than >=):
//
//	ranges, mask, times, err := layout.MaskedRanges(from, to)
//	rows, err := db.Query("SELECT id FROM orders WHERE id >= ? AND id < ? AND id & ? >= ? AND ? & id < ?",
//		ranges[0].Lo, ranges[0].Hi, mask, times.Lo, mask, times.Hi)
//
// With the operands of both & in the same order, PostgreSQL expects far too few rows. The ranges are of whole periods,
// so the database reads up to two periods more than it finds.
//
// It returns ErrFieldOrder if there are more than 256 values above the time, and ErrInvalidRange if from is after to.
// The last range of a layout of 63 bits does not contain the greatest int64 if to is at or after End.
func (l Layout) MaskedRanges(from, to time.Time) (ranges []Range, mask ID, times Range, err error) {
	if l.bits == 0 {
		return nil, 0, Range{}, errZeroLayout
	}

	above := l.space.Time.Top()
	if l.bits-above > maxRangeBits {
		return nil, 0, Range{}, fmt.Errorf("%w: the %d bits above the time have more than %d values; the fields are %s",
			ErrFieldOrder, l.bits-above, 1<<maxRangeBits, l.names)
	}

	if from.After(to) {
		return nil, 0, Range{}, fmt.Errorf("%w: from %s to %s", ErrInvalidRange,
			from.Format(time.RFC3339Nano), to.Format(time.RFC3339Nano))
	}

	first, end, period := l.firstTick(from), l.firstTick(to), l.space.Time.Period()
	lo, hi := first-first%period, end+(period-end%period)%period
	if lo != first || hi != end {
		mask, times = ID(l.space.Time.Put(l.lastTick())), Range{l.least(first), l.least(end)}
	} else {
		times.Hi = 1
	}

	ranges = make([]Range, 1<<(l.bits-above))
	for i := range ranges {
		value := uint64(i) << (above & 63)
		ranges[i] = Range{
			Lo: ID(min(value+uint64(l.least(lo)), math.MaxInt64)),
			Hi: ID(min(value+uint64(l.least(hi)), math.MaxInt64)),
		}
	}

	return ranges, mask, times, nil
}

// lastTick returns the greatest tick.
func (l Layout) lastTick() core.Ticks { return core.Ticks(l.space.Time.Max()) }

// firstTick returns the first tick that does not begin before t: 0 before the epoch, one after the last at the end.
func (l Layout) firstTick(t time.Time) core.Ticks {
	return min(l.space.TicksUntil(t.Add(l.Tick()-1)), l.lastTick()+1)
}

// least returns the least ID of a tick whose other fields are 0. For the tick after the last it is the first number
// above the time.
func (l Layout) least(tick core.Ticks) ID {
	if tick > l.lastTick() {
		return ID(min(uint64(1)<<l.space.Time.Top(), math.MaxInt64))
	}
	return ID(l.space.Time.Put(tick))
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

// Follows says when generators of l may continue a table whose keys are IDs of old, in order and without a repeated ID.
// Every ID of l with a time from the returned moment on is greater than every ID of old with a time before until. The
// moment is the first start of a tick of l, not before until, for which that is true. The order of the bits, the epochs
// and the ticks of both may differ. Fields other than the time may have any value.
//
// Let the last generator of old have ended at until, with its lead (WithLead) and the error of its clock included. If
// generators of l start at the returned moment or later, the keys stay in the order of creation. Before it, IDs of both
// can be equal. With old.End() as until, or a later time, the IDs of l are above all that old can ever have.
//
// Follows returns ErrTimeExhausted if no ID of l is that great, so that l never follows, and ErrLayout for a zero
// Layout.
func (l Layout) Follows(old Layout, until time.Time) (from time.Time, err error) {
	if l.bits == 0 || old.bits == 0 {
		return time.Time{}, errZeroLayout
	}

	greatest := ID(-1)
	if end := old.firstTick(until); end > 0 {
		// The greatest ID has the greatest time, since of two ticks the greater one is the greater number, and ones in
		// all other bits.
		others := 1<<old.bits - 1 - uint64(old.space.Time.Put(old.lastTick()))
		greatest = ID(uint64(old.space.Time.Put(end-1)) | others)
	}

	low, high := l.firstTick(until), l.lastTick()+1
	if low == high || ID(l.space.Time.Put(high-1)) <= greatest {
		return time.Time{}, fmt.Errorf("%w: no ID of %q from %s on is greater than %d, the greatest of %q before",
			ErrTimeExhausted, l, until.UTC().Format(time.RFC3339Nano), greatest, old)
	}

	for low < high {
		if middle := low + (high-low)/2; ID(l.space.Time.Put(middle)) > greatest {
			high = middle
		} else {
			low = middle + 1
		}
	}

	return l.Start(int64(low)), nil
}
