package sqltypes

import (
	"cmp"
	"database/sql/driver"
	"encoding/binary"
	"fmt"
	"log/slog"

	"github.com/sqlflake/sqlflake/snowflake"
)

// Binary is an ID in a column of bytes: 8 of them, big endian. It is for schemas and stores whose keys are bytes; where
// you may choose, take a [snowflake.ID] in a bigint, which is as short.
//
//	Binary(id)            // in
//	snowflake.ID(binary)  // and out
//
// It changes what the column holds and nothing else: JSON, URLs, logs and String have the decimal digits of the ID. The
// zero value is the ID 0, "no ID yet".
//
// NULL: a column that may be NULL is read into a *Binary or a sql.Null[Binary]. After an error of Scan a sql.Null has
// Valid true and the ID 0, so look at the error first; in JSON it is an object with V and Valid, a *Binary is null.
// Scan refuses NULL for a plain Binary. GORM does not call Scan for it: a plain field is 0 then, without an error, and
// a pointer or a sql.Null is as it was, so read into a struct that is new.
//
// Order: the bytes sort as the IDs do. (Negative IDs, which no generator issues, are stored too, in two's complement, and
// come after the others.) The rows of some time are those between Binary(lo) and Binary(hi) of [snowflake.Layout.Range]. The
// conditions of gormplugin (Created, Page) are for integers and refuse such a column.
//
// Column: bytea on PostgreSQL, BINARY(8) on MariaDB and MySQL, BLOB on SQLite. GORM makes a bytea, a blob, and on MariaDB
// and MySQL varbinary(64), also as a primary key. The tag `gorm:"size:8"` makes it varbinary(8) there and changes nothing
// on the others. `gorm:"type:binary(8);size:8"` makes BINARY(8), and is not for PostgreSQL, which has no such type.
//
// Trap: any 8 bytes are a Binary, little-endian ones and a text of 8 characters too.
//
// Trap: GORM takes a bare key of bytes for a list of keys, so that db.First(&row, key) and db.Delete(&row, key) look for
// the keys 0 to 255, and MariaDB finds rows with them, since it compares bytes with numbers. Write
// db.First(&row, "id = ?", key) or db.First(&row, []sqltypes.Binary{key}).
type Binary snowflake.ID

// binaryLen is the length of an ID in bytes.
const binaryLen = 8

const binaryColumn = "BYTEA, BINARY(8) or BLOB"

// Value returns a new slice of 8 bytes, big endian, for [driver.Valuer]. The error is always nil.
func (b Binary) Value() (driver.Value, error) {
	return binary.BigEndian.AppendUint64(make([]byte, 0, binaryLen), uint64(b)), nil
}

// Scan reads a column, for [sql.Scanner]. It takes 8 bytes as a []byte or a string, and an ID, a Binary or a pointer to
// one, which bulk builders hand over. It keeps no reference to the slice.
//
// It refuses, with a [*snowflake.ParseError]: another number of bytes with [snowflake.ErrSyntax]; NULL and nil pointers
// with [snowflake.ErrNull]; all other types, numbers too, with [snowflake.ErrType]. On an error b is 0.
func (b *Binary) Scan(src any) error {
	id, err := scanBinary(src)
	*b = Binary(id)
	return err
}

func scanBinary(src any) (snowflake.ID, error) {
	switch src := src.(type) {
	case []byte:
		if len(src) != binaryLen {
			return 0, binaryLengthError("[]byte", string(src))
		}
		return snowflake.ID(binary.BigEndian.Uint64(src)), nil
	case string:
		if len(src) != binaryLen {
			return 0, binaryLengthError("string", src)
		}
		var raw [binaryLen]byte
		copy(raw[:], src)
		return snowflake.ID(binary.BigEndian.Uint64(raw[:])), nil
	}
	return scanStored[Binary](src, binaryColumn)
}

func binaryLengthError(source, input string) error {
	return inputError(snowflake.ErrSyntax, source, input, fmt.Sprintf("want %d bytes, got %d", binaryLen, len(input)))
}

// GormDataType returns "bytes": a type that GORM makes a column of on every database, and that may be a primary key.
func (Binary) GormDataType() string { return "bytes" }

// SnowflakeID returns the ID, for [gormplugin.Key].
//
// [gormplugin.Key]: https://pkg.go.dev/github.com/sqlflake/sqlflake/gormplugin#Key
func (b Binary) SnowflakeID() snowflake.ID { return snowflake.ID(b) }

// SetSnowflakeID replaces the ID, for gormplugin.Key: the plugin fills a primary key of this type.
func (b *Binary) SetSnowflakeID(id snowflake.ID) { *b = Binary(id) }

// IsZero reports whether the ID is 0, which means "no ID yet". The JSON option omitzero asks it.
func (b Binary) IsZero() bool { return b == 0 }

// Compare returns -1, 0 or +1, as [snowflake.ID.Compare] does.
func (b Binary) Compare(other Binary) int { return cmp.Compare(b, other) }

// String returns the ID in decimal digits.
func (b Binary) String() string { return snowflake.ID(b).String() }

// LogValue returns the text of [Binary.String] as a [slog.Value].
func (b Binary) LogValue() slog.Value { return snowflake.ID(b).LogValue() }

// AppendText appends the text of [Binary.String] to dst, for [encoding.TextAppender]. The error is always nil.
func (b Binary) AppendText(dst []byte) ([]byte, error) { return snowflake.ID(b).AppendText(dst) }

// MarshalText returns the text of [Binary.String], for [encoding.TextMarshaler] and JSON. The error is always nil.
func (b Binary) MarshalText() ([]byte, error) { return snowflake.ID(b).MarshalText() }

// UnmarshalText reads decimal digits as [snowflake.ID.UnmarshalText] does, with the same errors. On an error b is 0.
func (b *Binary) UnmarshalText(text []byte) error {
	*b = 0
	return (*snowflake.ID)(b).UnmarshalText(text)
}

// UnmarshalJSON reads a string of decimal digits or an integer as [snowflake.ID.UnmarshalJSON] does, with the same errors;
// null leaves b as it is. On an error b is 0.
func (b *Binary) UnmarshalJSON(data []byte) error {
	return unmarshalJSON((*snowflake.ID)(b), data)
}

// UnmarshalParam reads a parameter of a URL or a form as [snowflake.ID.UnmarshalParam] does, with the same errors. On an
// error b is 0.
func (b *Binary) UnmarshalParam(param string) error {
	*b = 0
	return (*snowflake.ID)(b).UnmarshalParam(param)
}
