package snowflake

import (
	"errors"
	"fmt"
)

// Errors of layouts and generators. All of them are matched with errors.Is;
// the text of the error that a call returns names the value and the limit.
var (
	// ErrLayout is returned by NewLayout, ParseLayout and the text unmarshaller
	// for a layout that can't be: no time or no sequence, more than 63 bits, a
	// field twice, a tick below a microsecond. New, Compose, Validate, MinAt,
	// MaxAt and Range return it for the zero Layout.
	ErrLayout = errors.New("snowflake: invalid layout")

	// ErrUnknownField is returned by Field, Compose, With, and New for WithField,
	// for a name that the layout does not have.
	ErrUnknownField = errors.New("snowflake: no such field")

	// ErrFieldRange is returned by New, With and Compose for a value that does
	// not fit into its field. The error is a *FieldError.
	ErrFieldRange = errors.New("snowflake: field value out of range")

	// ErrFieldOwned is returned by With, and by New for WithField, for a field
	// that is not free to set: the time, the sequence, the worker; for With also
	// one that is pinned.
	ErrFieldOwned = errors.New("snowflake: field is not free")

	// ErrFieldOrder is returned by MinAt, MaxAt and Range for a layout whose
	// time is not its highest field: the IDs of a span of time are then not one
	// range of numbers.
	ErrFieldOrder = errors.New("snowflake: time is not the highest field")

	// ErrInvalidRange is returned by Range if it would end before it begins.
	ErrInvalidRange = errors.New("snowflake: range ends before it begins")

	// ErrInvalidID is returned by Validate for a number that no generator of
	// the layout can have issued by now.
	ErrInvalidID = errors.New("snowflake: invalid ID")

	// ErrBeforeEpoch is returned by New, the Next calls and Fill when the clock
	// shows a time before the layout's epoch, and by Compose, MinAt and MaxAt
	// for such a time.
	ErrBeforeEpoch = errors.New("snowflake: time before the epoch")

	// ErrTimeExhausted is returned by New, the Next calls and Fill when the
	// layout has no ID left, or fewer than asked for: at its End, earlier by the
	// lead. Compose, MinAt and MaxAt return it for a time from End on. No ID is
	// ever negative, masked or issued again.
	ErrTimeExhausted = errors.New("snowflake: time exhausted")

	// ErrOption is returned by New for an option with a value that it can't
	// take: a negative lead, a lead longer than that of an earlier generator for
	// the worker, a nil Clock.
	ErrOption = errors.New("snowflake: invalid option")

	// ErrNoGenerator is returned by the methods of a nil *Generator and of a
	// Generator that did not come from New.
	ErrNoGenerator = errors.New("snowflake: generator was not made by New")

	// ErrEmptyFill is returned by Fill for an empty slice, which is nearly
	// always a slice made with a capacity instead of a length.
	ErrEmptyFill = errors.New("snowflake: nothing to fill")

	// ErrForeignClock is returned by the Next calls and Fill of a generator that
	// was made outside a testing/synctest bubble and is used inside, or the other
	// way round: the two have clocks that are decades apart.
	ErrForeignClock = errors.New("snowflake: the clock is not the one the generator was made with")
)

// FieldError says which value did not fit into which field. It wraps
// ErrFieldRange.
type FieldError struct {
	Field string // name of the field in the layout
	Value int64  // the value that was given
	Max   int64  // the greatest value that fits; the least is 0
}

// Error names the field, the value and the range.
func (e *FieldError) Error() string {
	return fmt.Sprintf("snowflake: %s %d out of range [0, %d]", e.Field, e.Value, e.Max)
}

// Unwrap returns ErrFieldRange.
func (e *FieldError) Unwrap() error { return ErrFieldRange }
