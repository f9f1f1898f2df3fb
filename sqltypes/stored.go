package sqltypes

import (
	"reflect"
	"strconv"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes/internal/refuse"
)

// nonInteger is an ID whose column is not an integer: Text, Binary or UUID.
type nonInteger interface{ ~int64 }

// scanStored reads a T or an ID, which the bulk builders of some ORMs pass to Scan, and rejects everything else. column
// is the column type for T.
func scanStored[T nonInteger](src any, column string) (snowflake.ID, error) {
	switch src := src.(type) {
	case snowflake.ID:
		return src, nil
	case *snowflake.ID:
		if src != nil {
			return *src, nil
		}
	case T:
		return snowflake.ID(src), nil
	case *T:
		if src != nil {
			return snowflake.ID(*src), nil
		}
	case nil:
	default:
		return 0, storedTypeError[T](src, column)
	}
	name := reflect.TypeFor[T]().String()
	return 0, refuse.Input(snowflake.ErrNull, refuse.Source(src), "",
		"use *"+name+" or sql.Null["+name+"] for a column that may be NULL")
}

// storedTypeError says that the column has another type than T's. On SQLite this happens by mistake: a column with
// numeric affinity converts text that looks like a number.
func storedTypeError[T nonInteger](src any, column string) error {
	input, reason := "", reflect.TypeFor[T]().String()+" is for a column of type "+column
	switch src := src.(type) {
	case int64:
		input = strconv.FormatInt(src, 10)
		reason += ", use snowflake.ID for one of integers"
	case float64:
		input = strconv.FormatFloat(src, 'g', -1, 64)
	}
	return refuse.Input(snowflake.ErrType, refuse.Source(src), input, reason)
}

// unmarshalJSON reads JSON into an ID that is 0 after an error; null leaves it unchanged.
func unmarshalJSON(id *snowflake.ID, data []byte) error {
	if string(data) == "null" {
		return nil
	}
	*id = 0
	return id.UnmarshalJSON(data)
}
