package snowflake

import (
	"fmt"
	"math"
	"math/bits"
	"time"
)

// futureTolerance is how far ahead of the local clock Validate lets an ID be:
// Twitter's first snowflake servers refused to start when their clocks were
// further than 10 s from their peers' (SnowflakeServer.scala, 2010).
const futureTolerance = 10 * time.Second

// Time returns the start of the tick in which id was issued, in UTC. The true
// instant is up to one tick later, and up to the generator's lead earlier. The
// zero Layout returns the zero Time.
func (l Layout) Time(id ID) time.Time {
	if l.IsZero() {
		return time.Time{}
	}
	return l.start(uint64(l.time.get(id)))
}

// Start returns the instant at which the tick with the given number since the
// epoch starts, in UTC. A number beyond the last tick counts as the one after it, a
// negative one as 0. The zero Layout returns the zero Time.
func (l Layout) Start(tick int64) time.Time {
	if l.IsZero() {
		return time.Time{}
	}
	return l.start(min(uint64(max(tick, 0)), 1<<l.time.width))
}

// End returns the first instant for which the layout has no tick left; from then
// on generators return ErrTimeExhausted. The zero Layout returns the zero Time.
func (l Layout) End() time.Time {
	if l.IsZero() {
		return time.Time{}
	}
	return l.start(1 << l.time.width)
}

// Validate reports whether a generator of this layout can have issued id by
// now. Call it where IDs come in from outside: it returns an error wrapping
// ErrInvalidID for 0, for a negative number, for one with bits above the layout,
// and for one whose time is more than 10 s ahead of the system clock.
func (l Layout) Validate(id ID) error { return l.ValidateAt(id, time.Now()) }

// ValidateAt is Validate with now in place of the system clock.
func (l Layout) ValidateAt(id ID, now time.Time) error {
	switch {
	case l.IsZero():
		return layoutError("the zero Layout has no fields")
	case id == 0:
		return fmt.Errorf("%w: 0 means no ID", ErrInvalidID)
	case id < 0:
		return fmt.Errorf("%w: %d is negative", ErrInvalidID, id)
	case uint64(id)>>l.bits != 0:
		return fmt.Errorf("%w: %d is above %d, the layout's greatest", ErrInvalidID, id, uint64(1)<<l.bits-1)
	}
	if t := l.Time(id); t.After(now.Add(futureTolerance)) {
		return fmt.Errorf("%w: the time of %d, %s, is more than %v ahead of %s", ErrInvalidID,
			id, t.Format(time.RFC3339Nano), futureTolerance, now.UTC().Format(time.RFC3339Nano))
	}
	return nil
}

// MinAt returns the least ID of the tick that t lies in. It returns
// ErrBeforeEpoch or ErrTimeExhausted for a t outside the layout, and
// ErrFieldOrder if the time is not the highest field.
func (l Layout) MinAt(t time.Time) (ID, error) {
	if err := l.ordered(); err != nil {
		return 0, err
	}
	tick, err := l.tickOf(t)
	return l.time.put(int64(tick)), err
}

// MaxAt returns the greatest ID of the tick that t lies in. Its errors are those
// of MinAt.
func (l Layout) MaxAt(t time.Time) (ID, error) {
	lo, err := l.MinAt(t)
	if err != nil {
		return 0, err
	}
	return lo | (1<<l.time.shift - 1), nil
}

// Range returns bounds for `id >= lo AND id < hi` that select the IDs with
// !Time(id).Before(from) && Time(id).Before(to): the index on the key serves as
// one on the time of creation. A time outside the layout counts as its nearest
// end, so Range(time.Time{}, t) is everything before t.
//
// It returns ErrFieldOrder if the time is not the highest field, and
// ErrInvalidRange if from is after to. With all 63 bits in use, a to at or after End makes hi
// the greatest int64, which leaves out that one number.
func (l Layout) Range(from, to time.Time) (lo, hi ID, err error) {
	if err := l.ordered(); err != nil {
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
	tick, inside, before := l.ticks(t)
	if before {
		return 0
	}
	if inside {
		tick++
	}
	if tick > uint64(l.time.max()) {
		return ID(min(uint64(1)<<l.bits, math.MaxInt64))
	}
	return l.time.put(int64(tick))
}

func (l Layout) ordered() error {
	if l.IsZero() {
		return layoutError("the zero Layout has no fields")
	}
	if l.time.shift+l.time.width != l.bits {
		return fmt.Errorf("%w: the fields are %s", ErrFieldOrder, l.names)
	}
	return nil
}

// tickOf returns the number of the tick that t lies in.
func (l Layout) tickOf(t time.Time) (uint64, error) {
	tick, _, before := l.ticks(t)
	if before {
		return 0, l.beforeEpoch(t)
	}
	if tick > uint64(l.time.max()) {
		return 0, l.exhausted(t)
	}
	return tick, nil
}

// ticks returns the whole ticks from the epoch to t, and whether t lies inside
// a tick rather than at its start. Layouts may outlast the 292 years of a
// time.Duration, hence the 128 bits.
func (l Layout) ticks(t time.Time) (tick uint64, inside, before bool) {
	epoch := l.Epoch()
	if t.Before(epoch) {
		return 0, false, true
	}
	sec := uint64(t.Unix() - epoch.Unix())
	nsec := int64(t.Nanosecond() - epoch.Nanosecond())
	hi, lo := bits.Mul64(sec, uint64(time.Second))
	if nsec < 0 {
		var borrow uint64
		lo, borrow = bits.Sub64(lo, uint64(-nsec), 0)
		hi -= borrow
	} else {
		var carry uint64
		lo, carry = bits.Add64(lo, uint64(nsec), 0)
		hi += carry
	}
	if hi >= uint64(l.tick) {
		return math.MaxUint64, false, false
	}
	tick, rest := bits.Div64(hi, lo, uint64(l.tick))
	return tick, rest != 0, false
}

// start returns the instant at which a tick starts.
func (l Layout) start(tick uint64) time.Time {
	hi, lo := bits.Mul64(tick, uint64(l.tick))
	sec, nsec := bits.Div64(hi, lo, uint64(time.Second)) // hi is small: see NewLayout
	epoch := l.Epoch()
	return time.Unix(epoch.Unix()+int64(sec), int64(epoch.Nanosecond())+int64(nsec)).UTC()
}

func (l Layout) beforeEpoch(t time.Time) error {
	return fmt.Errorf("%w: %s is before %s", ErrBeforeEpoch,
		t.UTC().Format(time.RFC3339Nano), l.Epoch().Format(time.RFC3339Nano))
}

func (l Layout) exhausted(t time.Time) error { return exhausted(t, l.End()) }

func exhausted(t, end time.Time) error {
	return fmt.Errorf("%w: %s is not before the end, %s", ErrTimeExhausted,
		t.UTC().Format(time.RFC3339Nano), end.UTC().Format(time.RFC3339Nano))
}
