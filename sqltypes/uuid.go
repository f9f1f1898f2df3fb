package sqltypes

import (
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes/internal/refuse"
)

// ErrForeignUUID means that a UUID does not hold an ID in the form of [UUID]: it has another version or variant, or
// other bits outside of the ID. [UUID.Scan] returns it, inside a [*snowflake.ParseError].
var ErrForeignUUID = errors.New("sqltypes: not the UUID of an ID")

// UUID is an ID in a column of UUIDs, for schemas that require them; otherwise use a [snowflake.ID] in a bigint, which
// is half as long.
//
//	UUID(id)            // in
//	snowflake.ID(uuid)  // and out
//
// Only the column differs: JSON, URLs, logs and String have the decimal digits of the ID. [UUID.UUID] returns the UUID.
// The zero value is the ID 0, "no ID yet".
//
// The UUID has version 8, whose bits RFC 9562 leaves to the application
// (https://www.rfc-editor.org/rfc/rfc9562#section-5.8):
//
//	bits   0-47           48-51    52-63         64-65    66-69        70   71-127
//	field  custom_a       version  custom_b      variant  custom_c
//	holds  ID, high 48    1000     ID, next 12   10       ID, last 4   1    0
//
// Each ID has one UUID, and no other UUID is read. So a random UUID in such a column is the error [ErrForeignUUID] and
// never a wrong ID. If a column has both, read it into a uuid.UUID and pass that to [UUID.Scan]. These UUIDs are as
// easy to guess as the ID and reveal as much.
//
// Column: uuid on PostgreSQL and MariaDB, which GORM creates, also for a primary key. On SQLite GORM declares the
// column uuid, and it holds the text. MySQL has no such type: use the tag `gorm:"type:char(36);size:36"`. Scan reads
// BINARY(16) too; to write it, pass the bytes of [UUID.UUID].
//
// Order: the UUIDs sort as the IDs do, as bytes and as text; in MariaDB's type uuid from 10.9.8, 10.10.6, 10.11.5 and
// 11.0.3 (https://jira.mariadb.org/browse/MDEV-29959). (Negative IDs, which no generator issues, are stored too and
// come last.) Rows of a time range are between UUID(lo) and UUID(hi) of [snowflake.Layout.Range]. The conditions of
// gormplugin (CreatedBetween, Page) are for integers and reject such a column.
type UUID snowflake.ID

const uuidColumn = "UUID or CHAR(36)"

// The bits of the two halves outside of the ID. RFC 9562 defines the places of the version and the variant (sections
// 4.1 and 4.2). The bit after the ID is 1 because MariaDB's type uuid rejects version 8 if the ninth byte is 80, as it
// would be for each ID whose last four bits are 0 (since https://jira.mariadb.org/browse/MDEV-29959).
const (
	uuidVersion = 0x8000               // in the high half: the four bits above the last twelve
	uuidVariant = 0x80 << 56           // in the low half: the top two bits, 10
	uuidTail    = 1 << (uuidIDEnd - 1) // in the low half: the bits below the ID, a 1 and zeros

	uuidIDEnd = 58 // the lowest bit of the ID in the low half
)

// UUID returns the UUID of the column.
func (u UUID) UUID() uuid.UUID {
	var raw uuid.UUID
	high := uint64(u)>>16<<16 | uuidVersion | uint64(u)>>4&0xFFF
	low := uuidVariant | uint64(u)&0xF<<uuidIDEnd | uuidTail
	binary.BigEndian.PutUint64(raw[:8], high)
	binary.BigEndian.PutUint64(raw[8:], low)
	return raw
}

// Value returns the UUID as the 36 lower-case characters of RFC 9562, which all drivers take. The error is always nil.
func (u UUID) Value() (driver.Value, error) {
	return u.UUID().String(), nil
}

// Scan reads a column, for [sql.Scanner]. It takes the UUIDs that Value writes: 36 characters as a string or a []byte,
// with hexadecimal digits in either case; 16 bytes as a []byte or a [16]byte; a uuid.UUID of google/uuid; and an ID, a
// UUID or a pointer to one, which bulk builders pass.
//
// It rejects other UUIDs with [ErrForeignUUID]; other text, also the other forms that google/uuid reads, with
// [snowflake.ErrSyntax]; NULL and nil pointers with [snowflake.ErrNull]; all other types, numbers too, with
// [snowflake.ErrType]. On an error u is 0.
func (u *UUID) Scan(src any) error {
	read, err := scanUUID(src)
	*u = read
	return err
}

