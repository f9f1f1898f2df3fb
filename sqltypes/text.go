package sqltypes

import (
	"cmp"
	"database/sql/driver"
	"log/slog"

	"github.com/sqlflake/sqlflake/snowflake"
)

// Text is an ID in a text column: 13 characters of Crockford's Base 32, as [snowflake.ID.Base32] writes them. It is for
// schemas whose keys are text; where you may choose, take a [snowflake.ID] in a bigint, which is 8 bytes and not 14.
//
//	Text(id)            // in
//	snowflake.ID(text)  // and out
//
// It changes what the column holds and nothing else: JSON, URLs, logs and String have the decimal digits of the ID. The
// zero value is the ID 0, "no ID yet".
//
// NULL: a column that may be NULL is read into a *Text or a sql.Null[Text]. After an error of Scan a sql.Null has Valid
// true and the ID 0, so look at the error first; in JSON it is an object with V and Valid, a *Text is null. Scan
// refuses NULL for a plain Text. GORM does not call Scan for it: a plain field is 0 then, without an error, and a
// pointer or a sql.Null is as it was, so read into a struct that is new.
//
// Order: the texts sort as the IDs do, which decimal digits do not. (Negative IDs, which no generator issues, are stored
// too and come after the others.) That needs a collation in which digits come before letters and each letter is in its
// place of the English alphabet: "C" and every binary one, Unicode's root collation, and those of most languages. It fails
// where a letter or a pair of them has a place of its own: in Croatian (NJ), Czech and Slovak (CH), Danish and Norwegian
// (AA), Estonian (Z), Hungarian (CS), Latvian and Lithuanian (Y) and others, 84 of the 806 ICU collations of
// PostgreSQL 15. If the database has such a collation, give the column another: COLLATE "C" on PostgreSQL, COLLATE
// ascii_bin on MariaDB and MySQL. Equality holds under every collation.
//
// The rows of some time are those between Text(lo) and Text(hi) of [snowflake.Layout.Range]. The conditions of gormplugin
// (Created, Page) are for integers and refuse such a column.
//
// Column: char(13), varchar(13) or text. For GORM it is a string, so that the column is varchar(64) on PostgreSQL, MariaDB
// and MySQL, also as a primary key, and text on SQLite. The tag `gorm:"size:13"` makes it varchar(13). With the tag type
// alone, AutoMigrate would alter the table in each run, since GORM takes the size from the Go type: if you need it, write
// `gorm:"type:char(13);size:13"`. On SQLite do not declare the column STRING, or by another word that does not mean text
// (CHAR, CLOB, TEXT): it then turns "0000000000012" into the number 12
// (https://www.sqlite.org/datatype3.html#determination_of_column_affinity).
//
// Trap: 13 decimal digits are a Text as well, of another ID. Convert a column of decimal text in one step.
type Text snowflake.ID

const textColumn = "CHAR(13), VARCHAR or TEXT"

// Value returns the 13 characters of [snowflake.ID.Base32], for [driver.Valuer]. The error is always nil.
func (t Text) Value() (driver.Value, error) {
	return snowflake.ID(t).Base32(), nil
}

// Scan reads a column, for [sql.Scanner]. It takes as a string or a []byte what Value writes and nothing else, and an ID, a
// Text or a pointer to one, which bulk builders hand over.
//
// It refuses, with a [*snowflake.ParseError]: other text with [snowflake.ErrSyntax], also lower-case letters and the spaces
// of a char(n) column that is too wide; text of more than 64 bits with [snowflake.ErrRange]; NULL and nil pointers with
// [snowflake.ErrNull]; all other types, numbers too, with [snowflake.ErrType]. On an error t is 0.
func (t *Text) Scan(src any) error {
	id, err := scanText(src)
	*t = Text(id)
	return err
}

func scanText(src any) (snowflake.ID, error) {
	switch src := src.(type) {
	case string:
		return snowflake.ParseBase32(src)
	case []byte:
		return snowflake.ParseBase32(string(src))
	}
	return scanStored[Text](src, textColumn)
}

// GormDataType returns "string": a type that GORM makes a column of on every database, and that may be a primary key.
func (Text) GormDataType() string { return "string" }

// SnowflakeID returns the ID, for [gormplugin.Key].
//
// [gormplugin.Key]: https://pkg.go.dev/github.com/sqlflake/sqlflake/gormplugin#Key
func (t Text) SnowflakeID() snowflake.ID { return snowflake.ID(t) }

// SetSnowflakeID replaces the ID, for gormplugin.Key: the plugin fills a primary key of this type.
func (t *Text) SetSnowflakeID(id snowflake.ID) { *t = Text(id) }

// IsZero reports whether the ID is 0, which means "no ID yet". The JSON option omitzero asks it.
func (t Text) IsZero() bool { return t == 0 }

// Compare returns -1, 0 or +1, as [snowflake.ID.Compare] does.
func (t Text) Compare(other Text) int { return cmp.Compare(t, other) }

// String returns the ID in decimal digits. The text of the column is snowflake.ID(t).Base32().
func (t Text) String() string { return snowflake.ID(t).String() }

// LogValue returns the text of [Text.String] as a [slog.Value].
func (t Text) LogValue() slog.Value { return snowflake.ID(t).LogValue() }

// AppendText appends the text of [Text.String] to b, for [encoding.TextAppender]. The error is always nil.
func (t Text) AppendText(b []byte) ([]byte, error) { return snowflake.ID(t).AppendText(b) }

// MarshalText returns the text of [Text.String], for [encoding.TextMarshaler] and JSON. The error is always nil.
func (t Text) MarshalText() ([]byte, error) { return snowflake.ID(t).MarshalText() }

// UnmarshalText reads decimal digits as [snowflake.ID.UnmarshalText] does, with the same errors. On an error t is 0.
func (t *Text) UnmarshalText(text []byte) error {
	*t = 0
	return (*snowflake.ID)(t).UnmarshalText(text)
}

// UnmarshalJSON reads a string of decimal digits or an integer as [snowflake.ID.UnmarshalJSON] does, with the same errors;
// null leaves t as it is. On an error t is 0.
func (t *Text) UnmarshalJSON(data []byte) error {
	return unmarshalJSON((*snowflake.ID)(t), data)
}

// UnmarshalParam reads a parameter of a URL or a form as [snowflake.ID.UnmarshalParam] does, with the same errors. On an
// error t is 0.
func (t *Text) UnmarshalParam(param string) error {
	*t = 0
	return (*snowflake.ID)(t).UnmarshalParam(param)
}
