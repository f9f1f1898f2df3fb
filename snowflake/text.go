package snowflake

import "log/slog"

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
