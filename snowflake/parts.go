package snowflake

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"
)

// Parts are the fields of an ID. Decompose returns them, Compose is its inverse.
type Parts struct {
	Time     time.Time        // start of the ID's tick, in UTC
	Worker   int64            // 0 for a layout without a worker field
	Sequence int64            // counts the worker's IDs of the tick
	Fields   map[string]int64 // all other fields by name; nil if there are none
}

// String returns the parts on one line, the other fields sorted by name: "2022-06-28T16:07:40.105Z worker=26 sequence=0
// datacenter=11".
func (p Parts) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s worker=%d sequence=%d", p.Time.Format(time.RFC3339Nano), p.Worker, p.Sequence)
	for _, name := range slices.Sorted(maps.Keys(p.Fields)) {
		fmt.Fprintf(&b, " %s=%d", name, p.Fields[name])
	}
	return b.String()
}

// Decompose returns the parts of an ID. It accepts any number and ignores bits above the layout; Validate rejects
// numbers that the layout cannot have issued. The zero Layout returns the zero Parts.
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

// Compose returns the ID with the given parts; it is the inverse of Decompose. A time within a tick counts as the start
// of the tick. Fields that p does not name are 0.
//
// Compose only packs bits: a generator may issue the same ID. Use it for tests, data migration and bounds.
//
// It returns ErrBeforeEpoch or ErrTimeExhausted for a time outside the layout, ErrFieldRange for a value that does not
// fit, ErrUnknownField, and ErrLayout for the zero Layout.
func (l Layout) Compose(p Parts) (ID, error) {
	if l.IsZero() {
		return 0, errZeroLayout
	}
	tick, err := l.tickOf(p.Time)
	if err != nil {
		return 0, err
	}
	if err := l.worker.check(l.workerLabel(), p.Worker); err != nil {
		return 0, err
	}
	if err := l.sequence.check(FieldSequence, p.Sequence); err != nil {
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
		if err := at.check(name, value); err != nil {
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

// Field returns the value of the named field in id; that of "time" counts ticks since the epoch. It returns
// ErrUnknownField for a name that the layout does not have.
func (l Layout) Field(id ID, name string) (int64, error) {
	at, ok := l.find(name)
	if !ok {
		return 0, l.unknownField(name)
	}
	return at.get(id), nil
}

// others yields the fields except time, worker and sequence, high to low.
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
