package snowflake

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/internal/core"
)

// Parts are the fields of an ID. Decompose returns them, Compose is its inverse.
type Parts struct {
	Time     time.Time        // start of the ID's tick, in UTC
	Worker   int64            // 0 for a layout without a worker field
	Sequence int64            // tells the worker's IDs of the tick apart
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
	if l.bits == 0 {
		return Parts{}
	}

	p := Parts{
		Time:     l.Time(id),
		Worker:   l.space.Worker.Get(int64(id)),
		Sequence: l.space.Sequence.Get(int64(id)),
	}

	for name, at := range l.slots() {
		if !l.isOther(at) {
			continue
		}
		if p.Fields == nil {
			p.Fields = make(map[string]int64)
		}

		p.Fields[name] = at.Get(int64(id))
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
	if l.bits == 0 {
		return 0, errZeroLayout
	}

	tick, err := l.space.TickOf(p.Time)
	worker, sequence := l.space.Worker, l.space.Sequence
	err = cmp.Or(err, worker.Check(l.workerLabel(), p.Worker), sequence.Check(FieldSequence, p.Sequence))
	if err != nil {
		return 0, err
	}

	id := l.space.Time.Put(tick) | worker.Put(p.Worker) | sequence.Put(p.Sequence)
	for _, name := range slices.Sorted(maps.Keys(p.Fields)) { // so that the error does not differ from run to run
		at, ok := l.find(name)
		if !ok || !l.isOther(at) {
			return 0, l.unknownField(name)
		}
		if err := at.Check(name, p.Fields[name]); err != nil {
			return 0, err
		}
		id |= at.Put(p.Fields[name])
	}

	return ID(id), nil
}

// Field returns the value of the named field in id; the value of "time" counts ticks since the epoch. It returns
// ErrUnknownField for a name that the layout does not have.
func (l Layout) Field(id ID, name string) (int64, error) {
	at, ok := l.find(name)
	if !ok {
		return 0, l.unknownField(name)
	}
	if name == FieldTime { // which may have two parts
		return int64(l.space.Time.Get(int64(id))), nil
	}
	return at.Get(int64(id)), nil
}

// isOther reports whether a field is not set by generators: neither time, nor sequence, nor worker.
func (l Layout) isOther(at core.Slot) bool {
	s := l.space
	return !slices.Contains([]core.Slot{s.Time.High, s.Time.Low, s.Sequence, s.Worker}, at)
}

// Validate returns nil if a generator of this layout can have issued id by now, by the system clock. Use it for IDs
// from untrusted input. It returns an error that matches ErrInvalidID for 0, for a negative number, for one with bits
// above the layout, and for one whose time is more than 10 s ahead.
func (l Layout) Validate(id ID) error {
	switch {
	case l.bits == 0:
		return errZeroLayout
	case id == 0:
		return fmt.Errorf("%w: 0 means no ID", ErrInvalidID)
	case id < 0:
		return fmt.Errorf("%w: %d is negative", ErrInvalidID, id)
	case uint64(id)>>l.bits != 0:
		return fmt.Errorf("%w: %d is above %d, the layout's greatest", ErrInvalidID, id, uint64(1)<<l.bits-1)
	}

	if t, now := l.Time(id), time.Now(); t.After(now.Add(MaxLead)) {
		return fmt.Errorf("%w: the time of %d, %s, is more than %v ahead of %s", ErrInvalidID,
			id, t.Format(time.RFC3339Nano), MaxLead, now.UTC().Format(time.RFC3339Nano))
	}
	return nil
}
