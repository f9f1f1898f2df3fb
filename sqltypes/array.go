package sqltypes

import (
	"database/sql/driver"
	"encoding/json"
	"errors"
	"reflect"
	"slices"

	"github.com/sqlflake/sqlflake/snowflake"
)

// Array is a column of type bigint[] on PostgreSQL, and a parameter for = ANY($1) and unnest($1). It is a slice of IDs:
// sqltypes.Array(ids) and []snowflake.ID(array) convert without copying. It works in all modes of pgx, with and without
// database/sql, in GORM, and with other drivers that pass PostgreSQL's text or binary image, while a plain
// []snowflake.ID works only in some modes of pgx.
//
// NULL is the nil Array, and {} is an empty one that is not nil. An array with a NULL element is rejected. In JSON an
// Array is an array of strings, or null if it is nil.
//
// In GORM a field of type Array has the column type bigint[]. GORM expands a plain slice and passes an Array as one
// value:
//
//	db.Where("id = ANY(?)", sqltypes.Array(ids)) // PostgreSQL: one parameter for any number of IDs
//	db.Where("id IN ?", ids)                     // every database: a plain []snowflake.ID, one parameter for each
//
// A statement may have 65,535 parameters on PostgreSQL and MySQL (the protocols count them in 16 bits) and 32,766 on
// SQLite (https://sqlite.org/limits.html).
//
// SQLite, MariaDB and MySQL have no arrays. There one parameter holds the IDs as JSON, see [Array.JSONNumbers]. For a
// column, use a []snowflake.ID with GORM's tag serializer:json, or the text of encoding/json; JSON functions cannot
// read the text that an Array writes.
type Array []snowflake.ID

// Value returns the text of a bigint[], such as {1,2} or {}, as a string, or nil for a nil Array. The error is always
// nil.
func (a Array) Value() (driver.Value, error) { return arrayValue(a) }

// Scan reads a column, for [sql.Scanner]. It takes the text or the binary image of a bigint[], int[] or smallint[] of
// PostgreSQL, as a string or []byte; of a text[] or varchar[] if [snowflake.Parse] reads its elements; and a slice of
// IDs or int64 or a *Array, which it copies. NULL and nil slices make a nil Array. The first subscript, which
// PostgreSQL lets a user choose, is dropped: [2:3]={1,2} is read as {1,2}.
//
// It rejects
//   - a NULL element with [snowflake.ErrNull]: remove such elements in the query with array_remove(ids, NULL);
//   - more than one dimension, elements of other types and all other sources with [snowflake.ErrType];
//   - what PostgreSQL does not print or send, such as spaces, quotes, missing or excess bytes, with
//     [snowflake.ErrSyntax];
//   - text of numbers outside of int64, as in a numeric[], with [snowflake.ErrRange].
//
// On an error the Array is nil. A forged header cannot make Scan allocate more than the size of the image.
func (a *Array) Scan(src any) error {
	switch other := src.(type) {
	case Array:
		src = []snowflake.ID(other)
	case *Array:
		src = nil
		if other != nil {
			src = []snowflake.ID(*other)
		}
	}
	ids, err := scanArray[snowflake.ID](src)
	*a = ids
	return err
}

// GormDataType returns "bigint[]", the type of the column on PostgreSQL.
func (Array) GormDataType() string { return "bigint[]" }

