package adopt

import (
	"regexp"
	"strings"
)

// token matches a comment, spaces, or, as its group, a quoted name or text, a word, or another character of a
// statement in the form of SQLite and SHOW CREATE TABLE. A quote within quotes is doubled. Backslashes have no meaning
// here, since MySQL doubles them.
var token = regexp.MustCompile(`(?s)--[^\n]*|/\*.*?(?:\*/|$)|[\s\v]+|` +
	"(\\[[^]]*]?|'(?:[^']|'')*'?|\"(?:[^\"]|\"\")*\"?|`(?:[^`]|``)*`?|[\\w$\\x{80}-\\x{10FFFF}]+|.)")

// tokens returns where the groups of the tokens begin and end.
func tokens(statement string) (all [][]int) {
	for _, match := range token.FindAllStringSubmatchIndex(statement, -1) {
		if match[2] >= 0 {
			all = append(all, match[2:])
		}
	}
	return all
}

// withoutWord removes a keyword from a statement and reports whether the statement had it exactly once.
func withoutWord(statement, keyword string) (string, bool) {
	var found [][]int
	for _, t := range tokens(statement) {
		if strings.EqualFold(statement[t[0]:t[1]], keyword) {
			found = append(found, t)
		}
	}
	if len(found) != 1 {
		return statement, false
	}
	return strings.TrimRight(statement[:found[0][0]], " ") + statement[found[0][1]:], true
}
