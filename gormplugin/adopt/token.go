package adopt

import "strings"

// token is a word, a quoted name or text, or a single other character of an SQL statement.
type token struct{ start, end int }

// tokens splits a statement in the form of SQLite and SHOW CREATE TABLE and omits spaces and comments. A quote within
// quotes is doubled. Backslashes have no meaning here, since MySQL doubles them.
func tokens(statement string) []token {
	var all []token
	for i := 0; i < len(statement); {
		start, rest := i, statement[i:]
		switch c := statement[i]; {
		case strings.HasPrefix(rest, "--"):
			i += through(rest, "\n")
			continue
		case strings.HasPrefix(rest, "/*"):
			i += 2 + through(rest[2:], "*/")
			continue
		case c == ' ' || '\t' <= c && c <= '\r':
			i++
			continue
		case c == '[':
			i += through(rest, "]")
		case c == '\'' || c == '"' || c == '`':
			i += quoted(rest)
		case isWord(c):
			for i < len(statement) && isWord(statement[i]) {
				i++
			}
		default:
			i++
		}
		all = append(all, token{start, i})
	}
	return all
}

// through returns the length of text up to the end of mark, or all of it.
func through(text, mark string) int {
	if i := strings.Index(text, mark); i >= 0 {
		return i + len(mark)
	}
	return len(text)
}

// quoted returns the length of the quoted name or text at the start.
func quoted(text string) int {
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] != text[0]:
		case i+1 < len(text) && text[i+1] == text[0]:
			i++
		default:
			return i + 1
		}
	}
	return len(text)
}

func isWord(c byte) bool {
	return c == '_' || c == '$' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// withoutWord removes a keyword from a statement and reports whether the statement had it exactly once.
func withoutWord(statement, keyword string) (string, bool) {
	var found []token
	for _, t := range tokens(statement) {
		if strings.EqualFold(statement[t.start:t.end], keyword) {
			found = append(found, t)
		}
	}
	if len(found) != 1 {
		return statement, false
	}
	return strings.TrimRight(statement[:found[0].start], " ") + statement[found[0].end:], true
}
