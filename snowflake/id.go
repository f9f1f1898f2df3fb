package snowflake

import (
	"database/sql/driver"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// ID is a Snowflake ID: a 64-bit integer with the time of its issue in the high bits, so IDs sort by age.
//
// The zero value means "no ID yet": the GORM plugin fills a key that is 0. A generator issues 1 to 2^63-1, because a
// layout leaves the sign bit 0. The type holds every int64, so that old rows with other numbers can be read; use
// [Layout.Validate] to reject them. Methods with a pointer receiver write to the ID like an assignment.
//
// Of two IDs of one layout the larger is the younger, within the accuracy of the clocks that they come from.
//
// In JSON and other text formats an ID is a string of decimal digits, because a JavaScript number holds integers
// exactly only up to 2^53-1 (Number.MAX_SAFE_INTEGER in ECMA-262). Only the text that an ID prints is accepted. In SQL
// it is an int64, for a column of type BIGINT (INTEGER on SQLite), and in gob, CBOR and BSON (version 2 of MongoDB's
// driver) too; there a float64 is an error.
//
// To omit an absent ID from a JSON object use the option omitzero: encoding/json version 2 does not treat "0" as empty,
// so omitempty would write it. A type defined as "type UserID snowflake.ID" has no methods, so it is a number in JSON:
// use sqltypes.Typed, or embed the ID in a struct.
//
// The verbs %d, %v and %s print decimal digits. ID is a [fmt.Stringer], so %x prints the digits as ASCII codes: use
// int64(id) with it.
type ID int64

// IsZero reports whether id is 0, which means "no ID yet". The JSON option omitzero calls it.
func (id ID) IsZero() bool { return id == 0 }

// Value returns the ID as an int64, for [driver.Valuer]. The zero ID is 0 and not NULL, because ORMs infer the type of
// a column from it. The error is always nil.
func (id ID) Value() (driver.Value, error) { return int64(id), nil }

// Scan reads a column, for [sql.Scanner]. It accepts integers (int64, and int, int32 and uint64, which a few drivers
// return), the text that [Parse] accepts as string or []byte (from columns of type TEXT or NUMERIC, and from MySQL's
// text protocol), and an ID or a *ID, which bulk builders pass.
//
// It returns a [*ParseError] that names the type of src, and leaves the ID unchanged:
//   - [ErrNull] for NULL and a nil *ID: read a nullable column into a sqltypes.Null. A *ID reads it too, but as a
//     parameter a nil one makes sqlx.In panic, since it calls Value through it, as other query builders may;
//   - [ErrSyntax] for other text, [ErrRange] for integers beyond int64;
//   - [ErrType] for all other types, including floats: they hold integers exactly only up to 2^53, so the last digits
//     of most IDs were lost when the row was written.
func (id *ID) Scan(src any) error {
	switch src := src.(type) {
	case int64:
		*id = ID(src)
	case []byte:
		return readDecimal(id, "[]byte", src)
	case string:
		return readDecimal(id, "string", src)
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

// AppendText appends the text of [ID.String] to b, for [encoding.TextAppender]. The error is always nil.
func (id ID) AppendText(b []byte) ([]byte, error) { return appendDecimal(b, id), nil }

// MarshalText returns the text of [ID.String], for [encoding.TextMarshaler]. It makes JSON values and keys of JSON
// objects strings, and is used for YAML, TOML, XML and [flag.TextVar]. The error is always nil.
//
// There is no MarshalJSON: encoding/json would validate and copy its result, and does neither with a text.
func (id ID) MarshalText() ([]byte, error) {
	return appendDecimal(make([]byte, 0, maxDecimalLen), id), nil
}

// UnmarshalText is [Parse] for [encoding.TextUnmarshaler]. On an error the ID is unchanged.
func (id *ID) UnmarshalText(text []byte) error { return readDecimal(id, "text", text) }

// UnmarshalParam is [Parse] for a parameter of a URL or a form: gin and echo call it when they bind a request. On an
// error the ID is unchanged.
//
// The empty text is an error, not 0: GORM leaves a field that is 0 out of a condition, which then finds every row, and
// a foreign key of 0 would be stored. Read a parameter that may be empty, such as the cursor of a page, into a
// sqltypes.Null.
func (id *ID) UnmarshalParam(param string) error {
	if param == "" {
		return newParseError(ErrSyntax, "parameter", param, "it is empty: read an optional one into a sqltypes.Null")
	}
	return id.UnmarshalText([]byte(param))
}

// LogValue returns the text of [ID.String] as a [slog.Value], so that an ID is a string in JSON logs too.
func (id ID) LogValue() slog.Value { return slog.StringValue(id.String()) }

// UnmarshalJSON reads a JSON string with the text that [Parse] accepts, or an integer of the same digits, which older
// clients send and which the JSON option string passes on. The value null leaves the ID unchanged, as usual in
// encoding/json; read a nullable value into a sqltypes.Null or a *ID.
//
// It returns a [*ParseError]: [ErrSyntax] for other text, the empty string and numbers with a fraction or an exponent,
// [ErrRange] for numbers beyond int64, and [ErrType] for booleans, objects and arrays. On an error the ID is unchanged.
func (id *ID) UnmarshalJSON(data []byte) error {
	text := data
	if len(data) >= 2 && data[0] == '"' && data[len(data)-1] == '"' {
		text = data[1 : len(data)-1]
	}

	parsed, ok := parseDecimal(text)
	if ok {
		*id = parsed
		return nil
	}
	return id.unmarshalUnusualJSON(data, len(text) < len(data))
}

// unmarshalUnusualJSON reads null and strings with escapes, and explains errors.
func (id *ID) unmarshalUnusualJSON(data []byte, inQuotes bool) error {
	if string(data) == "null" {
		return nil
	}

	var unescaped string
	if inQuotes && json.Unmarshal(data, &unescaped) == nil {
		return readDecimal(id, "JSON", unescaped)
	}

	if len(data) > 0 && strings.IndexByte("tf{[", data[0]) >= 0 {
		return newParseError(ErrType, "JSON", data, "want a string or an integer")
	}
	return decimalError("JSON", data)
}

// The types of BSON values that an ID reads: https://bsonspec.org/spec.html.
const (
	bsonNull  = 0x0A
	bsonInt32 = 0x10
	bsonInt64 = 0x12
)

// UnmarshalBSONValue reads an integer of 64 or 32 bits from BSON: version 2 of MongoDB's driver calls it. Null makes
// the ID 0, as that driver does with integers; read a nullable value into a sqltypes.Null or a *ID.
//
// All else is a [*ParseError] with [ErrType]. So is a double, in which JavaScript writes large numbers: it holds
// integers exactly only up to 2^53. On an error the ID is unchanged.
func (id *ID) UnmarshalBSONValue(typ byte, data []byte) error {
	switch {
	case typ == bsonNull:
		*id = 0
	case typ == bsonInt64 && len(data) == 8:
		*id = ID(binary.LittleEndian.Uint64(data))
	case typ == bsonInt32 && len(data) == 4:
		*id = ID(int32(binary.LittleEndian.Uint32(data)))
	default:
		return newParseError(ErrType, fmt.Sprintf("BSON of type 0x%02x and %d bytes", typ, len(data)), "",
			`want a 64-bit integer, type 0x12, in mongosh NumberLong("..."); `+
				`a double, type 0x01, loses digits above 2^53`)
	}

	return nil
}
