package snowflake

import (
	"errors"
	"fmt"
	"time"
)

// Errors of layouts and generators. Match them with errors.Is; the text of a returned error names the value and the
// limit.
var (
	// ErrLayout is returned by NewLayout, ParseLayout and Layout.UnmarshalText for an invalid layout: no time or no
	// sequence, more than 63 bits, a field twice, a tick below 1 µs. Preset returns it for an unknown name. New,
	// Compose, Validate, MinAt, MaxAt, Range and Ranges return it for the zero Layout.
	ErrLayout = errors.New("snowflake: invalid layout")

	// ErrUnknownField is returned by Field, Compose, With, and New for WithField, for a name that the layout does not
	// have.
	ErrUnknownField = errors.New("snowflake: no such field")

	// ErrFieldRange is returned by New, With, Compose and Lessee.Move for a value that does not fit into its field.
	ErrFieldRange = errors.New("snowflake: field value out of range")

	// ErrFieldOwned is returned by With, and by New for WithField, for the fields that the generator sets, time,
	// sequence and worker, and by With for a field that is set by WithField.
	ErrFieldOwned = errors.New("snowflake: field is not free")

	// ErrFieldOrder is returned by MinAt, MaxAt and Range for a layout whose time is not its highest field: the IDs of
	// a span of time are then not one range of numbers. Ranges returns it if they are more than 256.
	ErrFieldOrder = errors.New("snowflake: time is not the highest field")

	// ErrInvalidRange is returned by Range and Ranges if from is after to.
	ErrInvalidRange = errors.New("snowflake: range ends before it begins")

	// ErrInvalidID is returned by Validate for a number that no generator of the layout can have issued by now.
	ErrInvalidID = errors.New("snowflake: invalid ID")

	// ErrBeforeEpoch is returned by New, Next, NextContext and Fill when the clock shows a time before the layout's
	// epoch, and by Compose, MinAt and MaxAt for such a time.
	ErrBeforeEpoch = errors.New("snowflake: time before the epoch")

	// ErrTimeExhausted is returned by New, Next, NextContext and Fill when the layout has fewer IDs left than the call
	// asks for: at its End, or earlier by the lead. Compose, MinAt and MaxAt return it for a time at or after End. No
	// ID is ever negative, masked or issued again.
	ErrTimeExhausted = errors.New("snowflake: time exhausted")

	// ErrOption is returned by New and NewLessee for an invalid option: a negative lead, a lead longer than that of an
	// earlier generator for the worker, a nil Option, a nil Clock.
	ErrOption = errors.New("snowflake: invalid option")

	// ErrNoGenerator is returned by the methods of a nil *Generator and of a Generator that was not made by New.
	ErrNoGenerator = errors.New("snowflake: generator was not made by New")

	// ErrEmptyFill is returned by Fill for an empty slice, which usually was made with a capacity instead of a length.
	ErrEmptyFill = errors.New("snowflake: nothing to fill")

	// ErrLeaseStalled is returned by Next, NextContext and Fill of a generator with a lease when the lease was not
	// extended in time: before the context ended, or within the patience if the context has no deadline. The next call
	// may succeed.
	ErrLeaseStalled = errors.New("snowflake: the lease was not extended in time")
)

// DueError is in the error of Next, NextContext and Fill when the context ends before the IDs are due, or would. Get it
// with errors.As. A server can answer with a Retry-After of In, rounded up to seconds.
type DueError struct {
	// In is the time until the IDs are due, as of the error, if no other call takes IDs first. It is positive.
	In  time.Duration
	err error
}

// Error returns a text with In and the context's error.
func (e *DueError) Error() string {
	return fmt.Sprintf("snowflake: no ID is due for %v: %v", e.In, e.err)
}

// Unwrap returns the context's error: context.DeadlineExceeded if its deadline comes first, also if it has not passed
// yet; else what ctx.Err() and context.Cause returned.
func (e *DueError) Unwrap() error { return e.err }

var (
	errZeroLayout = layoutError("the zero Layout has no fields")

	errForeignClock = errors.New("snowflake: the generator was created inside another testing/synctest bubble or outside of any")

	// errBeyond is returned by take when the state is above the limit but below the layout's end: the lease has to be
	// extended, or another worker has replaced this one.
	errBeyond = errors.New("snowflake: beyond the horizon")
)

func layoutError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrLayout, fmt.Sprintf(format, args...))
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
