package snowflake

import (
	"fmt"
	"iter"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/internal/core"
)

// Names of fields that generators set. All other names are free, such as "datacenter" or "region".
const (
	FieldTime     = "time"     // ticks since the epoch; every layout has it, in one part or two
	FieldSequence = "sequence" // counts the IDs of a tick; every layout has it
)

// workerNames are the fields that can hold the worker, in order of preference: published layouts differ in the name.
var workerNames = [...]string{"worker", "machine", "shard"}

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
// The time may have two parts with other fields between them: its upper bits first, then its lower bits. IDs then sort
// by time from one [Layout.Period] to the next, and within a period by the fields between. [Clustered] is such a
// layout.
//
// With the sequence above the time, IDs sort by the sequence. Where a tick begins then depends on its number and on the
// worker. It counts up and continues at 0, so even the IDs of one slow generator are spread over all numbers.
// [Scattered] is such a layout.
//
// A Layout is a small immutable value: it can be compared with ==, used as a map key and read concurrently. The zero
// Layout has no fields, and New and Compose reject it with ErrLayout.
type Layout struct {
	names  string // of the fields, high to low, separated by spaces
	widths [maxFields]uint8
	bits   uint8      // their sum
	space  core.Space // the epoch, the tick, and the places of the fields that generators set
}

// NewLayout returns the layout with the given epoch, tick and fields, listed from the highest bit to the lowest.
//
// The epoch is any time in the range of Unix nanoseconds (years 1678 to 2262). It may lie in the future, but New
// rejects the layout until then. The tick is at least 1 µs; a generator may wait one tick for its first ID. There are
// at most 8 fields: one named "time", one named "sequence", and any others. The worker given to New is stored in the
// field named "worker", or else "machine", or else "shard"; a layout may have none of them. The widths add up to at
// most 63 bits. A second field named "time", below other fields, has the lower bits of the time. All other input is an
// error that matches ErrLayout.
func NewLayout(epoch time.Time, tick time.Duration, fields ...Field) (Layout, error) {
	l := Layout{space: core.Space{EpochNanos: epoch.UnixNano(), Tick: tick}}
	if !l.Epoch().Equal(epoch) {
		return Layout{}, layoutError("epoch %s outside the years 1678 to 2262", epoch.Format(time.RFC3339))
	}
	if tick < minTick {
		return Layout{}, layoutError("tick %v below %v", tick, minTick)
	}
	if err := l.setFields(fields); err != nil {
		return Layout{}, err
	}

	var err error
	if l.space.Time, err = l.findTime(); err != nil {
		return Layout{}, err
	}

	var ok bool
	if l.space.Sequence, ok = l.find(FieldSequence); !ok {
		return Layout{}, layoutError("no field %q", FieldSequence)
	}

	l.space.Worker, _ = l.find(l.WorkerField())

	if hi, _ := bits.Mul64(1<<l.space.Time.Width(), uint64(tick)); hi >= uint64(time.Second)/4 {
		return Layout{}, layoutError("%d bits of %v last longer than 146 billion years", l.space.Time.Width(), tick)
	}

	return l, nil
}

// setFields sets the names and the widths of the fields, and checks both.
func (l *Layout) setFields(fields []Field) error {
	if len(fields) > maxFields {
		return layoutError("%d fields, more than %d", len(fields), maxFields)
	}

	total := 0
	names := make([]string, len(fields))
	for i, f := range fields {
		if !validName(f.Name) {
			return layoutError("field name %q: want lower case letters, digits and underscores, a letter first", f.Name)
		}
		if slices.Contains(names[:i], f.Name) && f.Name != FieldTime {
			return layoutError("field %q twice", f.Name)
		}
		if f.Bits < 1 || f.Bits >= maxBits {
			return layoutError("field %q has %d bits, want 1 to %d", f.Name, f.Bits, maxBits-1)
		}
		names[i], l.widths[i] = f.Name, uint8(f.Bits)
		total += f.Bits
	}

	if total > maxBits {
		return layoutError("%d bits, more than %d", total, maxBits)
	}
	l.bits = uint8(total)
	l.names = strings.Join(names, " ")
	return nil
}

// MustLayout is like NewLayout but panics on an error. It is for layouts that are written in code.
func MustLayout(epoch time.Time, tick time.Duration, fields ...Field) Layout {
	l, err := NewLayout(epoch, tick, fields...)
	if err != nil {
		panic(err)
	}
	return l
}

// Epoch returns the instant that the time field counts from, in UTC.
func (l Layout) Epoch() time.Time { return l.space.Epoch() }

// Tick returns the length of a tick, the unit of the time field.
func (l Layout) Tick() time.Duration { return l.space.Tick }

// Period returns the length of time within which IDs may be out of order by time: a tick or, for a layout whose time
// has two parts, as many ticks as the lower one counts. Periods begin at the epoch. A period too long for a Duration,
// 292 years, is returned as the longest Duration. The zero Layout has a period of 0.
//
// It says nothing about fields above the time: MinAt and Range return ErrFieldOrder if there are any.
func (l Layout) Period() time.Duration {
	return l.space.Span(l.space.Time.Period())
}

// Bits returns the sum of the widths: IDs of the layout are below 1<<Bits.
func (l Layout) Bits() int { return int(l.bits) }

