package snowflake

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"
)

// Parts is an ID taken apart by a layout. Decompose makes one, Compose is its
// inverse.
type Parts struct {
	Time     time.Time        // start of the ID's tick, in UTC
	Worker   int64            // 0 for a layout without a worker field
	Sequence int64            // counts the worker's IDs within the tick
	Fields   map[string]int64 // all other fields by name; nil if there are none
}

// String prints the parts on one line, the other fields in the order of their
// names: "2022-06-28T16:07:40.105Z worker=26 sequence=0 datacenter=11".
func (p Parts) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s worker=%d sequence=%d", p.Time.Format(time.RFC3339Nano), p.Worker, p.Sequence)
	for _, name := range slices.Sorted(maps.Keys(p.Fields)) {
		fmt.Fprintf(&b, " %s=%d", name, p.Fields[name])
	}
	return b.String()
}

// Decompose takes an ID apart. It reads any number, also one that this layout
// can't have issued, and leaves out the bits above the layout; Validate tells
// the two apart. The zero Layout returns the zero Parts.
func (l Layout) Decompose(id ID) Parts {
	if l.IsZero() {
		return Parts{}
	}
	p := Parts{
		Time:     l.Time(id),
		Worker:   l.worker.get(id),
		Sequence: l.sequence.get(id),
	}
	for name, at := range l.others() {
		if p.Fields == nil {
			p.Fields = make(map[string]int64)
		}
		p.Fields[name] = at.get(id)
	}
	return p
}

// Compose returns the ID with the given parts; it is the inverse of Decompose.
// A time within a tick counts as the tick's start. Fields that p does not name
// are 0.
//
// Compose only packs bits: nothing keeps its IDs from being those of a
// generator. It is for tests, for moving data and for bounds.
//
// Errors: ErrBeforeEpoch and ErrTimeExhausted for a time outside the layout, a
// *FieldError (ErrFieldRange) for a value that does not fit, ErrUnknownField, and
// ErrLayout on the zero Layout.
func (l Layout) Compose(p Parts) (ID, error) {
	if l.IsZero() {
		return 0, layoutError("the zero Layout has no fields")
	}
	tick, err := l.tickOf(p.Time)
	if err != nil {
		return 0, err
	}
	if err := checkField(l.workerLabel(), p.Worker, l.worker); err != nil {
		return 0, err
	}
	if err := checkField(FieldSequence, p.Sequence, l.sequence); err != nil {
		return 0, err
	}
	id := l.time.put(int64(tick)) | l.worker.put(p.Worker) | l.sequence.put(p.Sequence)
	known := 0
	for name, at := range l.others() {
		value, ok := p.Fields[name]
		if !ok {
			continue
		}
		known++
		if err := checkField(name, value, at); err != nil {
			return 0, err
		}
		id |= at.put(value)
	}
	if known < len(p.Fields) {
		for _, name := range slices.Sorted(maps.Keys(p.Fields)) {
			if !l.isOther(name) {
				return 0, l.unknownField(name)
			}
		}
	}
	return id, nil
}

// Field returns the value of the named field in id: the ticks since the epoch
// for "time". It returns ErrUnknownField for a name that the layout lacks.
func (l Layout) Field(id ID, name string) (int64, error) {
	at, ok := l.find(name)
	if !ok {
		return 0, l.unknownField(name)
	}
	return at.get(id), nil
}

// others yields the fields besides time, worker and sequence, high to low.
func (l Layout) others() iter.Seq2[string, slot] {
	return func(yield func(string, slot) bool) {
		for name, at := range l.slots() {
			if at != l.time && at != l.sequence && at != l.worker && !yield(name, at) {
				return
			}
		}
	}
}

func (l Layout) isOther(name string) bool {
	for other := range l.others() {
		if other == name {
			return true
		}
	}
	return false
}

func (l Layout) workerLabel() string {
	if name := l.WorkerField(); name != "" {
		return name
	}
	return FieldWorker
}

func (l Layout) unknownField(name string) error {
	return fmt.Errorf("%w: %q is not among %s", ErrUnknownField, name, strings.ReplaceAll(l.names, " ", ", "))
}

func checkField(name string, value int64, at slot) error {
	if value < 0 || value > at.max() {
		return &FieldError{Field: name, Value: value, Max: at.max()}
	}
	return nil
}
