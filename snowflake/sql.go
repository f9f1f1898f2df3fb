package snowflake

import (
	"database/sql/driver"
	"math"
	"reflect"
	"strconv"
	"time"
)

// Value returns the ID as an int64, for [driver.Valuer]. The zero ID is 0 and not NULL, because ORMs infer the type of
// a column from it. The error is always nil.
func (id ID) Value() (driver.Value, error) { return int64(id), nil }

// Scan reads a column, for [sql.Scanner]. It accepts integers (int64, and int, int32 and uint64, which a few drivers
// return), the text that [Parse] accepts as string or []byte (from columns of type TEXT or NUMERIC, and from MySQL's
// text protocol), and an ID or a *ID, which ent's bulk builders pass.
//
// It returns a [*ParseError] that names the type of src, and leaves the ID unchanged:
//   - [ErrNull] for NULL and a nil *ID: read a nullable column into a sqltypes.Null. A *ID reads it too, but as a
//     parameter a nil one makes sqlx.In, squirrel, dbr and clickhouse-go panic, since they call Value through it;
//   - [ErrSyntax] for other text, [ErrRange] for integers beyond int64;
//   - [ErrType] for all other types, including floats: they hold integers exactly only up to 2^53, so the last digits
//     of most IDs were lost when the row was written.
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

// GormDataType returns "bigint", the type of a column for IDs. GORM does not treat such a column as auto-increment.
func (ID) GormDataType() string { return "bigint" }

// JSONSchemaAlias returns "", for github.com/invopop/jsonschema: the schema of an ID is the schema of a string.
func (ID) JSONSchemaAlias() any { return "" }

func nullError(source string) *ParseError {
	return newParseError(ErrNull, source, "",
		"use sqltypes.Null for a column that may be NULL (some query builders panic at a nil *snowflake.ID)")
}

// typeError explains why Scan does not accept a value of this type. If drivers make such values from the declared type
// of a column, the error names that type.
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

	return newParseError(ErrType, reflect.TypeOf(src).String(), "",
		"want an int64 or decimal text, as from a BIGINT column")
}

func floatError(source string, value float64, bits int) *ParseError {
	return newParseError(ErrType, source, strconv.FormatFloat(value, 'g', -1, bits),
		"digits are lost above 2^53; the column looks like REAL, DOUBLE or FLOAT, make it BIGINT (INTEGER on SQLite)")
}
