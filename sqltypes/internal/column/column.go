// Package column has what the Scan methods of package sqltypes and the packages below it share.
package column

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strconv"
	"strings"

	"github.com/sqlflake/sqlflake/snowflake"
)

// maxInput is the number of bytes of rejected input that an error keeps, as in package snowflake.
const maxInput = 40

// Reject returns the error for input that is not an ID.
func Reject[T ~string | ~[]byte](err error, source string, input T, reason string) error {
	return &snowflake.ParseError{Source: source, Input: Cut(input), Reason: reason, Err: err}
}

// Cut returns a copy of the input of at most 40 bytes. Since it copies, input that is accepted needs no heap.
func Cut[T ~string | ~[]byte](input T) string {
	if len(input) <= maxInput {
		return string(input)
	}
	return string(input[:maxInput-3]) + "..."
}

// Unquote returns the text of a JSON string, and other data as it is.
func Unquote(data []byte) []byte {
	isString := len(data) >= 2 && data[0] == '"' && data[len(data)-1] == '"'
	if !isString {
		return data
	}
	if bytes.IndexByte(data, '\\') < 0 {
		return data[1 : len(data)-1]
	}

	var text string
	if json.Unmarshal(data, &text) != nil {
		return data
	}
	return []byte(text)
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

// RejectNull returns the error for NULL or a nil pointer, read into a T.
func RejectNull[T any](src any) error {
	name, _, _ := strings.Cut(reflect.TypeFor[T]().String(), "[") // without the kind
	return Reject(snowflake.ErrNull, Source(src), "",
		"use *"+name+" or sql.Null["+name+"] for a column that may be NULL")
}

// number is a type that holds an ID.
type number interface{ SnowflakeID() snowflake.ID }

// ScanInteger reads what [snowflake.ID.Scan] does, and a T or a pointer to one, which bulk builders pass to Scan. On an
// error the ID is 0.
func ScanInteger[T number](src any) (id snowflake.ID, err error) {
	switch src := src.(type) {
	case T:
		return src.SnowflakeID(), nil
	case *T:
		if src != nil {
			return (*src).SnowflakeID(), nil
		}
		err = snowflake.ErrNull
	default:
		err = id.Scan(src)
	}

	if errors.Is(err, snowflake.ErrNull) {
		return 0, RejectNull[T](src)
	}
	return id, err
}

// ScanOther reads an ID, a T or a pointer to one, which bulk builders pass to Scan, and rejects everything else.
// columns are the types of the columns for T.
func ScanOther[T number](src any, columns string) (snowflake.ID, error) {
	input, reason := "", reflect.TypeFor[T]().String()+" is for a column of type "+columns
	switch src := src.(type) {
	case nil, snowflake.ID, *snowflake.ID, T, *T:
		return ScanInteger[T](src)
	case int64: // on SQLite also of text that looks like a number, if the column is declared wrongly
		input = strconv.FormatInt(src, 10)
		reason += ", use snowflake.ID for one of integers"
	case float64:
		input = strconv.FormatFloat(src, 'g', -1, 64)
	}

	return 0, Reject(snowflake.ErrType, Source(src), input, reason)
}
