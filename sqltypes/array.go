package sqltypes

import (
	"database/sql/driver"

	"github.com/sqlflake/sqlflake/snowflake"
)

// Array is a column of type bigint[] on PostgreSQL, and a parameter for = ANY($1) and unnest($1). It is a slice of IDs:
// sqltypes.Array(ids) and []snowflake.ID(array) convert without copying.
//
// NULL is the nil Array and {} is an empty one that is not nil. An array with a NULL element is refused: IDs have no value
// for it, and an ID of 0 would pass for one.
//
// A []snowflake.ID without Array is understood by pgx in some of its modes as a parameter and by native pgx as a target.
// An Array works in all modes of pgx, with and without database/sql, in GORM, and with other drivers that hand over
// PostgreSQL's text or binary image.
//
// In GORM a field is declared as Array, and its column is made as bigint[]. As a parameter
//
//	db.Where("id = ANY(?)", sqltypes.Array(ids)) // PostgreSQL: one parameter for any number of IDs
//	db.Where("id IN ?", ids)                     // everywhere: a plain []snowflake.ID, one parameter for each
//
// are not to be mixed up: GORM writes out a plain slice and hands on an Array as a whole. A statement has at most 65,535
// parameters on PostgreSQL and MySQL (the count is 16 bits wide in their protocols) and 32,766 on SQLite
// (https://sqlite.org/limits.html).
//
// SQLite, MariaDB and MySQL have no arrays. There one parameter holds the IDs as JSON, see [Array.JSONNumbers], and
// a column that holds some is a []snowflake.ID with GORM's tag serializer:json, or the text that encoding/json makes of
// it. Functions of JSON do not read the text that an Array writes.
//
// In JSON an Array is what a []snowflake.ID is, an array of strings, or null if it is nil.
//
// GORM does not call Scan for a NULL and leaves the field as it is, so read into a struct that is new.
//
// The methods of a *Array write to it as an assignment does, the others may run at any time while nothing writes to the
// IDs.
type Array []snowflake.ID

// Value returns the text of a bigint[], such as {1,2} or {}, as a string, or nil for a nil Array, which is NULL, for
// [driver.Valuer]. The error is always nil.
func (a Array) Value() (driver.Value, error) {
	if a == nil {
		return nil, nil // NULL
	}
	return string(appendArray(make([]byte, 0, listSize(len(a))), a)), nil
}

// Scan reads a column, for [sql.Scanner]. It takes the text and the binary image that PostgreSQL makes of a bigint[], an
// int[] or a smallint[], as string or []byte; of text[] and varchar[] with the text that [snowflake.Parse] reads; and
// a slice of IDs or int64 or a *Array, which it copies. NULL and nil slices make a nil Array.
//
// The first subscript, which PostgreSQL lets a user choose, is not kept: [2:3]={1,2} is read as {1,2}.
//
// It refuses
//   - a NULL element with [snowflake.ErrNull]: leave such elements out in the query, with array_remove(ids, NULL);
//   - more than one dimension, elements of other types and all other sources with [snowflake.ErrType];
//   - what PostgreSQL does not print or send, such as spaces, quotes and cut off or excess bytes, with
//     [snowflake.ErrSyntax];
//   - text of numbers beyond int64, as in a numeric[], with [snowflake.ErrRange].
//
// On an error the Array is nil. A header that announces more than there is takes no memory.
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

// UnmarshalJSON reads null as a nil Array, and an array of what [snowflake.ID.UnmarshalJSON] reads. A null in the array is
// refused with [snowflake.ErrNull], other values than an array with [snowflake.ErrType], and elements as an ID refuses
// them. On an error the Array is nil.
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
// For these databases integers in JSON are exact over the whole of int64. For JavaScript they are not, so send the Array
// itself to a browser, whose JSON has strings. SQLite compares numbers with columns of integers and with any expression of
// them, strings with columns of type TEXT only and with columns of integers (section 4.2 of
// https://sqlite.org/datatype3.html).
func (a Array) JSONNumbers() string {
	b := append(make([]byte, 0, listSize(len(a))), '[')
	b = appendList(b, a)
	return string(append(b, ']'))
}
