package sqltypes

import (
	"encoding/json"
	"errors"

	"github.com/sqlflake/sqlflake/snowflake"
)

// unmarshalArray reads a JSON array into a new slice: nil for null and on an error, never nil otherwise.
func unmarshalArray[T any, P jsonElement[T]](data []byte) ([]T, error) {
	switch {
	case string(data) == "null":
		return nil, nil
	case len(data) == 0:
		return nil, newArrayError(snowflake.ErrSyntax, "JSON", data, "there is no value")
	case data[0] != '[':
		return nil, newArrayError(snowflake.ErrType, "JSON", data, "want an array of strings or integers")
	}
	var elements []notNull[T, P]
	if err := json.Unmarshal(data, &elements); err != nil {
		if invalid := (*json.SyntaxError)(nil); errors.As(err, &invalid) {
			return nil, newArrayError(snowflake.ErrSyntax, "JSON", data, invalid.Error())
		}
		return nil, err
	}
	values := make([]T, len(elements))
	for i := range elements {
		values[i] = elements[i].value
	}
	return values, nil
}

// jsonElement is a pointer to T that reads JSON.
type jsonElement[T any] interface {
	*T
	json.Unmarshaler
}

// notNull refuses a JSON null, at which encoding/json leaves the value of an element as it is, that is 0.
type notNull[T any, P jsonElement[T]] struct{ value T }

func (n *notNull[T, P]) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return &snowflake.ParseError{
			Source: "JSON", Input: "null", Reason: "an element of an array can't be null", Err: snowflake.ErrNull,
		}
	}
	return P(&n.value).UnmarshalJSON(data)
}
