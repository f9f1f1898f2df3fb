package snowflake

import (
	"bytes"
	"encoding/json"
	"log/slog"
)

// AppendText appends the text of [ID.String] to b, for [encoding.TextAppender]. The error is always nil.
func (id ID) AppendText(b []byte) ([]byte, error) {
	return appendDecimal(b, id), nil
}

// MarshalText returns the text of [ID.String], for [encoding.TextMarshaler]. Through it JSON values and the keys of JSON
// objects are strings, and YAML, TOML, XML and [flag.TextVar] know the type. The error is always nil.
//
// There is no MarshalJSON: encoding/json checks and copies what that method returns and trusts the text of this one.
func (id ID) MarshalText() ([]byte, error) {
	return appendDecimal(make([]byte, 0, maxDecimalLen), id), nil
}

// UnmarshalText reads the text that [Parse] reads, with the same errors, for [encoding.TextUnmarshaler]. On an error the
// ID is unchanged.
func (id *ID) UnmarshalText(text []byte) error {
	parsed, ok := parseDecimal(text)
	if !ok {
		return decimalError("text", text)
	}
	*id = parsed
	return nil
}

// UnmarshalParam reads a parameter of a URL or a form as [Parse] does, with the same errors. The web frameworks gin and
// echo look for this method when they bind a request. On an error the ID is unchanged.
func (id *ID) UnmarshalParam(param string) error {
	parsed, err := Parse(param)
	if err != nil {
		return err
	}
	*id = parsed
	return nil
}

// LogValue returns the text of [ID.String] as a [slog.Value], so that a log in JSON holds a string too.
func (id ID) LogValue() slog.Value {
	return slog.StringValue(id.String())
}

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