// scanUUID reads text, 16 bytes, or a UUID.
func scanUUID(src any) (UUID, error) {
	switch src := src.(type) {
	case string:
		return parseUUID("string", src, uuid.Parse)
	case []byte:
		if len(src) == len(uuid.UUID{}) {
			return fromUUID(uuid.UUID(src), "[]byte")
		}
		return parseUUID("[]byte", src, uuid.ParseBytes)
	case [16]byte:
		return fromUUID(src, "[16]byte")
	case uuid.UUID:
		return fromUUID(src, "uuid.UUID")
	case *uuid.UUID:
		if src == nil {
			return scanUUID(nil)
		}
		return fromUUID(*src, "*uuid.UUID")
	}
	id, err := scanStored[UUID](src, uuidColumn)
	return UUID(id), err
}

// parseUUID reads only the form with four hyphens; google/uuid reads others too.
func parseUUID[T string | []byte](source string, text T, parse func(T) (uuid.UUID, error)) (UUID, error) {
	const length = 36
	if len(text) != length {
		return 0, refuse.Input(snowflake.ErrSyntax, source, text,
			fmt.Sprintf("want a UUID of %d characters, got %d", length, len(text)))
	}
	raw, err := parse(text)
	if err != nil {
		return 0, refuse.Input(snowflake.ErrSyntax, source, text, "it is not a UUID")
	}
	return fromUUID(raw, source)
}

// fromUUID is the inverse of [UUID.UUID].
func fromUUID(raw uuid.UUID, source string) (UUID, error) {
	high, low := binary.BigEndian.Uint64(raw[:8]), binary.BigEndian.Uint64(raw[8:])
	if high&0xF000 != uuidVersion || low&^(0xF<<uuidIDEnd) != uuidVariant|uuidTail {
		return 0, foreignError(raw, source)
	}
	return UUID(high>>16<<16 | high&0xFFF<<4 | low>>uuidIDEnd&0xF), nil
}

// foreignError says which bits of the UUID are not those of an ID.
func foreignError(raw uuid.UUID, source string) error {
	reason := "the bits after the ID are not a 1 and zeros"
	switch {
	case raw.Variant() != uuid.RFC4122:
		reason = "its variant is not that of RFC 9562"
	case raw.Version() != 8:
		reason = fmt.Sprintf("its version is %d, want 8", raw.Version())
	}
	return refuse.Input(ErrForeignUUID, source, raw.String(), reason)
}

// GormDataType returns "uuid", the name of the type on PostgreSQL and MariaDB.
func (UUID) GormDataType() string { return "uuid" }

// SnowflakeID returns the ID, for gormplugin.Key.
func (u UUID) SnowflakeID() snowflake.ID { return snowflake.ID(u) }

// SetSnowflakeID replaces the ID, for gormplugin.Key: the plugin fills a primary key of this type.
func (u *UUID) SetSnowflakeID(id snowflake.ID) { *u = UUID(id) }

// String returns the ID in decimal digits. The text of the UUID is u.UUID().String().
func (u UUID) String() string { return snowflake.ID(u).String() }

// MarshalText returns the text of [UUID.String], also for JSON. The error is always nil.
func (u UUID) MarshalText() ([]byte, error) { return snowflake.ID(u).MarshalText() }

// UnmarshalText reads decimal digits as [snowflake.ID.UnmarshalText] does, with the same errors. On an error u is 0.
func (u *UUID) UnmarshalText(text []byte) error {
	*u = 0
	return (*snowflake.ID)(u).UnmarshalText(text)
}

// UnmarshalJSON reads a string of decimal digits or an integer as [snowflake.ID.UnmarshalJSON] does, with the same
// errors; null leaves u unchanged. On an error u is 0.
func (u *UUID) UnmarshalJSON(data []byte) error {
	return unmarshalJSON((*snowflake.ID)(u), data)
}

// UnmarshalParam reads a parameter of a URL or form as [snowflake.ID.UnmarshalParam] does, with the same errors. On an
// error u is 0.
func (u *UUID) UnmarshalParam(param string) error {
	*u = 0
	return (*snowflake.ID)(u).UnmarshalParam(param)
}