// Fields returns the fields from the highest bit to the lowest, in a new slice.
func (l Layout) Fields() []Field {
	var fields []Field
	for name, at := range l.slots() {
		fields = append(fields, Field{Name: name, Bits: int(at.Width)})
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
func (l Layout) MaxWorker() int64 { return l.space.Worker.Max() }

// MaxSequence returns the greatest sequence: a worker issues MaxSequence + 1 IDs a tick.
func (l Layout) MaxSequence() int64 { return l.space.Sequence.Max() }

func (l Layout) find(name string) (core.Slot, bool) {
	for field, at := range l.slots() {
		if field == name {
			return at, true
		}
	}
	return core.Slot{}, false
}

// findTime returns the place of the time.
func (l Layout) findTime() (core.TimeSlot, error) {
	var parts []core.Slot
	for name, at := range l.slots() {
		if name == FieldTime {
			parts = append(parts, at)
		}
	}

	switch {
	case len(parts) == 0:
		return core.TimeSlot{}, layoutError("no field %q", FieldTime)
	case len(parts) == 1:
		return core.TimeSlot{Low: parts[0]}, nil
	case len(parts) > 2:
		return core.TimeSlot{}, layoutError("%d fields %q, more than 2", len(parts), FieldTime)
	case parts[0].Shift == parts[1].Shift+parts[1].Width:
		return core.TimeSlot{}, layoutError("two fields %q side by side: make them one of %d bits", FieldTime,
			parts[0].Width+parts[1].Width)
	}

	return core.TimeSlot{High: parts[0], Low: parts[1]}, nil
}

// slots yields the fields with their places, high to low.
func (l Layout) slots() iter.Seq2[string, core.Slot] {
	return func(yield func(string, core.Slot) bool) {
		at, i := core.Slot{Shift: l.bits}, 0
		for name := range strings.FieldsSeq(l.names) {
			at.Width = l.widths[i]
			at.Shift -= at.Width
			i++
			if !yield(name, at) {
				return
			}
		}
	}
}

// workerLabel names the worker in errors, "worker" for a layout without a worker field.
func (l Layout) workerLabel() string {
	if name := l.WorkerField(); name != "" {
		return name
	}
	return workerNames[0]
}

func (l Layout) unknownField(name string) error {
	return fmt.Errorf("%w: %q is not among %s", ErrUnknownField, name, strings.ReplaceAll(l.names, " ", ", "))
}

func validName(s string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyz"
	beginsWithLetter := strings.TrimLeft(s, letters) != s
	return beginsWithLetter && strings.Trim(s, letters+"0123456789_") == ""
}

// String returns the layout's text form, for configuration files and logs:
//
//	epoch=2025-01-01T00:00:00Z tick=1ms time:41 worker:10 sequence:12
//
// Fields are listed from the highest bit to the lowest, each with its width in bits. Equal layouts have equal texts.
// The zero Layout is "".
func (l Layout) String() string {
	if l.bits == 0 {
		return ""
	}

	var b strings.Builder
	fmt.Fprintf(&b, "epoch=%s tick=%v", l.Epoch().Format(time.RFC3339Nano), l.Tick())
	for name, at := range l.slots() {
		fmt.Fprintf(&b, " %s:%d", name, at.Width)
	}

	return b.String()
}

// MarshalText returns the text of String. The error is always nil.
func (l Layout) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText is ParseLayout, but the empty text is the zero Layout. On an error the layout is unchanged.
func (l *Layout) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*l = Layout{}
		return nil
	}
	parsed, err := ParseLayout(string(text))
	if err == nil {
		*l = parsed
	}
	return err
}

// ParseLayout reads the text of String, and more: epoch and tick may stand anywhere among the fields, the epoch is any
// time of RFC 3339, and the tick anything that time.ParseDuration takes. A text of one word is the name of a preset,
// such as "twitter" (see Preset). An error matches ErrLayout.
func ParseLayout(text string) (Layout, error) {
	if words := strings.Fields(text); len(words) == 1 && !strings.ContainsAny(words[0], "=:") {
		return Preset(words[0])
	}
	return parseFields(text)
}

// parseFields reads the text of a layout that is not a preset's name.
func parseFields(text string) (Layout, error) {
	var (
		epoch  time.Time
		tick   time.Duration
		fields []Field
		given  = map[string]bool{}
	)

	for word := range strings.FieldsSeq(text) {
		key, value, ok := strings.Cut(word, "=")
		if !ok {
			name, width, ok := strings.Cut(word, ":")
			bits, err := strconv.ParseUint(width, 10, 8)
			if !ok || err != nil {
				return Layout{}, layoutError("%q: want epoch=, tick= or name:bits", word)
			}
			fields = append(fields, Field{Name: name, Bits: int(bits)})
			continue
		}

		if given[key] {
			return Layout{}, layoutError("%s given twice", key)
		}
		given[key] = true

		var err error
		switch key {
		case "epoch":
			epoch, err = time.Parse(time.RFC3339Nano, value)
		case "tick":
			tick, err = time.ParseDuration(value)
		default:
			return Layout{}, layoutError("%q: want epoch=, tick= or name:bits", word)
		}
		if err != nil {
			return Layout{}, fmt.Errorf("%w: %s: %w", ErrLayout, key, err)
		}
	}

	for _, key := range []string{"epoch", "tick"} {
		if !given[key] {
			return Layout{}, layoutError("no %s= in %q", key, text)
		}
	}

	return NewLayout(epoch, tick, fields...)
}
