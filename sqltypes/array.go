package sqltypes

import (
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes/internal/column"
)

// Array is a column of type bigint[] on PostgreSQL, and a parameter for = ANY($1) and unnest($1). T is [snowflake.ID],
// or a [Typed], whose kind the database does not see. Array[UserID](ids), [ArrayOf] and []UserID(array) convert without
// copying. It works in all modes of pgx, with and without database/sql, in GORM, and with other drivers that pass
// PostgreSQL's text or binary image, while a plain []snowflake.ID works only in some modes of pgx.
//
// NULL is the nil Array, and {} is an empty one that is not nil. An array with a NULL element is rejected. In JSON an
// Array is an array of the texts of its elements, or null if it is nil.
//
// In GORM a field of type Array has the column type bigint[]. GORM expands a plain slice and passes an Array as one
// value:
//
//	db.Where("id = ANY(?)", sqltypes.ArrayOf(ids)) // PostgreSQL: one parameter for any number of IDs
//	db.Where("id IN ?", ids)                       // every database: a plain []snowflake.ID, one parameter for each
//
// A statement may have 65,535 parameters on PostgreSQL and MySQL (the protocols count them in 16 bits) and 32,766 on
// SQLite (https://sqlite.org/limits.html).
//
// SQLite, MariaDB and MySQL have no arrays. There one parameter holds the IDs as JSON, see [Array.JSONNumbers]. For a
// column, use a []snowflake.ID with GORM's tag serializer:json, or the text of encoding/json; JSON functions cannot
// read the text that an Array writes.
type Array[T ~int64] []T

// ArrayOf converts a slice of IDs without copying it.
func ArrayOf[T ~int64](ids []T) Array[T] { return ids }

// Value returns the text of a bigint[], such as {1,2} or {}, as a string, or nil for a nil Array. The error is always
// nil.
func (a Array[T]) Value() (driver.Value, error) {
	if a == nil {
		return nil, nil // NULL
	}
	return list(a, '{', '}'), nil
}

// JSONNumbers returns the IDs as a JSON array of numbers, such as [1,2], or [] if there are none or a is nil. It is one
// parameter for any number of IDs on a database without arrays:
//
//	id IN (SELECT value FROM json_each(?))                                             -- SQLite
//	id IN (SELECT id FROM JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$')) AS ids)   -- MariaDB 10.6, MySQL 8
//
// These databases read JSON integers exactly over the whole of int64. JavaScript does not, so send the Array itself to
// a browser: its JSON has strings. SQLite compares numbers with integer columns and expressions, but strings only with
// TEXT and integer columns (section 4.2 of https://sqlite.org/datatype3.html).
func (a Array[T]) JSONNumbers() string { return list(a, '[', ']') }

// list returns the numbers with commas between them.
func list[T ~int64](ids []T, begin, end byte) string {
	b := append(make([]byte, 0, 2+20*len(ids)), begin) // a negative ID of 19 digits takes one byte more
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		b, _ = snowflake.ID(id).AppendText(b)
	}
	return string(append(b, end))
}

// Scan reads a column, for [sql.Scanner]. It takes the text or the binary image of a bigint[], int[] or smallint[] of
// PostgreSQL, as a string or []byte; of a text[] or varchar[] if [snowflake.Parse] reads its elements; and a slice of
// T, [snowflake.ID] or int64, or a *Array; it copies them. NULL and nil slices make a nil Array. The first subscript,
// which PostgreSQL lets a user choose, is dropped: [2:3]={1,2} is read as {1,2}.
//
// It rejects
//   - a NULL element with [snowflake.ErrNull]: remove such elements in the query with array_remove(ids, NULL);
//   - more than one dimension, elements of other types and all other sources with [snowflake.ErrType];
//   - what PostgreSQL does not print or send, such as spaces, quotes, missing or excess bytes, with
//     [snowflake.ErrSyntax];
//   - text of numbers outside of int64, as in a numeric[], with [snowflake.ErrRange].
//
// On an error the Array is nil. A forged header cannot make Scan allocate more than the size of the image.
func (a *Array[T]) Scan(src any) (err error) {
	*a, err = scanArray[T](src)
	return err
}

