// Package operator writes the operators of SQL so that PostgreSQL does not look for them in the search_path, where a role
// that may only create objects in one of its schemas could have defined them. A statement has them in braces, such as
// {=}, and its functions as pg_catalog.f().
//
// All operators in this form have the same precedence: an expression with two of them needs parentheses. NULLIF, IN,
// BETWEEN, LIKE, CASE x WHEN y and IS DISTINCT FROM have an operator that can't be written so. GREATEST, LEAST, COALESCE,
// DISTINCT and ORDER BY look for none.
package operator

import "strings"

var (
	// Qualified writes them for PostgreSQL: OPERATOR(pg_catalog.=).
	Qualified = replacer("OPERATOR(pg_catalog.", ")")

	// Plain writes them for other databases.
	Plain = replacer("", "")
)

func replacer(before, after string) *strings.Replacer {
	var pairs []string
	for symbol := range strings.FieldsSeq("= <> < <= > >= + - * / % & | << >> || ~ ~~") {
		pairs = append(pairs, "{"+symbol+"}", before+symbol+after)
	}
	return strings.NewReplacer(pairs...)
}
