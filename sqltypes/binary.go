package sqltypes

import (
	"database/sql/driver"
	"encoding/binary"
	"fmt"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes/internal/column"
)

// Binary is an ID in a column of 8 bytes, big endian, which sort as the IDs do. Outside of the column it is like
// [Text].
//
// Column: bytea on PostgreSQL, BINARY(8) on MariaDB and MySQL, BLOB on SQLite. GORM creates bytea, blob, and on MariaDB
// and MySQL varbinary(64), even for a primary key; with the tag `gorm:"size:8"` it is varbinary(8) there, and the same
// on the others. `gorm:"type:binary(8);size:8"` makes it BINARY(8), which PostgreSQL does not have.
//
// Caution: any 8 bytes are a Binary, including little-endian ones and a text of 8 characters.
//
// Caution: GORM treats a bare key of bytes as a list of keys, so db.First(&row, key) and db.Delete(&row, key) look for
// the keys 0 to 255, and MariaDB finds rows with them, since it compares bytes with numbers. Write db.First(&row, "id =
// ?", key) or db.First(&row, []sqltypes.Binary{key}).
type Binary snowflake.ID

const binaryLen = 8

// Value returns a new slice of 8 bytes. The error is always nil.
func (b Binary) Value() (driver.Value, error) {
	return binary.BigEndian.AppendUint64(make([]byte, 0, binaryLen), uint64(b)), nil
}

// Scan reads a column, for [sql.Scanner]. It takes 8 bytes, as a string or as a []byte that it does not keep,
// and an ID, a Binary or a pointer to one, which bulk builders pass.
//
// It rejects another number of bytes with [snowflake.ErrSyntax], NULL and nil pointers with [snowflake.ErrNull], and
// all other types, numbers too, with [snowflake.ErrType]. On an error b is 0.
func (b *Binary) Scan(src any) error {
	id, err := scanBinary(src)
	*b = Binary(id)
	return err
}

func scanBinary(src any) (snowflake.ID, error) {
	switch src := src.(type) {
	case []byte:
		if len(src) == binaryLen {
			return snowflake.ID(binary.BigEndian.Uint64(src)), nil
		}
		return 0, rejectLength("[]byte", string(src))
	case string:
		if len(src) == binaryLen {
			return snowflake.ID(binary.BigEndian.Uint64([]byte(src))), nil
		}
		return 0, rejectLength("string", src)
	}

	return column.ScanOther[Binary](src, "BYTEA, BINARY(8) or BLOB")
}

func rejectLength(source, input string) error {
	return column.Reject(snowflake.ErrSyntax, source, input,
		fmt.Sprintf("want %d bytes, got %d", binaryLen, len(input)))
}

// GormDataType returns "bytes", for which GORM creates a column on every database, even for a primary key.
func (Binary) GormDataType() string { return "bytes" }

// JSONSchemaAlias returns "", as [snowflake.ID.JSONSchemaAlias] does.
func (Binary) JSONSchemaAlias() any { return "" }

// SnowflakeID returns the ID, for gormplugin.Key.
func (b Binary) SnowflakeID() snowflake.ID { return snowflake.ID(b) }

// SetSnowflakeID replaces the ID, for gormplugin.Key.
func (b *Binary) SetSnowflakeID(id snowflake.ID) { *b = Binary(id) }

// String returns the ID in decimal digits.
func (b Binary) String() string { return snowflake.ID(b).String() }

// MarshalText returns the text of [Binary.String], which makes it a string in JSON. The error is always nil.
func (b Binary) MarshalText() ([]byte, error) { return snowflake.ID(b).MarshalText() }

// UnmarshalText reads decimal digits as [snowflake.ID.UnmarshalText] does. On an error b is 0.
func (b *Binary) UnmarshalText(text []byte) error { return (*Text)(b).UnmarshalText(text) }

// UnmarshalParam reads a parameter of a URL or form as [snowflake.ID.UnmarshalParam] does. On an error b is 0.
func (b *Binary) UnmarshalParam(param string) error { return (*Text)(b).UnmarshalParam(param) }

// UnmarshalJSON reads JSON as [snowflake.ID.UnmarshalJSON] does; null leaves b unchanged. On an error b is 0.
func (b *Binary) UnmarshalJSON(data []byte) error { return (*Text)(b).UnmarshalJSON(data) }
