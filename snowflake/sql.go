package snowflake

import (
	"database/sql/driver"
	"math"
	"reflect"
	"strconv"
	"time"
)

// Value returns the ID as an int64, for [driver.Valuer]: 0 for the zero ID and never NULL, since ORMs infer the type of
// the column from the value of a zero ID. The error is always nil.
func (id ID) Value() (driver.Value, error) {
	return int64(id), nil
}

// Scan reads a column, for [sql.Scanner]. It takes the integers that drivers hand over (int64, and int, int32 and
// uint64 from a few), the text that [Parse] reads as string or []byte (from columns of type TEXT or NUMERIC, and from
// the text protocol of MySQL), and an ID or a *ID, which ent passes from one builder to the next.
//
// It refuses, with a [*ParseError] that names the source's type:
//   - NULL and a nil *ID, with [ErrNull]: read a nullable column into a sqltypes.Null or a *ID;
//   - other text with [ErrSyntax], integers beyond int64 with [ErrRange];
//   - float64 and float32 with [ErrType], even without a fraction: a float64 holds integers exactly up to 2^53 only, so
//     the last digits of most IDs were lost when the row was written;
//   - bool, time.Time and all other types with [ErrType].
//
// On an error the ID is unchanged.
func (id *ID) Scan(src any) error {
	switch src := src.(type) {
	case int64:
		*id = ID(src)
	case []byte:
		parsed, ok := parseDecimal(src)
		if !ok {
			return decimalError("[]byte", src)
		}
		*id = parsed
	case string:
		parsed, ok := parseDecimal(src)
		if !ok {
			return decimalError("string", src)
		}
		*id = parsed
	case int:
		*id = ID(src)
	case int32:
		*id = ID(src)
	case uint64:
		if src > math.MaxInt64 {
			return newParseError(ErrRange, "uint64", strconv.FormatUint(src, 10), "it is above 9223372036854775807")
		}
		*id = ID(src)
	case ID:
		*id = src
	case *ID:
		if src == nil {
			return nullError("nil *snowflake.ID")
		}
		*id = *src
	default:
		return typeError(src)
	}
	return nil
}

// GormDataType returns "bigint": GORM makes a column of that type for an ID and never takes it for auto-increment.
func (ID) GormDataType() string { return "bigint" }

func nullError(source string) *ParseError {
	return newParseError(ErrNull, source, "", "use sqltypes.Null or *snowflake.ID for a column that may be NULL")
}

// typeError explains why a value of this type, which Scan does not take, holds no ID. Where a driver makes such values
// from the declared type of the column, it names that type.
func typeError(src any) *ParseError {
	switch src := src.(type) {
	case nil:
		return nullError("NULL")
	case float64:
		return floatError("float64", src, 64)
	case float32:
		return floatError("float32", float64(src), 32)
	case bool:
		return newParseError(ErrType, "bool", strconv.FormatBool(src),
			"the column looks like BOOLEAN, make it BIGINT (INTEGER on SQLite)")
	case time.Time:
		return newParseError(ErrType, "time.Time", src.Format(time.RFC3339Nano),
			"the column looks like DATETIME, TIMESTAMP or DATE, make it BIGINT (INTEGER on SQLite)")
	}
	return newParseError(ErrType, reflect.TypeOf(src).String(), "", "want an int64 or decimal text, as from a BIGINT column")
}

func floatError(source string, value float64, bits int) *ParseError {
	return newParseError(ErrType, source, strconv.FormatFloat(value, 'g', -1, bits),
		"digits are lost above 2^53; the column looks like REAL, DOUBLE or FLOAT, make it BIGINT (INTEGER on SQLite)")
}
