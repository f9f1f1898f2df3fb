package snowflake

import (
	"fmt"
	"iter"
	"math/bits"
	"slices"
	"strings"
	"time"
)

// Names of the fields with a meaning of their own. All others are free: a
// datacenter, a region, a shard above the time.
const (
	FieldTime     = "time"     // ticks since the epoch; every layout has it
	FieldSequence = "sequence" // counts within a tick; every layout has it
	FieldWorker   = "worker"   // the number that New takes
)

// workerNames are the fields that can hold the worker, best first: published
// layouts name it differently.
var workerNames = [...]string{FieldWorker, "machine", "shard"}

const (
	// MaxLayoutBits is the most that the fields of a layout may add up to: the
	// sign bit of the int64 stays 0, so that every ID is positive.
	MaxLayoutBits = 63

	// MaxLayoutFields is the most fields that a layout may have.
	MaxLayoutFields = 8

	// MinTick is the shortest tick, bounded by what system clocks resolve.
	MinTick = time.Microsecond
)

// Field is one run of bits in a layout.
type Field struct {
	Name string // lower case letters, digits and underscores, a letter first
	Bits int    // width, 1 to 62
}

// Layout says which bits of an ID mean what: the epoch that time counts from,
// the length of a tick, and the fields from the highest bit to the lowest.
// Fields may stand in any order. With the time first, IDs sort by time; with the
// sequence below all fields but the worker, those of a generator also sort by
// their order within a tick.
//
// A Layout is a small value that == compares and that can be a map key. It is
// immutable and safe for concurrent use. The zero Layout has no fields and is
// refused by New and Compose with ErrLayout; make one with NewLayout, ParseLayout
// or a preset such as Default.
type Layout struct {
	epoch  int64 // Unix nanoseconds
	tick   time.Duration
	names  string // of the fields, high to low, joined by spaces
	widths [MaxLayoutFields]uint8

	// Found from the above once, so that reading an ID is shifts and masks.
	bits                   uint8
	time, sequence, worker slot
}

// slot is where a field stands in an ID.
type slot struct{ shift, width uint8 }

// max returns the greatest value that fits.
func (s slot) max() int64 { return 1<<(s.width&63) - 1 }

// get returns the field's value in id.
func (s slot) get(id ID) int64 {
	return int64(uint64(id) >> (s.shift & 63) & (1<<(s.width&63) - 1))
}

// put returns the bits of an ID whose field has the value.
func (s slot) put(value int64) ID { return ID(value) << (s.shift & 63) }

// NewLayout returns the layout with the given epoch, tick and fields, listed
// from the highest bit to the lowest.
//
// The epoch is any instant that fits into Unix nanoseconds (years 1678 to 2262);
// it may lie in the future, but New refuses to issue IDs before it. The tick is
// at least MinTick; a generator may wait that long for its first ID. Exactly one field is named "time" and one "sequence". The
// worker that New takes goes into the field named "worker", or else "machine",
// or else "shard"; a layout may have none of them. The widths add up to
// MaxLayoutBits at the most. Anything else is an error wrapping ErrLayout.
func NewLayout(epoch time.Time, tick time.Duration, fields ...Field) (Layout, error) {
	l := Layout{epoch: epoch.UnixNano(), tick: tick}
	if !time.Unix(0, l.epoch).Equal(epoch) {
		return Layout{}, layoutError("epoch %s outside the years 1678 to 2262", epoch.Format(time.RFC3339))
	}
	if tick < MinTick {
		return Layout{}, layoutError("tick %v below %v", tick, MinTick)
	}
	if len(fields) > MaxLayoutFields {
		return Layout{}, layoutError("%d fields, more than %d", len(fields), MaxLayoutFields)
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
		if f.Bits < 1 || f.Bits >= MaxLayoutBits {
			return Layout{}, layoutError("field %q has %d bits, want 1 to %d", f.Name, f.Bits, MaxLayoutBits-1)
		}
		names[i], l.widths[i] = f.Name, uint8(f.Bits)
		total += f.Bits
	}
	if total > MaxLayoutBits {
		return Layout{}, layoutError("%d bits, more than %d", total, MaxLayoutBits)
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

// MustLayout is NewLayout for layouts that are written down in code. It panics
// on an error.
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

// WorkerField returns the name of the field that holds the worker given to New:
// "worker", or else "machine", or else "shard"; "" if the layout has none.
func (l Layout) WorkerField() string {
	for _, name := range workerNames {
		if _, ok := l.find(name); ok {
			return name
		}
	}
	return ""
}

// MaxWorker returns the greatest worker: 1023 for 10 bits, 0 for a layout
// without a worker field. The least is 0, which is as good as any other.
func (l Layout) MaxWorker() int64 { return l.worker.max() }

// MaxSequence returns the greatest sequence: a tick holds MaxSequence + 1 IDs
// for each worker.
func (l Layout) MaxSequence() int64 { return l.sequence.max() }

// find returns where the named field stands.
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

func validName(s string) bool {
	for i, c := range []byte(s) {
		letter := 'a' <= c && c <= 'z'
		if !letter && (i == 0 || c != '_' && (c < '0' || c > '9')) {
			return false
		}
	}
	return s != ""
}

func layoutError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrLayout, fmt.Sprintf(format, args...))
}
