package sqltypes

import (
	"fmt"
	"math"
	"strings"

	"github.com/sqlflake/sqlflake/snowflake"
)

// appendArray appends what PostgreSQL prints for a bigint[], such as {1,2,3}.
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

// listSize is enough for the text of n IDs, commas and brackets; a negative ID of 19 digits has a byte more.
func listSize(n int) int { return 2 + 20*n }

// readArrayText reads what PostgreSQL prints for a one-dimensional array.
func readArrayText[T ~int64](source, text string) ([]T, error) {
	body, size, err := cutBounds(source, text)
	if err != nil {
		return nil, err
	}
	if len(body) < 2 || body[0] != '{' || body[len(body)-1] != '}' {
		return nil, newArrayError(snowflake.ErrSyntax, source, text, "want IDs in braces, such as {1,2}")
	}
	list := body[1 : len(body)-1]
	ids := []T{} // not nil: the array is there and is empty
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

// cutBounds takes the bounds off an array whose first subscript is not 1, such as [2:3]={1,2}, and returns the size that
// they announce, or -1 if there are none.
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

// parseSubscript reads a subscript, an int4 in PostgreSQL, in the one form that it is printed in.
func parseSubscript(text string) (n int64, ok bool) {
	id, err := snowflake.Parse(text)
	return id.Int64(), err == nil && id >= math.MinInt32 && id <= math.MaxInt32
}