// scanArray reads a column into a new slice: nil for NULL and on an error, otherwise never nil.
func scanArray[T ~int64](src any) ([]T, error) {
	switch src := src.(type) {
	case nil:
		return nil, nil
	case string:
		return readArray[T]("string", src)
	case []byte:
		return readArray[T]("[]byte", src)
	case Array[T]:
		return slices.Clone(src), nil
	case *Array[T]:
		if src == nil {
			return nil, nil
		}
		return slices.Clone(*src), nil
	case []T:
		return slices.Clone(src), nil
	case Array[snowflake.ID]:
		return convertArray[T](src), nil
	case []snowflake.ID:
		return convertArray[T](src), nil
	case []int64:
		return convertArray[T](src), nil
	}

	return nil, newArrayError(snowflake.ErrType, reflect.TypeOf(src).String(), "",
		"want the text or binary image of a bigint[], as PostgreSQL sends it")
}

// convertArray copies the IDs into a slice of another type. A nil slice stays nil.
func convertArray[To, From ~int64](ids []From) []To {
	if ids == nil {
		return nil
	}
	converted := make([]To, len(ids))
	for i, id := range ids {
		converted[i] = To(id)
	}
	return converted
}

// GormDataType returns "bigint[]", the type of the column on PostgreSQL.
func (Array[T]) GormDataType() string { return "bigint[]" }

// UnmarshalJSON reads null as a nil Array, and otherwise an array whose elements T reads. A null element is rejected
// with [snowflake.ErrNull], a value other than an array with [snowflake.ErrType]. On an error the Array is nil.
func (a *Array[T]) UnmarshalJSON(data []byte) error {
	*a = nil

	switch {
	case string(data) == "null":
		return nil
	case len(data) == 0:
		return newArrayError(snowflake.ErrSyntax, "JSON", data, "there is no value")
	case data[0] != '[':
		return newArrayError(snowflake.ErrType, "JSON", data, "want an array of strings or integers")
	}

	var elements []notNull[T]
	if err := json.Unmarshal(data, &elements); err != nil {
		if invalid := (*json.SyntaxError)(nil); errors.As(err, &invalid) {
			return newArrayError(snowflake.ErrSyntax, "JSON", data, "%v", invalid)
		}
		return err
	}

	*a = make(Array[T], len(elements))
	for i, element := range elements {
		(*a)[i] = element.value
	}

	return nil
}

// notNull rejects JSON null, for which encoding/json would leave the element 0.
type notNull[T ~int64] struct{ value T }

func (n *notNull[T]) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return column.Reject(snowflake.ErrNull, "JSON", data, "an array element cannot be null")
	}
	if reader, ok := any(&n.value).(json.Unmarshaler); ok {
		return reader.UnmarshalJSON(data)
	}
	return json.Unmarshal(data, &n.value)
}

// arrayError says which input is not an array of IDs, and why.
type arrayError struct {
	text string
	err  error // snowflake.ErrSyntax, ErrRange, ErrNull or ErrType
}

func (e *arrayError) Error() string { return e.text }
func (e *arrayError) Unwrap() error { return e.err }

// newArrayError makes the error for a source: "JSON" or the Go type of the driver's value.
func newArrayError[T string | []byte](err error, source string, input T, format string, args ...any) error {
	if len(input) > 0 || err != snowflake.ErrType { //nolint:errorlint // it is one of the four
		source += " " + strconv.Quote(column.Cut(input))
	}
	return &arrayError{"sqltypes: " + source + " is not an array of IDs: " + fmt.Sprintf(format, args...), err}
}

// elementError adds the index of an element to its error.
func elementError(index int, err error) error {
	return fmt.Errorf("sqltypes: array element at index %d: %w", index, err)
}

func nullElement[T string | []byte](source string, input T, index int) error {
	return newArrayError(snowflake.ErrNull, source, input,
		"the element at index %d is NULL, remove it with array_remove(ids, NULL)", index)
}
