package snowflake

import (
	"fmt"
	"time"
)

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
