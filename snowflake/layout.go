package snowflake

import (
	"fmt"
	"iter"
	"math/bits"
	"slices"
	"strings"
	"time"
)

// Names of the fields with a meaning of their own. All other names are free, such as "datacenter" or "region".
const (
	FieldTime     = "time"     // ticks since the epoch; every layout has it
	FieldSequence = "sequence" // counts the IDs of a tick; every layout has it
	FieldWorker   = "worker"   // the number given to New
)

// workerNames are the fields that can hold the worker, in order of preference: published layouts differ in the name.
var workerNames = [...]string{FieldWorker, "machine", "shard"}

// Limits of a layout.
const (
	maxBits   = 63 // the sign bit of the int64 stays 0, so every ID is positive
	maxFields = 8
	minTick   = time.Microsecond // system clocks resolve no less
)

// Field is a run of bits in a layout.
type Field struct {
	Name string // lower case letters, digits and underscores; begins with a letter
	Bits int    // width, 1 to 62
}

// Layout defines the bits of an ID: the epoch that its time counts from, the length of a tick, and the fields from the
// highest bit to the lowest. With the time first, IDs sort by time. With the sequence below all fields except the
// worker, the IDs of one generator also sort in order of issue within a tick.
//
// A Layout is a small immutable value: it can be compared with ==, used as a map key and read concurrently. The zero
// Layout has no fields, and New and Compose reject it with ErrLayout. Make a Layout with NewLayout, ParseLayout, Preset
// or a function such as Default.
type Layout struct {
	epoch  int64 // Unix nanoseconds
	tick   time.Duration
	names  string // of the fields, high to low, separated by spaces
	widths [maxFields]uint8

	// Derived from the above, so that reading an ID is shifts and masks.
	bits                   uint8
	time, sequence, worker slot
}

// slot is the place of a field in an ID.
type slot struct{ shift, width uint8 }

// max returns the greatest value that fits.
func (s slot) max() int64 { return 1<<(s.width&63) - 1 }

// get returns the field's value in id.
func (s slot) get(id ID) int64 {
	return int64(uint64(id) >> (s.shift & 63) & (1<<(s.width&63) - 1))
}

// put returns an ID in which the field has the value and all other bits are 0.
func (s slot) put(value int64) ID { return ID(value) << (s.shift & 63) }

// check returns an error that matches ErrFieldRange if the value does not fit.
func (s slot) check(name string, value int64) error {
	if value < 0 || value > s.max() {
		return &fieldError{name, value, s.max()}
	}
	return nil
}

// NewLayout returns the layout with the given epoch, tick and fields, listed from the highest bit to the lowest.
//
// The epoch is any time in the range of Unix nanoseconds (years 1678 to 2262). It may lie in the future, but New
// rejects the layout until then. The tick is at least 1 µs; a generator may wait one tick for its first ID. There are
// at most 8 fields: one named "time", one named "sequence", and any others. The worker given to New is stored in the
// field named "worker", or else "machine", or else "shard"; a layout may have none of them. The widths add up to at
// most 63 bits. All other input is an error that matches ErrLayout.
func NewLayout(epoch time.Time, tick time.Duration, fields ...Field) (Layout, error) {
	l := Layout{epoch: epoch.UnixNano(), tick: tick}
	if !time.Unix(0, l.epoch).Equal(epoch) {
		return Layout{}, layoutError("epoch %s outside the years 1678 to 2262", epoch.Format(time.RFC3339))
	}
	if tick < minTick {
		return Layout{}, layoutError("tick %v below %v", tick, minTick)
	}
	if len(fields) > maxFields {
		return Layout{}, layoutError("%d fields, more than %d", len(fields), maxFields)
	}
	total := 0
	names := make([]string, len(fields))
	for i, f := range fields {
		if !validName(f.Name) {
			return Layout{}, layoutError("field name %q: want lower case letters, digits and underscores, a letter first", f.Name)
		}
		if slices.Contains(names[:i], f.Name) {
			return Layout{}, layoutError("field %q twice", f.Name)
		}
		if f.Bits < 1 || f.Bits >= maxBits {
			return Layout{}, layoutError("field %q has %d bits, want 1 to %d", f.Name, f.Bits, maxBits-1)
		}
		names[i], l.widths[i] = f.Name, uint8(f.Bits)
		total += f.Bits
	}
	if total > maxBits {
		return Layout{}, layoutError("%d bits, more than %d", total, maxBits)
	}
	l.bits = uint8(total)
	l.names = strings.Join(names, " ")
	for _, need := range []string{FieldTime, FieldSequence} {
		if !slices.Contains(names, need) {
			return Layout{}, layoutError("no field %q", need)
		}
	}
	l.time, _ = l.find(FieldTime)
	l.sequence, _ = l.find(FieldSequence)
	l.worker, _ = l.find(l.WorkerField())
	if hi, _ := bits.Mul64(1<<l.time.width, uint64(tick)); hi >= uint64(time.Second)/4 {
		return Layout{}, layoutError("%d bits of %v last longer than 146 billion years", l.time.width, tick)
	}
	return l, nil
}

