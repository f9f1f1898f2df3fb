// Package pgsql writes SQL that means the same in every session of PostgreSQL.
//
// In the search_path, a role that may only create objects in one of its schemas could have defined the operators that a
// statement has. So a statement has them in braces, such as {=}, and its functions as pg_catalog.f().
//
// All operators with a schema have the same precedence: an expression with two of them needs parentheses. NULLIF, IN,
// BETWEEN, LIKE, CASE x WHEN y and IS DISTINCT FROM have an operator that can't get a schema. GREATEST, LEAST,
// COALESCE, DISTINCT and ORDER BY have none.
package pgsql

import "strings"

var (
	// Qualified writes operators for PostgreSQL: OPERATOR(pg_catalog.=).
	Qualified = replacer("OPERATOR(pg_catalog.", ")")

	// Plain writes them for other databases, and where the search_path is safe.
	Plain = replacer("", "")
)

func replacer(before, after string) *strings.Replacer {
	var pairs []string
	for symbol := range strings.FieldsSeq("= <> < <= > >= + - * / % & | << >> || ~ ~~") {
		pairs = append(pairs, "{"+symbol+"}", before+symbol+after)
	}
	return strings.NewReplacer(pairs...)
}

// Name returns a name in quotes.
func Name(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// Literal returns a text as a literal, whatever standard_conforming_strings is.
func Literal(text string) string {
	quoted := "'" + strings.ReplaceAll(text, "'", "''") + "'"
	if strings.Contains(text, `\`) {
		return "E" + strings.ReplaceAll(quoted, `\`, `\\`)
	}
	return quoted
}
