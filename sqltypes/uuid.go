package sqltypes

import (
	"cmp"
	"database/sql/driver"
	"log/slog"

	"github.com/sqlflake/sqlflake/snowflake"
)

// UUID is an ID in a column of UUIDs, to join a schema that insists on them. Where you may choose, take a [snowflake.ID]
// in a bigint, which is half as long.
//
//	UUID(id)            // in
//	snowflake.ID(uuid)  // and out
//
// It changes what the column holds and nothing else: JSON, URLs, logs and String have the decimal digits of the ID.
// [UUID.UUID] returns the UUID for those who want to show that one. The zero value is the ID 0, "no ID yet".
//
// NULL: a column that may be NULL is read into a *UUID or a sql.Null[UUID]. After an error of Scan a sql.Null has Valid
// true and the ID 0, so look at the error first; in JSON it is an object with V and Valid, a *UUID is null. Scan
// refuses NULL for a plain UUID. GORM does not call Scan for it: a plain field is 0 then, without an error, and a
// pointer or a sql.Null is as it was, so read into a struct that is new.
//
// The UUID is of version 8, which RFC 9562 leaves to the application (https://www.rfc-editor.org/rfc/rfc9562#section-5.8):
//
//	bits   0-47           48-51    52-63         64-65    66-69        70   71-127
//	field  custom_a       version  custom_b      variant  custom_c
//	holds  ID, high 48    1000     ID, next 12   10       ID, last 4   1    0
//
// One ID has one UUID, and no other UUID is read: neither one of another version nor one with other bits after the ID.
// So a row with a random UUID in such a column is an error that wraps [ErrForeignUUID], and never a wrong ID; a column that
// has both kinds is read into a uuid.UUID, which [UUIDFrom] tells apart. UUIDs of this kind are as easy to guess as the ID,
// and say as much.
//
// Order: the UUIDs sort as the IDs do, as bytes and as text; on MariaDB in the type uuid from 10.9.8, 10.10.6, 10.11.5 and
// 11.0.3 on (https://jira.mariadb.org/browse/MDEV-29959). (Negative IDs, which no generator issues, are stored too and come
// after the others.) The rows of some time are those between UUID(lo) and UUID(hi) of [snowflake.Layout.Range]. The
// conditions of gormplugin (CreatedBetween, Page) are for integers and refuse such a column.
//
// Column: uuid on PostgreSQL and MariaDB, where GORM makes one, also as a primary key. On SQLite GORM declares the column
// uuid, and it holds the text. MySQL has no such type: give the field the tag `gorm:"type:char(36);size:36"`. Scan reads
// BINARY(16) as well; to write one, pass the bytes of [UUID.UUID].
type UUID snowflake.ID

const uuidColumn = "UUID or CHAR(36)"

// Value returns the UUID in the text form of RFC 9562, 36 lower-case characters, for [driver.Valuer]: the one form that all
// drivers take. The error is always nil.
func (u UUID) Value() (driver.Value, error) {
	return u.UUID().String(), nil
}

// Scan reads a column, for [sql.Scanner]. It takes the UUIDs that Value writes: their text of 36 characters as a string or
// a []byte, hexadecimal digits in either case; their 16 bytes as a []byte or a [16]byte; a uuid.UUID of google/uuid; and an
// ID, a UUID or a pointer to one, which bulk builders hand over.
//
// It refuses, with a [*snowflake.ParseError]: other UUIDs with [ErrForeignUUID]; text that is no UUID, also in the other
// forms that google/uuid reads, with [snowflake.ErrSyntax]; NULL and nil pointers with [snowflake.ErrNull]; all other
// types, numbers too, with [snowflake.ErrType]. On an error u is 0.
func (u *UUID) Scan(src any) error {
	read, err := scanUUID(src)
	*u = read
	return err
}

// GormDataType returns "uuid", the name of the type on PostgreSQL and MariaDB.
func (UUID) GormDataType() string { return "uuid" }

// SnowflakeID returns the ID, for [gormplugin.Key].
//
// [gormplugin.Key]: https://pkg.go.dev/github.com/sqlflake/sqlflake/gormplugin#Key
func (u UUID) SnowflakeID() snowflake.ID { return snowflake.ID(u) }

// SetSnowflakeID replaces the ID, for gormplugin.Key: the plugin fills a primary key of this type.
func (u *UUID) SetSnowflakeID(id snowflake.ID) { *u = UUID(id) }

// IsZero reports whether the ID is 0, which means "no ID yet". The JSON option omitzero asks it.
func (u UUID) IsZero() bool { return u == 0 }

// Compare returns -1, 0 or +1, as [snowflake.ID.Compare] does.
func (u UUID) Compare(other UUID) int { return cmp.Compare(u, other) }

// String returns the ID in decimal digits. The text of the UUID is u.UUID().String().
func (u UUID) String() string { return snowflake.ID(u).String() }

// LogValue returns the text of [UUID.String] as a [slog.Value].
func (u UUID) LogValue() slog.Value { return snowflake.ID(u).LogValue() }

// AppendText appends the text of [UUID.String] to b, for [encoding.TextAppender]. The error is always nil.
func (u UUID) AppendText(b []byte) ([]byte, error) { return snowflake.ID(u).AppendText(b) }

// MarshalText returns the text of [UUID.String], for [encoding.TextMarshaler] and JSON. The error is always nil.
func (u UUID) MarshalText() ([]byte, error) { return snowflake.ID(u).MarshalText() }

// UnmarshalText reads decimal digits as [snowflake.ID.UnmarshalText] does, with the same errors. On an error u is 0.
func (u *UUID) UnmarshalText(text []byte) error {
	*u = 0
	return (*snowflake.ID)(u).UnmarshalText(text)
}

// UnmarshalJSON reads a string of decimal digits or an integer as [snowflake.ID.UnmarshalJSON] does, with the same errors;
// null leaves u as it is. On an error u is 0.
func (u *UUID) UnmarshalJSON(data []byte) error {
	return unmarshalJSON((*snowflake.ID)(u), data)
}

// UnmarshalParam reads a parameter of a URL or a form as [snowflake.ID.UnmarshalParam] does, with the same errors. On an
// error u is 0.
func (u *UUID) UnmarshalParam(param string) error {
	*u = 0
	return (*snowflake.ID)(u).UnmarshalParam(param)
}
