package sqltypes

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/sqlflake/sqlflake/snowflake"
)

// ErrForeignUUID means that a UUID is none that a [UUID] is stored as: it has another version or variant, or bits outside
// of the ID. [UUIDFrom] and [UUID.Scan] return it, inside a [*snowflake.ParseError].
var ErrForeignUUID = errors.New("sqltypes: not the UUID of an ID")

// The bits of the two halves that do not belong to the ID. RFC 9562 has the version and the variant where they are
// (sections 4.1 and 4.2). The bit after the ID is 1 for MariaDB's sake: its type uuid refuses version 8 if the ninth byte
// is 80, as it would be for each ID whose last four bits are 0 (https://jira.mariadb.org/browse/MDEV-29959 made it so).
const (
	uuidVersion = 0x8000               // in the high half: the four bits above the last twelve
	uuidVariant = 0x80 << 56           // in the low half: the top two bits, 10
	uuidTail    = 1 << (uuidIDEnd - 1) // in the low half: the bits below the ID, a 1 and zeros

	uuidIDEnd = 58 // the lowest bit of the ID in the low half
)

// UUID returns the UUID that the column holds, for showing it outside and for code that knows google/uuid.
func (u UUID) UUID() uuid.UUID {
	var raw uuid.UUID
	high := uint64(u)>>16<<16 | uuidVersion | uint64(u)>>4&0xFFF
	low := uuidVariant | uint64(u)&0xF<<uuidIDEnd | uuidTail
	binary.BigEndian.PutUint64(raw[:8], high)
	binary.BigEndian.PutUint64(raw[8:], low)
	return raw
}

// UUIDFrom returns the ID that [UUID.UUID] has made the UUID from. Every other UUID is refused with [ErrForeignUUID]; the
// error is a [*snowflake.ParseError].
func UUIDFrom(raw uuid.UUID) (UUID, error) {
	return uuidFrom(raw, "UUID")
}

// uuidFrom names the source in its errors.
func uuidFrom(raw uuid.UUID, source string) (UUID, error) {
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
	return inputError(ErrForeignUUID, source, raw.String(), reason)
}

// scanUUID reads what a driver hands over for a UUID: text, 16 bytes, or a UUID.
func scanUUID(src any) (UUID, error) {
	switch src := src.(type) {
	case string:
		return parseUUID("string", src, uuid.Parse)
	case []byte:
		if len(src) == len(uuid.UUID{}) {
			return uuidFrom(uuid.UUID(src), "[]byte")
		}
		return parseUUID("[]byte", src, uuid.ParseBytes)
	case [16]byte:
		return uuidFrom(src, "[16]byte")
	case uuid.UUID:
		return uuidFrom(src, "uuid.UUID")
	case *uuid.UUID:
		if src == nil {
			return scanUUID(nil)
		}
		return uuidFrom(*src, "*uuid.UUID")
	}
	id, err := scanStored[UUID](src, uuidColumn)
	return UUID(id), err
}

// parseUUID reads the form with four hyphens only, to which the parse functions of google/uuid are not limited.
func parseUUID[T string | []byte](source string, text T, parse func(T) (uuid.UUID, error)) (UUID, error) {
	const length = 36
	if len(text) != length {
		return 0, inputError(snowflake.ErrSyntax, source, string(text),
			fmt.Sprintf("want a UUID of %d characters, got %d", length, len(text)))
	}
	raw, err := parse(text)
	if err != nil {
		return 0, inputError(snowflake.ErrSyntax, source, string(text), "it is not a UUID")
	}
	return uuidFrom(raw, source)
}
