package sqltypes

import (
	"cmp"
	"fmt"
	"log/slog"

	"github.com/sqlflake/sqlflake/snowflake"
)

// Typed is an ID of one kind of thing, which the compiler keeps apart from those of others, and which names its kind
// wherever people and other programs see it:
//
//	type user struct{}
//
//	func (user) Prefix() string { return "user" }
//
//	type UserID = sqltypes.Typed[user]
//
// A UserID is not an OrderID: neither can be assigned to, passed for or compared with the other. Only a conversion that is
// written out, OrderID(userID), goes across. UserID(id) and snowflake.ID(userID) convert from and to a [snowflake.ID].
//
// Zero value: 0 means "no ID yet", as for [snowflake.ID]; the GORM plugin fills a key that holds it.
//
// Outside, that is in text, JSON, parameters and logs, it is the prefix, an underscore, and the ID in Crockford's base 32
// as [snowflake.ID.Base32] writes it: "user_04W86BB0G4007", 0 being "user_0000000000000". A text is accepted if and only
// if it is what the ID prints. The texts of a kind are all of one length, nothing in them needs escaping in a URL, and
// a double click selects the whole. They sort as the IDs do, which decimal digits would not, except that negative IDs,
// which no generator issues, come last. The letters are upper-case because those of Base32 are: there is one base 32 in
// this module. The price is that the number of the row is not seen in the text: [snowflake.ParseBase32] of the last 13
// characters tells it.
//
// Inside it is a BIGINT (INTEGER on SQLite), as snowflake.ID is: no table shows the prefix, the prefix costs nothing
// there, and a column may change from the one type to the other at any time.
//
// A text of another kind is [ErrPrefix], of which a program can tell its user; other texts are [snowflake.ErrSyntax] or
// [snowflake.ErrRange]. Where the prefix of the kind itself is invalid, texts are neither written nor read: [ErrKind].
//
// Whatever a method reads replaces the ID: it is 0 after an error, never the value of an earlier row. JSON's null alone
// leaves it as it is, which is the convention of [encoding/json].
//
// For a column that may be NULL there is [TypedNull], for an array [TypedArray]. The JSON option omitzero leaves 0 out. As
// with every ID, %d prints the number, and %v and %s the text.
//
// A Typed is a plain value: its methods with a pointer receiver write to it as an assignment does, the others may run at
// any time.
type Typed[K Kind] snowflake.ID

// ParseTyped reads the text that [Typed.String] prints and nothing else. The error is a [*PrefixError] (an ID of another
// kind), a [*snowflake.ParseError] with [snowflake.ErrSyntax] or [snowflake.ErrRange], or [ErrKind]; the ID is then 0.
func ParseTyped[K Kind](s string) (Typed[K], error) {
	if id, ok := parsePrefixed(prefixOf[K](), s); ok {
		return Typed[K](id), nil
	}
	return 0, prefixedError[K]("text", s)
}

// MustParseTyped is like [ParseTyped] but panics if s is not the text of an ID of the kind. It is for constants and tests.
func MustParseTyped[K Kind](s string) Typed[K] {
	id, err := ParseTyped[K](s)
	if err != nil {
		panic(err)
	}
	return id
}

// SnowflakeID returns the ID without its kind, which Page and NextPage of the GORM plugin take. With
// [Typed.SetSnowflakeID] it is what the plugin asks of a key.
func (t Typed[K]) SnowflakeID() snowflake.ID { return snowflake.ID(t) }

// SetSnowflakeID replaces the ID.
func (t *Typed[K]) SetSnowflakeID(id snowflake.ID) { *t = Typed[K](id) }

// Int64 returns the ID as an integer, for APIs that know nothing of the type.
func (t Typed[K]) Int64() int64 { return int64(t) }

// IsZero reports whether t is 0, which means "no ID yet". The JSON option omitzero asks it.
func (t Typed[K]) IsZero() bool { return t == 0 }

// Compare returns -1 if t is smaller than other, 0 if they are equal, and +1 if it is larger. It fits
// [slices.SortFunc] as the method expression UserID.Compare.
func (t Typed[K]) Compare(other Typed[K]) int { return cmp.Compare(t, other) }

// String returns the prefix, an underscore and the 13 characters of [snowflake.ID.Base32]. [ParseTyped] takes this text
// and no other. If the prefix of the kind is invalid it is "!", the Go type of the kind in parentheses, an underscore and
// the 13 characters, which is the text of no ID.
func (t Typed[K]) String() string {
	prefix := prefixOf[K]()
	if !isPrefix(prefix) {
		prefix = fmt.Sprintf("!(%T)", K{})
	}
	var buf [maxPrefixedLen]byte
	return string(appendPrefixed(buf[:0], prefix, snowflake.ID(t)))
}

// LogValue returns the text of [Typed.String] as a [slog.Value].
func (t Typed[K]) LogValue() slog.Value { return slog.StringValue(t.String()) }

// AppendText appends the text of [Typed.String] to b, for [encoding.TextAppender]. The only error is [ErrKind].
func (t Typed[K]) AppendText(b []byte) ([]byte, error) {
	prefix := prefixOf[K]()
	if !isPrefix(prefix) {
		return b, kindError[K]()
	}
	return appendPrefixed(b, prefix, snowflake.ID(t)), nil
}

// MarshalText returns the text of [Typed.String], for [encoding.TextMarshaler]. Through it JSON values and the keys of JSON
// objects are strings. The only error is [ErrKind].
func (t Typed[K]) MarshalText() ([]byte, error) {
	prefix := prefixOf[K]()
	if !isPrefix(prefix) {
		return nil, kindError[K]()
	}
	return appendPrefixed(make([]byte, 0, len(prefix)+1+suffixLen), prefix, snowflake.ID(t)), nil
}

// UnmarshalText reads the text that [ParseTyped] reads, with the same errors, for [encoding.TextUnmarshaler]. On an error
// t is 0.
func (t *Typed[K]) UnmarshalText(text []byte) error {
	id, ok := parsePrefixed(prefixOf[K](), text)
	*t = Typed[K](id)
	if !ok {
		return prefixedError[K]("text", string(text))
	}
	return nil
}

// UnmarshalParam reads a parameter of a URL or a form as [ParseTyped] does, with the same errors. The web frameworks gin
// and echo look for this method when they bind a request. On an error t is 0.
func (t *Typed[K]) UnmarshalParam(param string) error {
	id, err := ParseTyped[K](param)
	*t = id
	return err
}
