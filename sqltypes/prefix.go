package sqltypes

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes/internal/column"
)

// Kind is the type parameter of [Typed]: an empty struct with the method Prefix, usually not exported.
//
// The prefix is a constant of 1 to 63 lower-case letters with underscores between them, [a-z]([a-z_]*[a-z])?, as in the
// specification of TypeID (https://github.com/jetify-com/typeid/tree/main/spec), which also allows an empty one. The
// last underscore of a text ends the prefix.
//
// The prefix is part of every link to a row, so do not change it, and give no two kinds the same one. An invalid prefix
// is a mistake in the program: all that reads or writes text returns an error with the type and the prefix, which is no
// [*snowflake.ParseError], and [Typed.String] prints a mark.
type Kind interface {
	~struct{}
	// Prefix returns the start of the texts of these IDs, without the underscore that follows.
	Prefix() string
}

// ErrPrefix means that a text is an ID of another kind, such as "order_..." instead of "user_...". All readers of the
// text of a [Typed] return it, inside a [*snowflake.ParseError] whose reason names both prefixes. Text that is not an
// ID of any kind is [snowflake.ErrSyntax].
var ErrPrefix = errors.New("sqltypes: ID of another kind")

const (
	maxPrefixLen   = 63
	suffixLen      = 13 // of an ID in base 32
	maxPrefixedLen = maxPrefixLen + 1 + suffixLen
)

func prefixOf[K Kind]() string { return K{}.Prefix() }

// isPrefix reports whether p is [a-z]([a-z_]*[a-z])? and not too long.
func isPrefix(p string) bool {
	for i := range len(p) {
		isLetter := p[i]-'a' <= 'z'-'a'
		isInside := 0 < i && i < len(p)-1
		if !isLetter && (p[i] != '_' || !isInside) {
			return false
		}
	}
	return 0 < len(p) && len(p) <= maxPrefixLen
}

// parsePrefixed reads the text of Typed.String. If ok is false, prefixedError says why.
func parsePrefixed[K Kind, T ~string | ~[]byte](text T) (id snowflake.ID, ok bool) {
	prefix := prefixOf[K]()
	n := len(prefix)
	hasShape := len(text) == n+1+suffixLen && text[n] == '_'
	if !hasShape || string(text[:n]) != prefix || !isPrefix(prefix) {
		return 0, false
	}

	id, err := snowflake.ParseBase32(string(text[n+1:]))
	return id, err == nil
}

// prefixedError explains why parsePrefixed rejected the text.
func prefixedError[K Kind](source, text string) error {
	want := prefixOf[K]()
	if !isPrefix(want) {
		return kindError[K]()
	}

	// Base 32 has no underscore, so the last one ends the prefix.
	at := strings.LastIndexByte(text, '_')
	if at < 0 {
		return column.Reject(snowflake.ErrSyntax, source, text,
			`it has no prefix, want "`+want+`_" and 13 characters of base 32`)
	}

	got, suffix := text[:at], text[at+1:]
	_, err := snowflake.ParseBase32(suffix)
	var of *snowflake.ParseError
	switch {
	case errors.As(err, &of):
		return column.Reject(of.Err, source, text, "in the base 32 after its last underscore: "+of.Reason)
	case !isPrefix(got):
		return column.Reject(snowflake.ErrSyntax, source, text, `want the prefix "`+want+`", this one is invalid`)
	}

	return column.Reject(ErrPrefix, source, text, `it has the prefix "`+got+`", want "`+want+`"`)
}

func kindError[K Kind]() error {
	return fmt.Errorf("sqltypes: invalid kind of ID: %T has the prefix %.40q of length %d, "+
		"want 1 to %d letters a to z, with underscores only between them",
		K{}, prefixOf[K](), len(prefixOf[K]()), maxPrefixLen)
}
