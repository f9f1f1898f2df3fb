package sqltypes

import (
	"bytes"
	"database/sql/driver"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

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

// Scan reads a column, for [sql.Scanner]. It takes the text or the binary image of a bigint[] of PostgreSQL, as a
// string or []byte, and copies an Array or a *Array. NULL and nil make a nil Array.
//
// It rejects
//   - a NULL element with [snowflake.ErrNull]: remove such elements in the query with array_remove(ids, NULL);
//   - more than one dimension, images of other elements and all other sources with [snowflake.ErrType];
//   - what PostgreSQL does not print or send for it, such as spaces, quotes, missing or excess bytes, and the text of
//     an array whose first subscript is not 1, with [snowflake.ErrSyntax];
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
	}

	return nil, newArrayError(snowflake.ErrType, reflect.TypeOf(src).String(), "",
		"want the text or binary image of a bigint[], as PostgreSQL sends it")
}

// readArray reads text or an image. The image starts with the number of dimensions, an int4 of at most 6, so its first
// byte is 0. Text starts with a brace.
func readArray[T ~int64, S string | []byte](source string, src S) ([]T, error) {
	if len(src) > 0 && src[0] == 0 {
		return readImage[T](source, []byte(src))
	}
	return readText[T](source, string(src))
}

// readText reads a one-dimensional array as PostgreSQL prints it.
func readText[T ~int64](source, text string) ([]T, error) {
	if len(text) < 2 || text[0] != '{' || text[len(text)-1] != '}' {
		return nil, newArrayError(snowflake.ErrSyntax, source, text, "want IDs in braces, such as {1,2}")
	}

	elements := text[1 : len(text)-1]
	if elements == "" {
		return []T{}, nil // not NULL
	}

	ids := make([]T, 0, strings.Count(elements, ",")+1)
	for element := range strings.SplitSeq(elements, ",") {
		switch {
		case element == "NULL":
			return nil, nullElement(source, text, len(ids))
		case strings.HasPrefix(element, "{"):
			return nil, newArrayError(snowflake.ErrType, source, text, "it has more than one dimension")
		}

		id, err := snowflake.Parse(element)
		if err != nil {
			return nil, fmt.Errorf("sqltypes: array element at index %d: %w", len(ids), err)
		}
		ids = append(ids, T(id))
	}
	return ids, nil
}

// The image of an array in PostgreSQL, in big endian (array_send in src/backend/utils/adt/arrayfuncs.c): a header with
// the number of dimensions, flags and the OID of the elements' type; for each dimension its length and first subscript;
// then the elements, each after its length.
const (
	arrayHeader   = 12
	arrayBounds   = 8
	arrayElement  = 4 + 8
	maxDimensions = 6  // MAXDIM
	int8OID       = 20 // of bigint, in pg_type.dat
)

var nullLength = []byte{0xff, 0xff, 0xff, 0xff} // -1

// readImage reads a binary image. It does not trust the header: it allocates only for elements that fit into the image.
func readImage[T ~int64](source string, image []byte) ([]T, error) {
	malformed := func(format string, args ...any) ([]T, error) {
		return nil, newArrayError(snowflake.ErrSyntax, source, image, format, args...)
	}
	if len(image) < arrayHeader {
		return malformed("its header is cut off")
	}

	dimensions := binary.BigEndian.Uint32(image)
	flags := binary.BigEndian.Uint32(image[4:]) // 1 if there may be a NULL; the elements decide
	oid := binary.BigEndian.Uint32(image[8:])
	rest := image[arrayHeader:]
	size := 0
	switch {
	case dimensions > maxDimensions || flags > 1:
		return malformed("its header is not the header of an array")
	case oid != int8OID:
		return nil, newArrayError(snowflake.ErrType, source, image,
			"its elements have the type of OID %d; read column::bigint[] instead", oid)
	case dimensions > 1:
		return nil, newArrayError(snowflake.ErrType, source, image, "it has more than one dimension")
	case dimensions == 1 && len(rest) < arrayBounds:
		return malformed("its header is cut off")
	case dimensions == 1:
		size = int(int32(binary.BigEndian.Uint32(rest)))
		rest = rest[arrayBounds:]
	}

	ids := make([]T, 0, len(rest)/arrayElement)
	for range size {
		if bytes.HasPrefix(rest, nullLength) {
			return nil, nullElement(source, image, len(ids))
		}
		if len(rest) < arrayElement || binary.BigEndian.Uint32(rest) != 8 {
			return malformed("the element at index %d is cut off or has not 8 bytes", len(ids))
		}

		ids = append(ids, T(binary.BigEndian.Uint64(rest[4:])))
		rest = rest[arrayElement:]
	}

	if len(ids) != size || len(rest) > 0 {
		return malformed("it announces %d elements, and %d bytes follow the last", size, len(rest))
	}
	return ids, nil
}

// GormDataType returns "bigint[]", the type of the column on PostgreSQL.
func (Array[T]) GormDataType() string { return "bigint[]" }

// UnmarshalJSON reads null as a nil Array, and otherwise an array whose elements T reads, with the errors of T and of
// encoding/json. A null element is rejected with [snowflake.ErrNull]. On an error the Array is nil.
func (a *Array[T]) UnmarshalJSON(data []byte) error {
	*a = nil

	var elements []*T // encoding/json would leave the elements of a []T 0 for null
	if err := json.Unmarshal(data, &elements); err != nil {
		return fmt.Errorf("sqltypes: JSON %q is not an array of IDs: %w", column.Cut(data), err)
	}
	if elements == nil {
		return nil
	}

	ids := make(Array[T], len(elements))
	for i, element := range elements {
		if element == nil {
			return nullElement("JSON", data, i)
		}
		ids[i] = *element
	}

	*a = ids
	return nil
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

func nullElement[T string | []byte](source string, input T, index int) error {
	return newArrayError(snowflake.ErrNull, source, input,
		"the element at index %d is NULL, remove it with array_remove(ids, NULL)", index)
}
