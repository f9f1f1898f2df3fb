package sqltypes

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes/internal/refuse"
)

// appendArray appends a bigint[] as PostgreSQL prints it, such as {1,2,3}.
func appendArray[T ~int64](b []byte, ids []T) []byte {
	b = append(b, '{')
	b = appendList(b, ids)
	return append(b, '}')
}

// appendList appends the IDs with commas between them.
func appendList[T ~int64](b []byte, ids []T) []byte {
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		b, _ = snowflake.ID(id).AppendText(b)
	}
	return b
}

// listSize is enough for the text of n IDs, commas and brackets; a negative ID of 19 digits takes one byte more.
func listSize(n int) int { return 2 + 20*n }

// readArrayText reads a one-dimensional array as PostgreSQL prints it.
func readArrayText[T ~int64](source, text string) ([]T, error) {
	body, size, err := cutBounds(source, text)
	if err != nil {
		return nil, err
	}
	if len(body) < 2 || body[0] != '{' || body[len(body)-1] != '}' {
		return nil, newArrayError(snowflake.ErrSyntax, source, text, "want IDs in braces, such as {1,2}")
	}
	list := body[1 : len(body)-1]
	ids := []T{} // {} is not NULL
	if list != "" {
		if ids, err = readList[T](source, text, list); err != nil {
			return nil, err
		}
	}
	if size >= 0 && int64(len(ids)) != size {
		return nil, newArrayError(snowflake.ErrSyntax, source, text,
			fmt.Sprintf("its bounds announce %d elements, it has %d", size, len(ids)))
	}
	return ids, nil
}

// readList reads the elements between the braces of text.
func readList[T ~int64](source, text, list string) ([]T, error) {
	ids := make([]T, 0, strings.Count(list, ",")+1)
	for element := range strings.SplitSeq(list, ",") {
		switch {
		case element == "NULL":
			return nil, nullElement(source, text, len(ids))
		case strings.HasPrefix(element, "{"):
			return nil, newArrayError(snowflake.ErrType, source, text, "it has more than one dimension")
		}
		id, err := snowflake.Parse(element)
		if err != nil {
			return nil, elementError(len(ids), err)
		}
		ids = append(ids, T(id))
	}
	return ids, nil
}

// cutBounds removes the bounds of an array whose first subscript is not 1, such as [2:3]={1,2}, and returns the size
// that they announce, or -1 if there are none.
func cutBounds(source, text string) (body string, size int64, err error) {
	if !strings.HasPrefix(text, "[") {
		return text, -1, nil
	}
	bounds, body, _ := strings.Cut(text[1:], "]=")
	if strings.Contains(bounds, "][") {
		return "", 0, newArrayError(snowflake.ErrType, source, text, "it has more than one dimension")
	}
	lower, upper, _ := strings.Cut(bounds, ":")
	first, firstOK := parseSubscript(lower)
	last, lastOK := parseSubscript(upper)
	if !firstOK || !lastOK || last < first {
		return "", 0, newArrayError(snowflake.ErrSyntax, source, text, "want bounds such as [2:3]={1,2}")
	}
	return body, last - first + 1, nil
}

// parseSubscript reads a subscript, an int4, in the form that PostgreSQL prints.
func parseSubscript(text string) (n int64, ok bool) {
	id, err := snowflake.Parse(text)
	return id.Int64(), err == nil && id >= math.MinInt32 && id <= math.MaxInt32
}

// arrayError says which input is not an array of IDs, and why.
type arrayError struct {
	source string // "JSON" or the Go type of the driver's value
	input  string // cut
	reason string
	err    error // snowflake.ErrSyntax, ErrRange, ErrNull or ErrType
}

func (e *arrayError) Error() string {
	if e.input == "" && errors.Is(e.err, snowflake.ErrType) {
		return "sqltypes: " + e.source + " is not an array of IDs: " + e.reason
	}
	return "sqltypes: " + e.source + " " + strconv.Quote(e.input) + " is not an array of IDs: " + e.reason
}

func (e *arrayError) Unwrap() error { return e.err }

func newArrayError[T string | []byte](err error, source string, input T, reason string) error {
	return &arrayError{source: source, input: refuse.Cut(input), reason: reason, err: err}
}

// elementError adds the index of an element to its error.
func elementError(index int, err error) error {
	return fmt.Errorf("sqltypes: array element at index %d: %w", index, err)
}

func nullElement[T string | []byte](source string, input T, index int) error {
	return newArrayError(snowflake.ErrNull, source, input, fmt.Sprintf(
		"the element at index %d is NULL, remove it with array_remove(ids, NULL)", index))
}
