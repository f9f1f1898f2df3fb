package snowflake

import (
	"errors"
	"fmt"
	"strconv"
)

// Reasons why input is not an ID. [Parse] and the other readers of IDs return them inside a [*ParseError]; match them
// with errors.Is.
var (
	// ErrSyntax means that the text is not what an ID prints in the form that is read: a wrong character, a wrong
	// length, a leading zero. All readers of text and JSON return it, and Scan for text.
	ErrSyntax = errors.New("snowflake: not the text of an ID")
	// ErrRange means that the number does not fit into 64 bits (for decimals and numbers: into an int64). All readers
	// return it.
	ErrRange = errors.New("snowflake: ID out of range")
	// ErrNull means that Scan met an SQL NULL or a nil *ID, for which ID has no value. A nullable column is read into a
	// sqltypes.Null or a *ID.
	ErrNull = errors.New("snowflake: NULL is not an ID")
	// ErrType means that the source is of a type that holds no ID: Scan returns it for floats, bool, time.Time and
	// others, UnmarshalJSON for booleans, objects and arrays.
	ErrType = errors.New("snowflake: not a type that holds an ID")
)

// maxErrorInput is how many bytes of rejected input an error keeps: input may be long, and errors are logged.
const maxErrorInput = 40

// ParseError describes input that is not an ID.
type ParseError struct {
	// Source is what was read: "text", "JSON", "base32", "base58", "base62", or for Scan the Go type of the driver's
	// value, such as "string" or "float64", or "NULL".
	Source string
	// Input is the rejected input, cut to 40 bytes; the last three of them are "..." if it was longer. It is empty if
	// the source says all, as for NULL.
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

// newParseError copies at most maxErrorInput bytes of the input. Because it copies, the input of a successful parse
// need not live on the heap.
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
	digits := input
	if len(digits) > 0 && digits[0] == '-' {
		digits = digits[1:]
	}
	if len(digits) == 0 {
		return newParseError(ErrSyntax, source, input, "it has no digits")
	}
	for i := range len(digits) {
		if c := digits[i]; c < '0' || c > '9' {
			at := i + len(input) - len(digits)
			return newParseError(ErrSyntax, source, input, fmt.Sprintf("want decimal digits only, byte %d is %q", at, []byte{c}))
		}
	}
	if digits[0] == '0' {
		return newParseError(ErrSyntax, source, input, "a number starts without a zero, and 0 has no sign")
	}
	return newParseError(ErrRange, source, input, "it is outside of [-9223372036854775808, 9223372036854775807]")
}
