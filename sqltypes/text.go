package sqltypes

import (
	"database/sql/driver"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes/internal/column"
)

// Text is an ID in a text column: the 13 characters of [snowflake.ID.Base32]. Like uuidkey.ID it is for schemas
// that require such keys; otherwise use a [snowflake.ID] in a bigint, which is shorter.
//
//	Text(id)            // in
//	snowflake.ID(text)  // and out
//
// Only the column differs: JSON, URLs, logs and String have the decimal digits of the ID. The zero value is the ID 0,
// "no ID yet". (Negative IDs, which no generator issues, are stored too and come last.) Rows of a time range are
// between Text(lo) and Text(hi) of [snowflake.Layout.Range]. The conditions of gormplugin (CreatedBetween, Page) are
// for integers and reject such a column.
//
// Column: char(13), varchar(13) or text. GORM creates varchar(64) on PostgreSQL, MariaDB and MySQL, even for a primary
// key, and text on SQLite; with the tag `gorm:"size:13"` it is varchar(13). For char(13) write
// `gorm:"type:char(13);size:13"`: without the size, AutoMigrate would alter the table in each run. On SQLite do not
// declare the column as STRING or another word that does not mean text (CHAR, CLOB, TEXT): it would convert
// "0000000000012" to the number 12 (https://www.sqlite.org/datatype3.html#determination_of_column_affinity).
//
// Order: the texts sort as the IDs do, unlike decimal digits, if the collation has digits before letters and the
// letters in the order of the English alphabet: "C" and every binary one, Unicode's root collation, and the collations
// of most languages. It fails where a letter or a pair of letters has another place: Croatian (NJ), Czech and Slovak
// (CH), Danish and Norwegian (AA), Estonian (Z), Hungarian (CS), Latvian and Lithuanian (Y) and others, 84 of the 806
// ICU collations in PostgreSQL 15. There, give the column COLLATE "C" on PostgreSQL or COLLATE ascii_bin on MariaDB and
// MySQL. Equality holds under every collation.
//
// Caution: 13 decimal digits are a valid Text of another ID. Convert a column of decimal text in one step.
type Text snowflake.ID

// Value returns the 13 characters of [snowflake.ID.Base32]. The error is always nil.
func (t Text) Value() (driver.Value, error) { return snowflake.ID(t).Base32(), nil }

// Scan reads a column, for [sql.Scanner]. It takes exactly what Value writes, as a string or a []byte, and an ID, a
// Text or a pointer to one, which bulk builders pass.
//
// It rejects other text with [snowflake.ErrSyntax], also lower-case letters and the spaces of a char(n) column that is
// too wide; text of more than 64 bits with [snowflake.ErrRange]; NULL and nil pointers with [snowflake.ErrNull]; all
// other types, numbers too, with [snowflake.ErrType]. On an error t is 0.
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
	return column.ScanOther[Text](src, "CHAR(13), VARCHAR or TEXT")
}

// GormDataType returns "string", for which GORM creates a column on every database, even for a primary key.
func (Text) GormDataType() string { return "string" }

// JSONSchemaAlias returns "", as [snowflake.ID.JSONSchemaAlias] does.
func (Text) JSONSchemaAlias() any { return "" }

// SnowflakeID returns the ID, for gormplugin.Key.
func (t Text) SnowflakeID() snowflake.ID { return snowflake.ID(t) }

// SetSnowflakeID replaces the ID, for gormplugin.Key.
func (t *Text) SetSnowflakeID(id snowflake.ID) { *t = Text(id) }

// String returns the ID in decimal digits.
func (t Text) String() string { return snowflake.ID(t).String() }

// MarshalText returns the text of [Text.String], which makes it a string in JSON. The error is always nil.
func (t Text) MarshalText() ([]byte, error) { return snowflake.ID(t).MarshalText() }

// UnmarshalText reads decimal digits as [snowflake.ID.UnmarshalText] does. On an error t is 0.
func (t *Text) UnmarshalText(text []byte) error {
	*t = 0
	return (*snowflake.ID)(t).UnmarshalText(text)
}

// UnmarshalParam reads a parameter of a URL or form as [snowflake.ID.UnmarshalParam] does. On an error t is 0.
func (t *Text) UnmarshalParam(param string) error {
	*t = 0
	return (*snowflake.ID)(t).UnmarshalParam(param)
}

// UnmarshalJSON reads JSON as [snowflake.ID.UnmarshalJSON] does; null leaves t unchanged. On an error t is 0.
func (t *Text) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	*t = 0
	return (*snowflake.ID)(t).UnmarshalJSON(data)
}
