package sqltypes

import (
	"bytes"
	"encoding/json"

	"github.com/sqlflake/sqlflake/snowflake"
)

// UnmarshalJSON reads a JSON string with the text that [ParseTyped] reads. The value null leaves the ID as it is, as is the
// convention of [encoding/json]; read a nullable value into a [TypedNull] or a pointer.
//
// Numbers are refused, with [snowflake.ErrType], and so are strings of digits, with [snowflake.ErrSyntax], though
// [snowflake.ID] takes both: without a prefix they may be the ID of anything. The other errors are those of ParseTyped, and
// ErrType for booleans, objects and arrays. On an error t is 0.
//
// The JSON option string, which the type does not need, is harmless but for one case: where the prefix starts with an
// n, version 1 of encoding/json takes the text of a pointer field for a misspelled null, and returns an error of its own.
func (t *Typed[K]) UnmarshalJSON(data []byte) error {
	text := data
	if len(data) >= 2 && data[0] == '"' && data[len(data)-1] == '"' {
		text = data[1 : len(data)-1]
	}
	// The option string passes the text on without quotes, which else is no JSON.
	if id, ok := parsePrefixed(prefixOf[K](), text); ok {
		*t = Typed[K](id)
		return nil
	}
	return t.unmarshalUnusualJSON(data, text)
}

// unmarshalUnusualJSON handles null, strings with escapes, and errors.
func (t *Typed[K]) unmarshalUnusualJSON(data, text []byte) error {
	const source = "JSON"
	if string(data) == "null" {
		return nil
	}
	*t = 0
	quoted := len(text) < len(data)
	switch {
	case len(data) == 0:
		return inputError(snowflake.ErrSyntax, source, "", "there is no value")
	case quoted && bytes.IndexByte(text, '\\') >= 0:
		var unescaped string
		if err := json.Unmarshal(data, &unescaped); err != nil {
			return inputError(snowflake.ErrSyntax, source, string(data), "it is not a JSON string")
		}
		id, ok := parsePrefixed(prefixOf[K](), unescaped)
		if !ok {
			return prefixedError[K](source, unescaped)
		}
		*t = Typed[K](id)
		return nil
	case !quoted && isOtherJSON(data) && isPrefix(prefixOf[K]()):
		return inputError(snowflake.ErrType, source, string(data), `want a string that starts with "`+prefixOf[K]()+`_"`)
	}
	return prefixedError[K](source, string(text))
}

// isOtherJSON reports whether data, which is not empty, is a JSON value other than a string.
func isOtherJSON(data []byte) bool {
	switch data[0] {
	case '{', '[', '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return true
	}
	return string(data) == "true" || string(data) == "false"
}
