package sqltypes

import (
	"reflect"
	"slices"

	"github.com/sqlflake/sqlflake/snowflake"
)

// scanArray reads a column into a new slice: nil for NULL and on an error, never nil otherwise.
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

// convertArray copies the IDs of one type into a slice of another. A nil slice stays nil.
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
