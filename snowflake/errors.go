package snowflake

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/internal/core"
)

// Errors of layouts and generators. Match them with errors.Is; the text of a returned error names the value and the
// limit.
var (
	// ErrLayout means an invalid layout: no time or no sequence, more than 63 bits, a field twice, a tick below 1 µs,
	// the name of no preset, or the zero Layout.
	ErrLayout = errors.New("snowflake: invalid layout")
	// ErrUnknownField means a name that the layout does not have.
	ErrUnknownField = errors.New("snowflake: no such field")
	// ErrFieldRange means a value that does not fit into its field.
	ErrFieldRange = core.ErrFieldRange
	// ErrFieldOrder means that IDs of the layout do not sort by time, because another field is above the time. The IDs
	// of a span of time are then not one range of numbers, or for MaskedRanges more than 256.
	ErrFieldOrder = errors.New("snowflake: the fields do not sort by time")
	// ErrInvalidRange means that from is after to.
	ErrInvalidRange = errors.New("snowflake: range ends before it begins")
	// ErrInvalidID means a number that no generator of the layout can have issued by now.
	ErrInvalidID = errors.New("snowflake: invalid ID")
	// ErrBeforeEpoch means a time before the layout's epoch: the time of the clock, or one that was passed.
	ErrBeforeEpoch = core.ErrBeforeEpoch
	// ErrTimeExhausted means a time at or after the layout's End, or that fewer IDs are left than a call asks for: at
	// the End, or earlier by the lead. No ID is ever negative, masked or issued again.
	ErrTimeExhausted = core.ErrTimeExhausted
	// ErrOption means an invalid option: a negative lead, a lead longer than an earlier generator for the worker has, a
	// nil Option or Clock, or a field that the generator or WithField has set.
	ErrOption = core.ErrOption
	// ErrNoGenerator means a nil *Generator, or one that was not made by New.
	ErrNoGenerator = core.ErrNoGenerator
	// ErrEmptyFill means an empty slice, which usually was made with a capacity instead of a length.
	ErrEmptyFill = core.ErrEmptyFill
	// ErrLeaseStalled means that a lease was not extended in time: before the context ended, or within the patience if
	// it has no deadline. The next call may succeed. The error contains a *StalledError.
	ErrLeaseStalled = core.ErrLeaseStalled
)

// DueError is in the error of Next, NextContext and Fill when the context ends before the IDs are due, or would. A
// server can answer with a Retry-After of In, rounded up to seconds.
type DueError struct {
	// In is the time until the IDs are due, as of the error, if no other call takes IDs first. It is positive.
	In  time.Duration
	err error
}

// Error returns a text with In and the context's error.
func (e *DueError) Error() string {
	return fmt.Sprintf("snowflake: no ID is due for %v: %v", e.In, e.err)
}

// Unwrap returns the context's error: context.DeadlineExceeded if its deadline comes first, even before it has passed;
// else what ctx.Err() and context.Cause returned.
func (e *DueError) Unwrap() error { return e.err }

// StalledError is in the error of Next, NextContext and Fill when a call has waited for its lease in vain.
type StalledError struct {
	// Cause is the error of the lease's last call of its store: nil if that has succeeded, or none has returned yet. It
	// is for the log of the server, and may name hosts and tables.
	Cause error
	err   error
}

// Error returns a text without the cause, which a client may see.
func (e *StalledError) Error() string { return e.err.Error() }

// Unwrap returns an error that wraps ErrLeaseStalled and, if the context has ended the wait, what ctx.Err() and
// context.Cause returned. It does not wrap the cause: the deadline of a call of the store is not the caller's.
func (e *StalledError) Unwrap() error { return e.err }

var errZeroLayout = layoutError("the zero Layout has no fields")

func layoutError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrLayout, fmt.Sprintf(format, args...))
}

// Reasons why input is not an ID. [Parse] and the other readers of IDs return them inside a [*ParseError].
var (
	// ErrSyntax means that the text is not what an ID prints in the form that is read: a wrong character, a wrong
	// length, a leading zero. All readers of text and JSON return it, and Scan for text.
	ErrSyntax = errors.New("snowflake: not the text of an ID")
	// ErrRange means that the number does not fit into 64 bits (for decimals and numbers: into an int64). All readers
	// return it.
	ErrRange = errors.New("snowflake: ID out of range")
	// ErrNull means that Scan read an SQL NULL or a nil *ID, for which ID has no value. A nullable column is read into
	// a sqltypes.Null, or into a *ID; some query builders panic at a nil one.
	ErrNull = errors.New("snowflake: NULL is not an ID")
	// ErrType means that the source is of a type that holds no ID: Scan returns it for floats, bool, time.Time and
	// others, UnmarshalJSON for booleans, objects and arrays, UnmarshalBSONValue for doubles and others.
	ErrType = errors.New("snowflake: not a type that holds an ID")
)

// maxErrorInput is how many bytes of rejected input an error keeps: input may be long, and errors are logged.
const maxErrorInput = 40

// ParseError describes input that is not an ID.
type ParseError struct {
	// Source is what was read: "text", "parameter", "JSON", "base32", "base62", "BSON" with its type, or for Scan
	// "NULL" or the Go type, such as "float64".
	Source string
	// Input is the rejected input, cut to 40 bytes that end with "..." if it was longer; empty if the source says all.
	Input string
	// Reason is the rule that the input breaks, with the limit or the remedy.
	Reason string
	// Err is [ErrSyntax], [ErrRange], [ErrNull] or [ErrType].
	Err error
}

// Error returns one line that names the source, the input and the rule.
func (e *ParseError) Error() string {
	if e.Input == "" && !errors.Is(e.Err, ErrSyntax) { // empty text is input too
		return "snowflake: " + e.Source + " is not an ID: " + e.Reason
	}
	return "snowflake: " + e.Source + " " + strconv.Quote(e.Input) + " is not an ID: " + e.Reason
}

// Unwrap returns e.Err.
func (e *ParseError) Unwrap() error { return e.Err }

// newParseError copies the input, so that the input of a successful parse need not live on the heap.
func newParseError[T ~string | ~[]byte](err error, source string, input T, reason string) *ParseError {
	var buf [maxErrorInput]byte
	n := copy(buf[:], input)
	if len(input) > maxErrorInput {
		copy(buf[maxErrorInput-3:], "...")
	}
	return &ParseError{Source: source, Input: string(buf[:n]), Reason: reason, Err: err}
}

// decimalError explains why parseDecimal rejected the input.
func decimalError[T ~string | ~[]byte](source string, input T) *ParseError {
	digits := strings.TrimPrefix(string(input), "-")
	if digits == "" {
		return newParseError(ErrSyntax, source, input, "it has no digits")
	}
	if rest := strings.TrimLeft(digits, "0123456789"); rest != "" {
		return newParseError(ErrSyntax, source, input,
			fmt.Sprintf("want decimal digits only, byte %d is %q", len(input)-len(rest), rest[:1]))
	}

	if digits[0] == '0' {
		return newParseError(ErrSyntax, source, input, "a number starts without a zero, and 0 has no sign")
	}
	return newParseError(ErrRange, source, input, "it is outside of [-9223372036854775808, 9223372036854775807]")
}
