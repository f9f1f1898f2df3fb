// Package operator writes the operators of SQL so that PostgreSQL does not look for them in the search_path, as package
// internal/pgsql of this module does: packages in this folder import nothing from outside of it.
package operator

import "strings"

var (
	// Qualified writes operators for PostgreSQL: OPERATOR(pg_catalog.=) for {=}.
	Qualified = replacer("OPERATOR(pg_catalog.", ")")

	// Plain writes them for other databases.
	Plain = replacer("", "")
)

func replacer(before, after string) *strings.Replacer {
	var pairs []string
	for symbol := range strings.FieldsSeq("= <> < <= > >= + - * ~~") {
		pairs = append(pairs, "{"+symbol+"}", before+symbol+after)
	}
	return strings.NewReplacer(pairs...)
}
