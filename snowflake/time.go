package snowflake

import (
	"fmt"
	"math"
	"math/bits"
	"time"
)

// Time returns the start of the tick in which id was issued, in UTC. The true instant is up to one tick later, or
// earlier by up to the generator's lead. The zero Layout returns the zero Time.
func (l Layout) Time(id ID) time.Time {
	if l.IsZero() {
		return time.Time{}
	}
	return l.start(ticks(l.time.get(id)))
}

// Start returns the start of the tick with the given number since the epoch, in UTC. A number beyond the last tick
// counts as the one after it, a negative one as 0. The zero Layout returns the zero Time.
func (l Layout) Start(tick int64) time.Time {
	if l.IsZero() {
		return time.Time{}
	}
	return l.start(min(ticks(max(tick, 0)), 1<<l.time.width))
}

// End returns the end of the last tick; from then on generators return ErrTimeExhausted. The zero Layout returns the
// zero Time.
func (l Layout) End() time.Time {
	if l.IsZero() {
		return time.Time{}
	}
	return l.start(1 << l.time.width)
}

// ticks counts ticks since a layout's epoch.
type ticks uint64

// start returns the start of a tick.
func (l Layout) start(tick ticks) time.Time {
	hi, lo := bits.Mul64(uint64(tick), uint64(l.tick))
	sec, nsec := bits.Div64(hi, lo, uint64(time.Second)) // hi is small enough: see NewLayout
	epoch := l.Epoch()
	return time.Unix(epoch.Unix()+int64(sec), int64(epoch.Nanosecond())+int64(nsec)).UTC()
}

// tickOf returns the tick that contains t.
func (l Layout) tickOf(t time.Time) (ticks, error) {
	tick, _, before := l.ticksUntil(t)
	if before {
		return 0, l.beforeEpoch(t)
	}
	if tick > ticks(l.time.max()) {
		return 0, exhausted(t, l.End())
	}
	return tick, nil
}

// ticksUntil returns the number of whole ticks from the epoch to t, and whether t lies inside a tick rather than at its
// start. It computes with 128 bits because a layout may outlast the 292 years of a time.Duration.
func (l Layout) ticksUntil(t time.Time) (tick ticks, inside, before bool) {
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
	quotient, rest := bits.Div64(hi, lo, uint64(l.tick))
	return ticks(quotient), rest != 0, false
}

func (l Layout) beforeEpoch(t time.Time) error {
	return fmt.Errorf("%w: %s is before %s", ErrBeforeEpoch,
		t.UTC().Format(time.RFC3339Nano), l.Epoch().Format(time.RFC3339Nano))
}

func exhausted(t, end time.Time) error {
	return fmt.Errorf("%w: %s is not before the end, %s", ErrTimeExhausted,
		t.UTC().Format(time.RFC3339Nano), end.UTC().Format(time.RFC3339Nano))
}
