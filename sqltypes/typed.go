package sqltypes

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes/internal/column"
)

// Typed is an ID of one kind of row. The compiler distinguishes it from IDs of other kinds, and its text names the
// kind:
//
//	type user struct{}
//
//	func (user) Prefix() string { return "user" }
//
//	type UserID = sqltypes.Typed[user]
//
// A UserID cannot be assigned to, passed as or compared with an OrderID without an explicit conversion,
// OrderID(userID). UserID(id) and snowflake.ID(userID) convert from and to a [snowflake.ID]. The zero value means "no
// ID yet"; the GORM plugin fills a key that holds it. A nullable column is a *UserID.
//
// Text, JSON, parameters and logs have the prefix, an underscore and the 13 characters of [snowflake.ID.Base32]:
// "user_04W86BB0G4007", and "user_0000000000000" for 0. Only this text is accepted. All texts of a kind have the same
// length, need no escaping in URLs, and sort as the IDs do, except that negative IDs, which no generator issues, come
// last. [snowflake.ParseBase32] of the last 13 characters returns the number. The verb %d prints the number, %v and %s
// the text.
//
// The column is a BIGINT (INTEGER on SQLite) without the prefix, as for snowflake.ID, so a field may change from one
// type to the other at any time.
//
// Errors of text: the ID of another kind is [ErrPrefix], other text is [snowflake.ErrSyntax] or [snowflake.ErrRange].
type Typed[K Kind] snowflake.ID

// ParseTyped reads the text of [Typed.String]. On an error the ID is 0.
func ParseTyped[K Kind](s string) (Typed[K], error) { return readTyped[K]("text", s) }

// SnowflakeID returns the ID without its kind, for gormplugin.Key and for Page and NextPage of the GORM plugin.
func (t Typed[K]) SnowflakeID() snowflake.ID { return snowflake.ID(t) }

// SetSnowflakeID replaces the ID, for gormplugin.Key: the plugin fills a primary key of this type.
func (t *Typed[K]) SetSnowflakeID(id snowflake.ID) { *t = Typed[K](id) }

// String returns the text that [ParseTyped] reads. If the prefix of the kind is invalid, it returns "!", the Go type of
// the kind in parentheses, an underscore and the 13 characters, which nothing reads.
func (t Typed[K]) String() string {
	var buf [maxPrefixedLen]byte
	text, err := t.AppendText(buf[:0])
	if err != nil {
		return fmt.Sprintf("!(%T)_%s", K{}, snowflake.ID(t).Base32())
	}
	return string(text)
}

// AppendText appends the text of [Typed.String] to b. The only error is an invalid prefix.
func (t Typed[K]) AppendText(b []byte) ([]byte, error) {
	prefix := prefixOf[K]()
	if !isPrefix(prefix) {
		return b, kindError[K]()
	}
	b = append(append(b, prefix...), '_')
	return append(b, snowflake.ID(t).Base32()...), nil
}

// MarshalText returns what [Typed.AppendText] appends. encoding/json calls it for values and for keys of objects.
func (t Typed[K]) MarshalText() ([]byte, error) {
	return t.AppendText(make([]byte, 0, len(prefixOf[K]())+1+suffixLen))
}

// UnmarshalText reads text as [ParseTyped] does. On an error t is 0.
func (t *Typed[K]) UnmarshalText(text []byte) (err error) {
	*t, err = readTyped[K]("text", text)
	return err
}

// UnmarshalParam reads a parameter of a URL or form as [ParseTyped] does: gin and echo call it when they bind a
// request.
func (t *Typed[K]) UnmarshalParam(param string) (err error) {
	*t, err = ParseTyped[K](param)
	return err
}

// UnmarshalJSON reads a JSON string with the text of [Typed.String]; null leaves the ID unchanged.
//
// Numbers are rejected with [snowflake.ErrType] and strings of digits with [snowflake.ErrSyntax], although
// [snowflake.ID] reads both: without a prefix they may be an ID of any kind. The other errors are what
// [ParseTyped] returns, and ErrType for booleans, objects and arrays. On an error t is 0.
//
// The JSON option string has no effect, with one exception: if the prefix starts with n, version 1 of encoding/json
// takes the text of a pointer field for a misspelled null and returns its own error.
func (t *Typed[K]) UnmarshalJSON(data []byte) (err error) {
	if string(data) == "null" {
		return nil
	}

	*t, err = readTyped[K]("JSON", column.Unquote(data)) // with the option string, the text comes without its quotes
	wantsString := isOtherJSON(data) && isPrefix(prefixOf[K]())
	if err != nil && wantsString {
		return column.Reject(snowflake.ErrType, "JSON", data, `want a string that starts with "`+prefixOf[K]()+`_"`)
	}
	return err
}

// isOtherJSON reports whether data is a JSON value other than a string.
func isOtherJSON(data []byte) bool {
	isWord := string(data) == "true" || string(data) == "false"
	return isWord || len(data) > 0 && strings.IndexByte("{[-0123456789", data[0]) >= 0
}

// UnmarshalBSONValue reads an integer, without prefix, as [snowflake.ID.UnmarshalBSONValue] does. On an error t is 0.
func (t *Typed[K]) UnmarshalBSONValue(typ byte, data []byte) error {
	return (*Strict)(t).UnmarshalBSONValue(typ, data)
}

// Value returns the ID as an int64, 0 for the zero ID. The error is always nil, since the column has no prefix.
func (t Typed[K]) Value() (driver.Value, error) { return int64(t), nil }

// Scan reads a column, for [sql.Scanner]: what [snowflake.ID.Scan] reads, with the same errors, and a Typed of the same
// kind or a pointer to one, which bulk builders pass. A Typed of another kind is rejected with [snowflake.ErrType],
// NULL and a nil pointer with [snowflake.ErrNull]: read a nullable column into a pointer. Text with a prefix is
// rejected, since columns hold the number. On an error t is 0.
func (t *Typed[K]) Scan(src any) error {
	id, err := column.ScanInteger[Typed[K]](src)
	*t = Typed[K](id)
	if err == nil {
		return nil
	}

	text, _ := src.(string)
	if raw, ok := src.([]byte); ok {
		text = string(raw)
	}

	if strings.Contains(text, "_") { // the error of an ID would name the wrong remedy
		return column.Reject(snowflake.ErrSyntax, column.Source(src), text,
			"the column holds text with a prefix, want the number; make the column BIGINT (INTEGER on SQLite)")
	}
	return err
}

// GormDataType returns "bigint", as [snowflake.ID.GormDataType] does.
func (Typed[K]) GormDataType() string { return "bigint" }

// JSONSchemaAlias returns "", as [snowflake.ID.JSONSchemaAlias] does.
func (Typed[K]) JSONSchemaAlias() any { return "" }

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

// readTyped reads the text of Typed.String from a source. On an error the ID is 0.
func readTyped[K Kind, T ~string | ~[]byte](source string, text T) (Typed[K], error) {
	if id, ok := parsePrefixed[K](text); ok {
		return Typed[K](id), nil
	}
	return 0, prefixedError[K](source, string(text))
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
