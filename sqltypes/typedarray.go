package sqltypes

import (
	"database/sql/driver"

	"github.com/sqlflake/sqlflake/snowflake"
)

// TypedArray is a column of type bigint[] on PostgreSQL with IDs of one kind, as [Array] is one of any IDs, and a parameter
// for = ANY($1). All that is said there holds here; the database does not see the kind. TypedArray[user](ids) and
// []UserID(array) convert without copying. In JSON it is an array of the texts of [Typed], or null if it is nil.
type TypedArray[K Kind] []Typed[K]

// Value returns the text of a bigint[], such as {1,2} or {}, as a string, or nil for a nil TypedArray, which is NULL, for
// [driver.Valuer]. The error is always nil.
func (a TypedArray[K]) Value() (driver.Value, error) {
	if a == nil {
		return nil, nil // NULL
	}
	return string(appendArray(make([]byte, 0, listSize(len(a))), a)), nil
}

// Scan reads a column, for [sql.Scanner], as [Array.Scan] does, with the same errors. It copies a slice of IDs of the kind,
// of [snowflake.ID] or int64, or a *TypedArray; slices of other kinds are refused with [snowflake.ErrType]. On an error the
// TypedArray is nil.
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

// UnmarshalJSON reads null as a nil TypedArray, and an array of what [Typed.UnmarshalJSON] reads. A null in the array is
// refused with [snowflake.ErrNull], other values than an array with [snowflake.ErrType], and elements as a Typed refuses
// them. On an error the TypedArray is nil.
func (a *TypedArray[K]) UnmarshalJSON(data []byte) error {
	ids, err := unmarshalArray[Typed[K]](data)
	*a = ids
	return err
}

// JSONNumbers returns the IDs as a JSON array of numbers, such as [1,2], as [Array.JSONNumbers] does: one parameter for any
// number of IDs on SQLite, MariaDB and MySQL.
func (a TypedArray[K]) JSONNumbers() string {
	b := append(make([]byte, 0, listSize(len(a))), '[')
	b = appendList(b, a)
	return string(append(b, ']'))
}
