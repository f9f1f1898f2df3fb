// Package operator writes SQL operators so that PostgreSQL does not look for them in the search_path, where a role that
// may only create objects in one of its schemas could have defined them.
package operator

import (
	"regexp"
	"strings"
)

// token matches what has operators' characters in it and is none, names and parentheses, and then the operators.
var token = regexp.MustCompile(`'[^']*'|"[^"]*"|--[^\n]*|\w+|[(),]|<>|<=|>=|~~|[-+*=<>]`)

const operators = " <> <= >= ~~ - + * = < > "

// Qualify returns the statement with OPERATOR(pg_catalog.=) for = and so on. The = of an assignment after SET stays.
//
// All operators with a schema have the same precedence: an expression with two of them needs parentheses, except for
// the comparison of a sum with what is no sum, in this order. NULLIF, IN, BETWEEN, LIKE, CASE x WHEN y, USING and IS
// DISTINCT FROM have an operator that can't get a schema. GREATEST, LEAST, COALESCE, DISTINCT and ORDER BY have none. A
// * that is no product is not for it, nor is an escaped string.
func Qualify(statement string) string {
	depth := 0
	list := -1 // the depth of the list after SET
	assigns := false

	return token.ReplaceAllStringFunc(statement, func(t string) string {
		inList := depth == list
		inTarget := inList && assigns
		word := strings.ToUpper(t)

		switch {
		case t == "(":
			depth++
		case t == ")":
			depth--
		case word == "SET":
			list, assigns = depth, true
		case inList && t == ",":
			assigns = true
		case inList && word == "FROM", inList && word == "WHERE":
			list = -1
		case inTarget && t == "=":
			assigns = false
		case strings.Contains(operators, " "+t+" "):
			return "OPERATOR(pg_catalog." + t + ")"
		}
		return t
	})
}
