package snowflake

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"log/slog"
)

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
func (id *ID) UnmarshalText(text []byte) error {
	parsed, ok := parseDecimal(text)
	if !ok {
		return decimalError("text", text)
	}
	*id = parsed
	return nil
}

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
	return id.unmarshalUnusualJSON(data, text)
}

// unmarshalUnusualJSON reads null and strings with escapes, and explains errors.
func (id *ID) unmarshalUnusualJSON(data, text []byte) error {
	const source = "JSON"

	switch {
	case string(data) == "null":
		return nil
	case len(data) == 0:
		return newParseError(ErrSyntax, source, data, "there is no value")
	case len(text) < len(data): // it was in quotes
		var unescaped string
		if err := json.Unmarshal(data, &unescaped); err != nil {
			return newParseError(ErrSyntax, source, data, "it is not a JSON string")
		}
		parsed, ok := parseDecimal(unescaped)
		if !ok {
			return decimalError(source, unescaped)
		}
		*id = parsed
		return nil
	case data[0] == 't', data[0] == 'f', data[0] == '{', data[0] == '[':
		return newParseError(ErrType, source, data, "want a string or an integer")
	}

	return decimalError(source, data)
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
