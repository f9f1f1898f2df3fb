package snowflake

import "fmt"

// With returns a generator that stamps value into the named field of each ID
// and shares everything else with g: as time and sequence are drawn from the
// same word, none of its IDs can be one of g's, whatever the values. The field is
// for what an ID stands for, such as a type or a region of its data; what tells
// processes with the same worker apart, such as a datacenter, belongs into
// WithField.
//
// It returns ErrUnknownField, a *FieldError (ErrFieldRange), and ErrFieldOwned
// for the time, the sequence, the worker and pinned fields: another process may
// own those values.
func (g *Generator) With(field string, value int64) (*Generator, error) {
	if g.current() == nil {
		return nil, ErrNoGenerator
	}
	for _, p := range g.pinned {
		if p.field == field {
			return nil, fmt.Errorf("%w: %q is pinned to %d", ErrFieldOwned, field, p.value)
		}
	}
	view := *g
	if err := view.stamp(field, value); err != nil {
		return nil, err
	}
	return &view, nil
}

// stamp sets a field besides time, sequence and worker.
func (g *Generator) stamp(field string, value int64) error {
	l := g.layout
	at, ok := l.find(field)
	switch {
	case !ok:
		return l.unknownField(field)
	case at == l.time || at == l.sequence || at == l.worker:
		return fmt.Errorf("%w: %q is set by the generator", ErrFieldOwned, field)
	}
	if err := checkField(field, value, at); err != nil {
		return err
	}
	g.fixed = g.fixed&^at.put(at.max()) | at.put(value)
	return nil
}
