package sqltypes

import (
	"reflect"

	"github.com/sqlflake/sqlflake/snowflake"
)

// maxInput is the number of bytes of rejected input that an error keeps, as in package snowflake.
const maxInput = 40

// reject returns the error for input that is not an ID.
func reject[T ~string | ~[]byte](err error, source string, input T, reason string) error {
	return &snowflake.ParseError{Source: source, Input: cut(input), Reason: reason, Err: err}
}

// cut returns a copy of the input of at most 40 bytes. Since it copies, input that is accepted needs no heap.
func cut[T ~string | ~[]byte](input T) string {
	if len(input) <= maxInput {
		return string(input)
	}
	return string(input[:maxInput-3]) + "..."
}

// sourceOf returns the name of a source of Scan in the form of [snowflake.ID.Scan]: its Go type, "NULL" for nil.
func sourceOf(src any) string {
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
