package sqlfunc

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

func checkIdentifier(what, name string) error {
	if name == "" || len(name) > maxIdentifier || strings.ContainsRune(name, 0) || !utf8.ValidString(name) {
		return fmt.Errorf("%w: the %s %s, want 1 to %d bytes of UTF-8 without NUL",
			ErrOption, what, quoteShort(name), maxIdentifier)
	}
	return nil
}

// identifierSQL returns the name in the quotes of standard SQL.
func identifierSQL(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// literalSQL returns the text as a literal of PostgreSQL. Only the name of a schema may contain a backslash, whose
// meaning depends on standard_conforming_strings, hence E.
func literalSQL(text string) string {
	quoted := "'" + strings.ReplaceAll(text, "'", "''") + "'"
	if strings.Contains(text, `\`) {
		return "E" + strings.ReplaceAll(quoted, `\`, `\\`)
	}
	return quoted
}

// dollarQuote returns a quote for the bodies of functions that occurs in no name within them
// (https://www.postgresql.org/docs/current/sql-syntax-lexical.html).
func (f *Functions) dollarQuote() string {
	names := f.schema
	if f.leases != nil {
		names += f.leases.namespace
	}
	tag := "sqlfunc"
	for strings.Contains(names, "$"+tag) {
		tag += "_"
	}
	return "$" + tag + "$"
}

// joinScript ends each statement with a semicolon.
func joinScript(statements []string) string {
	var b strings.Builder
	for _, statement := range statements {
		b.WriteString(statement + ";\n\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}
