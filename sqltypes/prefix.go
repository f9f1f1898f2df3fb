package sqltypes

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sqlflake/sqlflake/snowflake"
)

// Kind tells the IDs of one thing from those of another: the type parameter of [Typed] and its relatives. It is an empty
// struct with the method Prefix, usually not exported:
//
//	type user struct{}
//
//	func (user) Prefix() string { return "user" }
//
// The prefix is a constant of 1 to 63 lower-case letters, with underscores between them: [a-z]([a-z_]*[a-z])? as in the
// specification of TypeID (https://github.com/jetify-com/typeid/tree/main/spec), except that it may not be empty. Who
// splits a text elsewhere does so at its last underscore, as a prefix may have some.
//
// The prefix is part of all links to your rows, so it stays as it is, and no two kinds should share one: nothing but the
// prefix tells their texts apart.
type Kind interface {
	~struct{}
	// Prefix returns what the texts of these IDs start with, without the underscore that follows.
	Prefix() string
}

// ErrKind means that the Prefix of a [Kind] breaks the rule for prefixes. Everything that reads or writes the text of a
// [Typed] returns it, with the type and the prefix in its message; what has no error to return prints the mark described
// at [Typed.String]. It is a mistake in the program: a test that prints one ID finds it.
var ErrKind = errors.New("sqltypes: invalid kind of ID")

// ErrPrefix means that a text is an ID of another kind, as "order_..." where "user_..." is wanted. All readers of the text
// of a [Typed] return it, inside a [*PrefixError]. A text that is no ID of any kind is a [snowflake.ErrSyntax] instead.
var ErrPrefix = errors.New("sqltypes: ID of another kind")

// PrefixError says which text is an ID of another kind than the one that is read. It wraps [ErrPrefix].
type PrefixError struct {
	// Source is what was read: "text" or "JSON".
	Source string
	// Got is the prefix of the text, of at most 63 letters and underscores.
	Got string
	// Want is the prefix of the kind that is read.
	Want string
}

// Error returns one line that names both prefixes.
func (e *PrefixError) Error() string {
	return "sqltypes: " + e.Source + ` has the prefix "` + e.Got + `", want an ID with the prefix "` + e.Want + `"`
}

// Unwrap returns [ErrPrefix].
func (e *PrefixError) Unwrap() error { return ErrPrefix }

const maxPrefixLen = 63

func prefixOf[K Kind]() string { return K{}.Prefix() }

// isPrefix reports whether p is [a-z]([a-z_]*[a-z])? and not too long.
func isPrefix(p string) bool {
	if len(p) == 0 || len(p) > maxPrefixLen || p[0] == '_' || p[len(p)-1] == '_' {
		return false
	}
	for i := range len(p) {
		if !inPrefix(p[i]) {
			return false
		}
	}
	return true
}

func inPrefix(c byte) bool { return c-'a' <= 'z'-'a' || c == '_' }

// prefixedError explains why parsePrefixed refused the text.
func prefixedError[K Kind](source, text string) error {
	want := prefixOf[K]()
	if !isPrefix(want) {
		return kindError[K]()
	}
	// Base 32 has no underscore, so the last one ends the prefix, whatever underscores are in that.
	at := strings.LastIndexByte(text, '_')
	if at < 0 {
		return inputError(snowflake.ErrSyntax, source, text,
			`it has no prefix, want "`+want+`_" and 13 characters of base 32`)
	}
	got, suffix := text[:at], text[at+1:]
	_, err := snowflake.ParseBase32(suffix)
	var of *snowflake.ParseError
	switch {
	case errors.As(err, &of):
		return inputError(of.Err, source, text, "in the base 32 after its last underscore: "+of.Reason)
	case !isPrefix(got):
		return inputError(snowflake.ErrSyntax, source, text, `want the prefix "`+want+`", this one is of no kind at all`)
	}
	return &PrefixError{Source: source, Got: got, Want: want}
}

// kindError is the error for a kind whose prefix is none.
func kindError[K Kind]() error {
	return fmt.Errorf(
		"%w: %T has the prefix %.40q of length %d, want 1 to %d letters a to z, with underscores only between them",
		ErrKind, K{}, prefixOf[K](), len(prefixOf[K]()), maxPrefixLen)
}
