package sqltypes

import (
	"math"
	"strings"

	"github.com/sqlflake/sqlflake/snowflake"
)

// readArrayText reads a one-dimensional array as PostgreSQL prints it.
func readArrayText[T ~int64](source, text string) ([]T, error) {
	body, size, err := cutBounds(source, text)
	if err != nil {
		return nil, err
	}
	if len(body) < 2 || body[0] != '{' || body[len(body)-1] != '}' {
		return nil, newArrayError(snowflake.ErrSyntax, source, text, "want IDs in braces, such as {1,2}")
	}

	ids := []T{} // {} is not NULL
	if list := body[1 : len(body)-1]; list != "" {
		ids = make([]T, 0, strings.Count(list, ",")+1)
		for more := true; more; {
			var element string
			element, list, more = strings.Cut(list, ",")
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
	}

	if size >= 0 && int64(len(ids)) != size {
		return nil, newArrayError(snowflake.ErrSyntax, source, text,
			"its bounds announce %d elements, it has %d", size, len(ids))
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
	return int64(id), err == nil && id >= math.MinInt32 && id <= math.MaxInt32
}
