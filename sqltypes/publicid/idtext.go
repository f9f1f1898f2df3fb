package publicid

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"

	"github.com/sqlflake/sqlflake/snowflake"
)

// AppendText appends the token to b, for [encoding.TextAppender], with the errors of [ID.Token]; b is then as it was.
func (id ID[K]) AppendText(b []byte) ([]byte, error) {
	b, err := codec[K]().Append(b, snowflake.ID(id))
	return b, explain[K](err)
}

// MarshalText returns the token, for [encoding.TextMarshaler], with the errors of [ID.Token]. Through it JSON values and the
// keys of JSON objects are tokens.
func (id ID[K]) MarshalText() ([]byte, error) {
	b, err := id.AppendText(make([]byte, 0, crockfordLen))
	if err != nil {
		return nil, err
	}
	return b, nil
}

// UnmarshalText reads a token, for [encoding.TextUnmarshaler]. It returns [ErrToken] for all other text, also for the
// number, and [ErrNoCodec] if K has no codec; the ID is then 0.
func (id *ID[K]) UnmarshalText(text []byte) error {
	return read(id, text)
}

// UnmarshalParam reads a parameter of a URL or a form as [ID.UnmarshalText] does. The web frameworks gin and echo look for
// this method when they bind a request.
func (id *ID[K]) UnmarshalParam(param string) error {
	return read(id, param)
}

// UnmarshalJSON reads a JSON string with a token. All other strings are refused as [ID.UnmarshalText] does it, numbers and
// other values with [ErrToken]; the ID is then 0. The value null leaves the ID as it is, as is the convention of
// encoding/json; read a nullable value into a *ID.
func (id *ID[K]) UnmarshalJSON(data []byte) error {
	if len(data) >= 2 && data[0] == '"' && data[len(data)-1] == '"' {
		text := data[1 : len(data)-1]
		if !bytes.Contains(text, []byte{'\\'}) {
			return read(id, text)
		}
		var unescaped string
		if err := json.Unmarshal(data, &unescaped); err == nil {
			return read(id, unescaped)
		}
	}
	if string(data) == "null" {
		return nil
	}
	// The JSON option string takes the quotes away; no other value is a token.
	err := read(id, data)
	if errors.Is(err, ErrToken) {
		return parseError(ErrToken, "JSON", data, "want a string with a token")
	}
	return err
}

// LogValue returns the token as a [slog.Value], the empty string for the ID 0, and the error if there is no token
// for another reason. To log the number, log [ID.SnowflakeID].
func (id ID[K]) LogValue() slog.Value {
	if id == 0 {
		return slog.StringValue("")
	}
	token, err := id.Token()
	if err != nil {
		return slog.StringValue(err.Error())
	}
	return slog.StringValue(token)
}

func read[K Kind, T ~string | ~[]byte](id *ID[K], token T) error {
	parsed, _, err := parse(codec[K](), token)
	*id = ID[K](parsed)
	return explain[K](err)
}
