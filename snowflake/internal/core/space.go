package core

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"time"
)

// The sentinels of values and times outside of a layout. Package snowflake exports and documents them.
var (
	ErrFieldRange    = errors.New("snowflake: field value out of range")
	ErrBeforeEpoch   = errors.New("snowflake: time before the epoch")
	ErrTimeExhausted = errors.New("snowflake: time exhausted")
)

// Space has what decides whether IDs of two generators can be equal: the places of time, sequence and worker in the
// layout, whatever their names. Other fields do not count because With can set them to any value.
type Space struct {
	EpochNanos       int64 // Unix time
	Tick             time.Duration
	Time             TimeSlot
	Sequence, Worker Slot
}

// Slot is the place of a field in an ID.
type Slot struct{ Shift, Width uint8 }

// TimeSlot is the place of the time: all bits in Low or, if it has two parts, the upper ones in High.
type TimeSlot struct{ High, Low Slot }

// Ticks counts ticks since the epoch.
type Ticks uint64

// Max returns the greatest value that fits.
func (s Slot) Max() int64 { return 1<<(s.Width&63) - 1 }

// Get returns the field's value in id.
func (s Slot) Get(id int64) int64 { return int64(uint64(id) >> (s.Shift & 63) & (1<<(s.Width&63) - 1)) }

// Put returns an ID in which the field has the value and all other bits are 0.
func (s Slot) Put(value int64) int64 { return value << (s.Shift & 63) }

// Check returns an error that matches ErrFieldRange if the value does not fit.
func (s Slot) Check(name string, value int64) error {
	if value < 0 || value > s.Max() {
		return &fieldError{name, value, s.Max()}
	}
	return nil
}

// Width returns the number of bits of both parts.
func (s TimeSlot) Width() uint8 { return s.High.Width + s.Low.Width }

// Top returns the place above the highest bit.
func (s TimeSlot) Top() uint8 { return max(s.High.Shift+s.High.Width, s.Low.Shift+s.Low.Width) }

// Period returns the number of ticks that differ only in the lower part: 1 if there is one part.
func (s TimeSlot) Period() Ticks {
	if s.High.Width > 0 {
		return 1 << s.Low.Width
	}
	return 1
}

// SequenceFirst reports whether the sequence is above the time, so that IDs sort by it first.
func (s Space) SequenceFirst() bool { return s.Sequence.Shift >= s.Time.Top() }

// FirstSequence returns the sequence at which a worker begins a tick. It is 0 or, if IDs sort by the sequence first, a
// number that mixes all bits of the tick and the worker (the end of SplitMix64, Steele, Lea and Flood, 2014), which
// spreads the IDs even if a tick has few. It depends on nothing else. It is 0 for worker 0 in tick 0.
func (s Space) FirstSequence(tick Ticks, worker int64) int64 {
	if !s.SequenceFirst() {
		return 0
	}
	return int64(mix(uint64(tick)^uint64(worker)<<40)) & s.Sequence.Max()
}

func mix(bits uint64) uint64 {
	bits = (bits ^ bits>>30) * 0xbf58476d1ce4e5b9
	bits = (bits ^ bits>>27) * 0x94d049bb133111eb
	return bits ^ bits>>31
}

// both returns a slot as wide as both parts.
func (s TimeSlot) both() Slot { return Slot{Width: s.Width()} }

// Max returns the greatest tick.
func (s TimeSlot) Max() int64 { return s.both().Max() }

// Check is Slot.Check.
func (s TimeSlot) Check(name string, tick int64) error { return s.both().Check(name, tick) }

// Get returns the tick of id.
func (s TimeSlot) Get(id int64) Ticks { return Ticks(s.High.Get(id)<<s.Low.Width | s.Low.Get(id)) }

// Put returns an ID with the tick and no other bits.
func (s TimeSlot) Put(tick Ticks) int64 {
	return s.High.Put(int64(tick>>s.Low.Width)) | s.Low.Put(int64(tick)&s.Low.Max())
}

// Epoch returns the instant that the time field counts from, in UTC.
func (s Space) Epoch() time.Time { return time.Unix(0, s.EpochNanos).UTC() }

// End returns the end of the last tick.
func (s Space) End() time.Time { return s.Start(1 << s.Time.Width()) }

// Start returns the start of a tick up to the tick at End, in UTC. The zero Space returns the zero Time.
func (s Space) Start(tick Ticks) time.Time {
	if s.Tick == 0 {
		return time.Time{}
	}

	hi, lo := bits.Mul64(uint64(tick), uint64(s.Tick))
	sec, nsec := bits.Div64(hi, lo, uint64(time.Second)) // hi is small enough: see snowflake.NewLayout

	epoch := s.Epoch()
	return time.Unix(epoch.Unix()+int64(sec), int64(epoch.Nanosecond())+int64(nsec)).UTC()
}

// Span returns the length of n ticks: the longest Duration, 292 years, if they take longer.
func (s Space) Span(n Ticks) time.Duration {
	if hi, lo := bits.Mul64(uint64(n), uint64(s.Tick)); hi == 0 && lo <= math.MaxInt64 {
		return time.Duration(lo)
	}
	return math.MaxInt64
}

// TickOf returns the tick that contains t, or an error that matches ErrBeforeEpoch or ErrTimeExhausted.
func (s Space) TickOf(t time.Time) (Ticks, error) {
	if t.Before(s.Epoch()) {
		return 0, s.beforeEpoch(t)
	}

	tick := s.TicksUntil(t)
	if tick > Ticks(s.Time.Max()) {
		return 0, exhausted(t, s.End())
	}

	return tick, nil
}

// TicksUntil returns the number of whole ticks from the epoch to t, 0 for a t before the epoch. It computes with 128
// bits because a layout may outlast the 292 years of a time.Duration.
func (s Space) TicksUntil(t time.Time) Ticks {
	epoch := s.Epoch()
	if t.Before(epoch) {
		return 0
	}

	hi, lo := bits.Mul64(uint64(t.Unix()-epoch.Unix()), uint64(time.Second))
	lo, carry := bits.Add64(lo, uint64(t.Nanosecond()), 0)
	lo, borrow := bits.Sub64(lo, uint64(epoch.Nanosecond()), 0)
	hi += carry - borrow

	if hi >= uint64(s.Tick) {
		return math.MaxUint64
	}
	quotient, _ := bits.Div64(hi, lo, uint64(s.Tick))
	return Ticks(quotient)
}

func (s Space) beforeEpoch(t time.Time) error {
	return fmt.Errorf("%w: %s is before %s", ErrBeforeEpoch,
		t.UTC().Format(time.RFC3339Nano), s.Epoch().Format(time.RFC3339Nano))
}

func exhausted(t, end time.Time) error {
	return fmt.Errorf("%w: %s is not before the end, %s", ErrTimeExhausted,
		t.UTC().Format(time.RFC3339Nano), end.UTC().Format(time.RFC3339Nano))
}

// fieldError names the value that does not fit into a field. It matches ErrFieldRange without repeating its text.
type fieldError struct {
	field      string
	value, max int64
}

func (e *fieldError) Error() string {
	return fmt.Sprintf("snowflake: %s %d out of range [0, %d]", e.field, e.value, e.max)
}

func (e *fieldError) Is(target error) bool { return target == ErrFieldRange }