// UnmarshalJSON reads null as a nil Array, and otherwise an array whose elements [snowflake.ID.UnmarshalJSON] reads. A
// null element is rejected with [snowflake.ErrNull], a value other than an array with [snowflake.ErrType]. On an error
// the Array is nil.
func (a *Array) UnmarshalJSON(data []byte) error {
	ids, err := unmarshalArray[snowflake.ID](data)
	*a = ids
	return err
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
func (a Array) JSONNumbers() string { return jsonNumbers(a) }

// TypedArray is an [Array] of IDs of one kind; everything that is said there holds here. The database does not see the
// kind. TypedArray[user](ids) and []UserID(array) convert without copying. In JSON it is an array of the texts of
// [Typed], or null if it is nil.
type TypedArray[K Kind] []Typed[K]

// Value returns the text of a bigint[], such as {1,2} or {}, as a string, or nil for a nil TypedArray. The error is
// always nil.
func (a TypedArray[K]) Value() (driver.Value, error) { return arrayValue(a) }

// Scan reads a column as [Array.Scan] does, with the same errors. It copies a slice of IDs of the kind, of
// [snowflake.ID] or int64, or a *TypedArray, and rejects slices of other kinds with [snowflake.ErrType]. On an error
// the TypedArray is nil.
func (a *TypedArray[K]) Scan(src any) error {
	switch other := src.(type) {
	case TypedArray[K]:
		src = []Typed[K](other)
	case *TypedArray[K]:
		src = nil
		if other != nil {
			src = []Typed[K](*other)
		}
	case Array:
		src = []snowflake.ID(other)
	}
	ids, err := scanArray[Typed[K]](src)
	*a = ids
	return err
}

// GormDataType returns "bigint[]", the type of the column on PostgreSQL.
func (TypedArray[K]) GormDataType() string { return "bigint[]" }

// UnmarshalJSON reads null as a nil TypedArray, and otherwise an array whose elements [Typed.UnmarshalJSON] reads. A
// null element is rejected with [snowflake.ErrNull], a value other than an array with [snowflake.ErrType]. On an error
// the TypedArray is nil.
func (a *TypedArray[K]) UnmarshalJSON(data []byte) error {
	ids, err := unmarshalArray[Typed[K]](data)
	*a = ids
	return err
}

// JSONNumbers returns the IDs as a JSON array of numbers, as [Array.JSONNumbers] does.
func (a TypedArray[K]) JSONNumbers() string { return jsonNumbers(a) }

func arrayValue[T ~int64](ids []T) (driver.Value, error) {
	if ids == nil {
		return nil, nil // NULL
	}
	return string(appendArray(make([]byte, 0, listSize(len(ids))), ids)), nil
}

func jsonNumbers[T ~int64](ids []T) string {
	b := append(make([]byte, 0, listSize(len(ids))), '[')
	b = appendList(b, ids)
	return string(append(b, ']'))
}

// scanArray reads a column into a new slice: nil for NULL and on an error, otherwise never nil.
func scanArray[T ~int64](src any) ([]T, error) {
	switch src := src.(type) {
	case nil:
		return nil, nil
	case string:
		if isArrayBinary(src) {
			return readArrayBinary[T]("string", []byte(src))
		}
		return readArrayText[T]("string", src)
	case []byte:
		if isArrayBinary(src) {
			return readArrayBinary[T]("[]byte", src)
		}
		return readArrayText[T]("[]byte", string(src))
	case []T:
		return slices.Clone(src), nil
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

// unmarshalArray reads a JSON array into a new slice: nil for null and on an error, otherwise never nil.
func unmarshalArray[T any, P jsonElement[T]](data []byte) ([]T, error) {
	switch {
	case string(data) == "null":
		return nil, nil
	case len(data) == 0:
		return nil, newArrayError(snowflake.ErrSyntax, "JSON", data, "there is no value")
	case data[0] != '[':
		return nil, newArrayError(snowflake.ErrType, "JSON", data, "want an array of strings or integers")
	}
	var elements []notNull[T, P]
	if err := json.Unmarshal(data, &elements); err != nil {
		if invalid := (*json.SyntaxError)(nil); errors.As(err, &invalid) {
			return nil, newArrayError(snowflake.ErrSyntax, "JSON", data, invalid.Error())
		}
		return nil, err
	}
	values := make([]T, len(elements))
	for i := range elements {
		values[i] = elements[i].value
	}
	return values, nil
}

// jsonElement is a pointer to T that reads JSON.
type jsonElement[T any] interface {
	*T
	json.Unmarshaler
}

// notNull rejects JSON null, for which encoding/json would leave the element 0.
type notNull[T any, P jsonElement[T]] struct{ value T }

func (n *notNull[T, P]) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return &snowflake.ParseError{
			Source: "JSON", Input: "null", Reason: "an array element cannot be null", Err: snowflake.ErrNull,
		}
	}
	return P(&n.value).UnmarshalJSON(data)
}
