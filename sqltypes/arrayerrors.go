package sqltypes

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/sqlflake/sqlflake/snowflake"
)

// arrayError says which input is not an array of IDs, and why.
type arrayError struct {
	source string // "JSON", the Go type of the driver's value
	input  string // cut to maxArrayInput bytes
	reason string
	err    error // one of snowflake.ErrSyntax, ErrRange, ErrNull, ErrType
}

func (e *arrayError) Error() string {
	if e.input == "" && errors.Is(e.err, snowflake.ErrType) { // the source says all
		return "sqltypes: " + e.source + " is not an array of IDs: " + e.reason
	}
	return "sqltypes: " + e.source + " " + strconv.Quote(e.input) + " is not an array of IDs: " + e.reason
}

func (e *arrayError) Unwrap() error { return e.err }

// maxArrayInput is the number of bytes of rejected input that an error keeps, as in package snowflake.
const maxArrayInput = 40

func newArrayError[T string | []byte](err error, source string, input T, reason string) error {
	kept := string(input[:min(len(input), maxArrayInput)])
	if len(input) > maxArrayInput {
		kept = kept[:maxArrayInput-3] + "..."
	}
	return &arrayError{source: source, input: kept, reason: reason, err: err}
}

// elementError adds the place of an element to what is wrong with it.
func elementError(index int, err error) error {
	return fmt.Errorf("sqltypes: array element at index %d: %w", index, err)
}

func nullElement[T string | []byte](source string, input T, index int) error {
	return newArrayError(snowflake.ErrNull, source, input, fmt.Sprintf(
		"the element at index %d is NULL, array_remove(ids, NULL) leaves it out", index))
}
