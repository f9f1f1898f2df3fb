package snowflake

import (
	"bytes"
	"encoding/json"
)

// UnmarshalJSON reads a JSON string with the text that [Parse] reads, or a bare integer of the same digits, which older
// clients send and which the JSON option string passes on. The value null leaves the ID as it is, as is the convention of
// encoding/json; read a nullable value into a sqltypes.Null or a *ID.
//
// Other text, the empty string and numbers with a fraction or an exponent are refused with [ErrSyntax], numbers beyond
// int64 with [ErrRange], and booleans, objects and arrays with [ErrType]; the error is a [*ParseError]. On an error the
// ID is unchanged.
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

// unmarshalUnusualJSON handles what is neither a plain string of digits nor a number: null, strings with escapes, and
// errors.
func (id *ID) unmarshalUnusualJSON(data, text []byte) error {
	const source = "JSON"
	switch {
	case string(data) == "null":
		return nil
	case len(data) == 0:
		return newParseError(ErrSyntax, source, data, "there is no value")
	case len(text) < len(data): // it was in quotes
		if !bytes.Contains(text, []byte{'\\'}) {
			return decimalError(source, text)
		}
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
