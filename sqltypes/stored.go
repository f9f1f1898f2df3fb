package sqltypes

import (
	"reflect"
	"strconv"

	"github.com/sqlflake/sqlflake/snowflake"
)

// stored is an ID whose column is no integer: Text, Binary or UUID.
type stored interface{ ~int64 }

// scanStored reads what is not the value of a column: a T or an ID, which the bulk builders of some ORMs hand over, and
// refuses all else. The column is the type that fits T.
func scanStored[T stored](src any, column string) (snowflake.ID, error) {
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
	return 0, &snowflake.ParseError{
		Source: sourceName(src),
		Reason: "use *" + name + " or sql.Null[" + name + "] for a column that may be NULL",
		Err:    snowflake.ErrNull,
	}
}

// storedTypeError explains that the column is of another type than T's, which is a trap on SQLite: a column with numeric
// affinity turns text that looks like a number into that number.
func storedTypeError[T stored](src any, column string) error {
	err := &snowflake.ParseError{Source: sourceName(src), Err: snowflake.ErrType}
	err.Reason = reflect.TypeFor[T]().String() + " is for a column of type " + column
	switch src := src.(type) {
	case int64:
		err.Input = strconv.FormatInt(src, 10)
		err.Reason += ", use snowflake.ID for one of integers"
	case float64:
		err.Input = strconv.FormatFloat(src, 'g', -1, 64)
	}
	return err
}

// sourceName names src as errors of [snowflake.ID.Scan] do.
func sourceName(src any) string {
	if src == nil {
		return "NULL"
	}
	t := reflect.TypeOf(src)
	if t.Kind() == reflect.Pointer && reflect.ValueOf(src).IsNil() {
		return "nil " + t.String()
	}
	return t.String()
}

// maxErrorInput is the number of bytes of rejected input that an error keeps, as in package snowflake.
const maxErrorInput = 40

// inputError is a refusal of the input, which is cut to maxErrorInput bytes.
func inputError(err error, source, input, reason string) error {
	if len(input) > maxErrorInput {
		input = input[:maxErrorInput-3] + "..."
	}
	return &snowflake.ParseError{Source: source, Input: input, Reason: reason, Err: err}
}

// unmarshalJSON reads JSON into an ID that is 0 after an error. The value null leaves it as it is.
func unmarshalJSON(id *snowflake.ID, data []byte) error {
	if string(data) == "null" {
		return nil
	}
	*id = 0
	return id.UnmarshalJSON(data)
}
