// Package refuse makes the errors for input that is not an ID. It is the one place of sqltypes and the packages below
// it that cuts rejected input.
package refuse

import (
	"reflect"

	"github.com/sqlflake/sqlflake/snowflake"
)

// maxInput is the number of bytes of rejected input that an error keeps, as in package snowflake.
const maxInput = 40

// Input returns the error for rejected input. Source and reason are as in [snowflake.ParseError].
func Input[T ~string | ~[]byte](err error, source string, input T, reason string) *snowflake.ParseError {
	return &snowflake.ParseError{Source: source, Input: Cut(input), Reason: reason, Err: err}
}

// Cut returns a copy of the input of at most 40 bytes. Since it copies, input that is accepted needs no heap.
func Cut[T ~string | ~[]byte](input T) string {
	if len(input) <= maxInput {
		return string(input)
	}
	return string(input[:maxInput-3]) + "..."
}

// Source returns the name of a source of Scan in the form of [snowflake.ID.Scan]: its Go type, "NULL" for nil.
func Source(src any) string {
	switch src.(type) {
	case nil:
		return "NULL"
	case []byte: // reflect calls it []uint8
		return "[]byte"
	}
	t := reflect.TypeOf(src)
	if t.Kind() == reflect.Pointer && reflect.ValueOf(src).IsNil() {
		return "nil " + t.String()
	}
	return t.String()
}