// MustLayout is like NewLayout but panics on an error. It is for layouts that are written in code.
func MustLayout(epoch time.Time, tick time.Duration, fields ...Field) Layout {
	l, err := NewLayout(epoch, tick, fields...)
	if err != nil {
		panic(err)
	}
	return l
}

// IsZero reports whether l is the zero Layout, which has no fields.
func (l Layout) IsZero() bool { return l == Layout{} }

// Epoch returns the instant that the time field counts from, in UTC.
func (l Layout) Epoch() time.Time { return time.Unix(0, l.epoch).UTC() }

// Tick returns the length of a tick, the unit of the time field.
func (l Layout) Tick() time.Duration { return l.tick }

// Bits returns the sum of the widths: IDs of the layout are below 1<<Bits.
func (l Layout) Bits() int { return int(l.bits) }

// Fields returns the fields from the highest bit to the lowest, in a new slice.
func (l Layout) Fields() []Field {
	var fields []Field
	for name, at := range l.slots() {
		fields = append(fields, Field{Name: name, Bits: int(at.width)})
	}
	return fields
}

// WorkerField returns the name of the field that holds the worker given to New: "worker", or else "machine", or else
// "shard"; "" if the layout has none.
func (l Layout) WorkerField() string {
	for _, name := range workerNames {
		if _, ok := l.find(name); ok {
			return name
		}
	}
	return ""
}

// MaxWorker returns the greatest worker: 1023 for 10 bits, 0 for a layout without a worker field. The least is 0, which
// is a worker like any other.
func (l Layout) MaxWorker() int64 { return l.worker.max() }

// MaxSequence returns the greatest sequence: a worker issues MaxSequence + 1 IDs a tick.
func (l Layout) MaxSequence() int64 { return l.sequence.max() }

// find returns the place of the named field.
func (l Layout) find(name string) (slot, bool) {
	for field, at := range l.slots() {
		if field == name {
			return at, true
		}
	}
	return slot{}, false
}

// slots yields the fields with their places, high to low.
func (l Layout) slots() iter.Seq2[string, slot] {
	return func(yield func(string, slot) bool) {
		at, i := slot{shift: l.bits}, 0
		for name := range strings.FieldsSeq(l.names) {
			at.width = l.widths[i]
			at.shift -= at.width
			i++
			if !yield(name, at) {
				return
			}
		}
	}
}

// workerLabel names the worker in errors, also for a layout without a worker field.
func (l Layout) workerLabel() string {
	if name := l.WorkerField(); name != "" {
		return name
	}
	return FieldWorker
}

func (l Layout) unknownField(name string) error {
	return fmt.Errorf("%w: %q is not among %s", ErrUnknownField, name, strings.ReplaceAll(l.names, " ", ", "))
}

func validName(s string) bool {
	for i, c := range []byte(s) {
		letter := 'a' <= c && c <= 'z'
		if !letter && (i == 0 || c != '_' && (c < '0' || c > '9')) {
			return false
		}
	}
	return s != ""
}
