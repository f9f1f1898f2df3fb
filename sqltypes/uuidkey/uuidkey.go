// Package uuidkey stores snowflake IDs in columns of UUIDs.
//
//	type Order struct {
//		ID uuidkey.ID // a uuid in the table, filled by the GORM plugin; decimal digits in JSON
//	}
//
// It is apart from package sqltypes because it imports github.com/google/uuid.
package uuidkey

import (
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
	"github.com/sqlflake/sqlflake/sqltypes/internal/column"
)

// ErrForeign means that a UUID does not hold an ID in the form of [ID]: it has another version or variant, or other
// bits outside of the ID, or its first bit is 1, as in no ID. Scan returns it, inside a [*snowflake.ParseError].
var ErrForeign = errors.New("uuidkey: not the UUID of an ID")

// ID is an ID in a column of UUIDs. Outside of the column it is like [sqltypes.Text]. [UUID] returns the UUID.
//
// The UUID has version 8, whose bits RFC 9562 leaves to the application
// (https://www.rfc-editor.org/rfc/rfc9562#section-5.8):
//
//	bits   0-47           48-51    52-63         64-65    66-69        70   71-127
//	field  custom_a       version  custom_b      variant  custom_c
//	holds  ID, high 48    1000     ID, next 12   10       ID, last 4   1    0
//
// Each ID has one UUID, and no other UUID is read. So a random UUID in such a column is the error [ErrForeign] and
// never a wrong ID. If a column has both, read it into a uuid.UUID and pass that to Scan. These UUIDs are as easy to
// guess as the ID and reveal as much.
//
// Column: uuid on PostgreSQL and MariaDB, which GORM creates, even for a primary key. On SQLite GORM declares the
// column uuid, and it holds the text. MySQL has no such type: use the tag `gorm:"type:char(36);size:36"`. Value returns
// the 36 lower-case characters of RFC 9562, which all drivers take; to write BINARY(16), pass the bytes of [UUID].
//
// Order: the UUIDs sort as the IDs do, as bytes and as text; in MariaDB's type uuid from 10.9.8, 10.10.6, 10.11.5 and
// 11.0.3 (https://jira.mariadb.org/browse/MDEV-29959).
type ID snowflake.ID

// The bits of the two halves outside of the ID. RFC 9562 defines the places of the version and the variant (sections
// 4.1 and 4.2). The bit after the ID is 1 because MariaDB's type uuid rejects version 8 if the ninth byte is 80, as it
// would be for each ID whose last four bits are 0 (since https://jira.mariadb.org/browse/MDEV-29959).
const (
	version = 0x8000            // in the high half: the four bits above the last twelve
	variant = 0x80 << 56        // in the low half: the top two bits, 10
	tail    = 1 << (lowEnd - 1) // in the low half: the bits below the ID, a 1 and zeros

	lowEnd = 58 // the lowest bit of the ID in the low half

	textLen = 36 // with four hyphens; google/uuid reads other forms too
)

// UUID returns the UUID of an ID. Scan rejects the UUID of a negative ID, which no generator issues.
func UUID(id snowflake.ID) uuid.UUID {
	var raw uuid.UUID
	high := uint64(id)>>16<<16 | version | uint64(id)>>4&0xFFF
	low := variant | uint64(id)&0xF<<lowEnd | tail
	binary.BigEndian.PutUint64(raw[:8], high)
	binary.BigEndian.PutUint64(raw[8:], low)
	return raw
}

// Value returns the 36 characters of the UUID, or [snowflake.ErrRange] for a negative ID.
func (u ID) Value() (driver.Value, error) {
	if u < 0 {
		return nil, fmt.Errorf("uuidkey: %d has no UUID, it is negative: %w", int64(u), snowflake.ErrRange)
	}
	return UUID(snowflake.ID(u)).String(), nil
}

// Scan reads a column, for [sql.Scanner]. It takes the UUIDs that Value writes: 36 characters with hexadecimal digits
// in either case, 16 bytes as a []byte or a [16]byte, and a uuid.UUID of google/uuid; and an ID of either package or a
// pointer, which bulk builders pass.
//
// It rejects other UUIDs with [ErrForeign]; other text, also the other forms that google/uuid reads, with
// [snowflake.ErrSyntax]; NULL and nil pointers with [snowflake.ErrNull]; all other types, numbers too, with
// [snowflake.ErrType]. On an error u is 0.
func (u *ID) Scan(src any) error {
	id, err := scan(src)
	*u = ID(id)
	return err
}

func scan(src any) (snowflake.ID, error) {
	var raw uuid.UUID
	var err error
	switch src := src.(type) {
	case string:
		if raw, err = uuid.Parse(src); err != nil || len(src) != textLen {
			return 0, rejectText("string", src)
		}
	case []byte:
		if len(src) == len(raw) {
			raw = uuid.UUID(src)
		} else if raw, err = uuid.ParseBytes(src); err != nil || len(src) != textLen {
			return 0, rejectText("[]byte", string(src))
		}
	case [16]byte:
		raw = src
	case uuid.UUID:
		raw = src
	default:
		return column.ScanOther[ID](src, "UUID or CHAR(36)")
	}

	high, low := binary.BigEndian.Uint64(raw[:8]), binary.BigEndian.Uint64(raw[8:])
	id := snowflake.ID(high>>16<<16 | high&0xFFF<<4 | low>>lowEnd&0xF)
	isForm := high&0xF000 == version && low&^(0xF<<lowEnd) == variant|tail
	if !isForm || id < 0 {
		return 0, column.Reject(ErrForeign, column.Source(src), raw.String(),
			fmt.Sprintf("its version is %d, want 8 with an ID, a 1 and zeros", raw.Version()))
	}
	return id, nil
}

func rejectText(source, text string) error {
	return column.Reject(snowflake.ErrSyntax, source, text, fmt.Sprintf("want a UUID of %d characters", textLen))
}

// GormDataType returns "uuid", the name of the type on PostgreSQL and MariaDB.
func (ID) GormDataType() string { return "uuid" }

// JSONSchemaAlias returns "", as [snowflake.ID.JSONSchemaAlias] does.
func (ID) JSONSchemaAlias() any { return "" }

// SnowflakeID returns the ID, for gormplugin.Key.
func (u ID) SnowflakeID() snowflake.ID { return snowflake.ID(u) }

// SetSnowflakeID replaces the ID, for gormplugin.Key.
func (u *ID) SetSnowflakeID(id snowflake.ID) { *u = ID(id) }

// String returns the ID in decimal digits.
func (u ID) String() string { return snowflake.ID(u).String() }

// MarshalText returns the text of [ID.String], which makes it a string in JSON. The error is always nil.
func (u ID) MarshalText() ([]byte, error) { return snowflake.ID(u).MarshalText() }

// UnmarshalText reads decimal digits as [sqltypes.Text.UnmarshalText] does. On an error u is 0.
func (u *ID) UnmarshalText(text []byte) error { return (*sqltypes.Text)(u).UnmarshalText(text) }

// UnmarshalParam reads a parameter as [sqltypes.Text.UnmarshalParam] does. On an error u is 0.
func (u *ID) UnmarshalParam(param string) error { return (*sqltypes.Text)(u).UnmarshalParam(param) }

// UnmarshalJSON reads JSON as [sqltypes.Text.UnmarshalJSON] does; null leaves u unchanged. On an error u is 0.
func (u *ID) UnmarshalJSON(data []byte) error { return (*sqltypes.Text)(u).UnmarshalJSON(data) }
