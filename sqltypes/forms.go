package sqltypes

import (
	"database/sql/driver"
	"encoding/binary"
	"fmt"

	"github.com/sqlflake/sqlflake/snowflake"
)

// Text is a [Column] of text: the 13 characters of [snowflake.ID.Base32].
//
// Column: char(13), varchar(13) or text. GORM creates varchar(64) on PostgreSQL, MariaDB and MySQL, also for a primary
// key, and text on SQLite; with the tag `gorm:"size:13"` it is varchar(13). For char(13) write
// `gorm:"type:char(13);size:13"`: without the size, AutoMigrate would alter the table in each run. On SQLite do not
// declare the column as STRING or another word that does not mean text (CHAR, CLOB, TEXT): it would convert
// "0000000000012" to the number 12 (https://www.sqlite.org/datatype3.html#determination_of_column_affinity).
//
// Order: the texts sort as the IDs do, unlike decimal digits, if the collation has digits before letters and the
// letters in the order of the English alphabet: "C" and every binary one, Unicode's root collation, and those of most
// languages. It fails where a letter or a pair of letters has another place: Croatian (NJ), Czech and Slovak (CH),
// Danish and Norwegian (AA), Estonian (Z), Hungarian (CS), Latvian and Lithuanian (Y) and others, 84 of the 806 ICU
// collations of PostgreSQL 15. There, give the column COLLATE "C" on PostgreSQL or COLLATE ascii_bin on MariaDB and
// MySQL. Equality holds under every collation.
//
// Scan rejects other text with [snowflake.ErrSyntax], also lower-case letters and the spaces of a char(n) column that
// is too wide, and text of more than 64 bits with [snowflake.ErrRange].
//
// Caution: 13 decimal digits are a valid Text of another ID. Convert a column of decimal text in one step.
type Text = Column[textForm]

type textForm struct{}

func (textForm) Names() (gormType, goType, columns string) {
	return "string", "sqltypes.Text", "CHAR(13), VARCHAR or TEXT"
}

func (textForm) Store(id snowflake.ID) driver.Value { return id.Base32() }

func (textForm) Load(src any) (snowflake.ID, error) {
	switch src := src.(type) {
	case string:
		return snowflake.ParseBase32(src)
	case []byte:
		return snowflake.ParseBase32(string(src))
	}
	return 0, snowflake.ErrType
}

// Binary is a [Column] of 8 bytes, big endian.
//
// Column: bytea on PostgreSQL, BINARY(8) on MariaDB and MySQL, BLOB on SQLite. GORM creates bytea, blob, and on MariaDB
// and MySQL varbinary(64), also for a primary key; with the tag `gorm:"size:8"` it is varbinary(8) there, and the same
// on the others. `gorm:"type:binary(8);size:8"` makes it BINARY(8), which PostgreSQL does not have.
//
// Scan rejects another number of bytes with [snowflake.ErrSyntax]. Any 8 bytes are a Binary, also little-endian ones
// and a text of 8 characters.
//
// Caution: GORM treats a bare key of bytes as a list of keys, so db.First(&row, key) and db.Delete(&row, key) look for
// the keys 0 to 255, and MariaDB finds rows with them, since it compares bytes with numbers. Write db.First(&row, "id =
// ?", key) or db.First(&row, []sqltypes.Binary{key}).
type Binary = Column[binaryForm]

type binaryForm struct{}

func (binaryForm) Names() (gormType, goType, columns string) {
	return "bytes", "sqltypes.Binary", "BYTEA, BINARY(8) or BLOB"
}

func (binaryForm) Store(id snowflake.ID) driver.Value {
	return binary.BigEndian.AppendUint64(make([]byte, 0, binaryLen), uint64(id))
}

func (binaryForm) Load(src any) (snowflake.ID, error) {
	var raw []byte
	switch src := src.(type) {
	case []byte:
		raw = src
	case string:
		raw = []byte(src) // without a copy
	default:
		return 0, snowflake.ErrType
	}
	if len(raw) != binaryLen {
		reason := fmt.Sprintf("want %d bytes, got %d", binaryLen, len(raw))
		return 0, &snowflake.ParseError{Reason: reason, Err: snowflake.ErrSyntax}
	}
	return snowflake.ID(binary.BigEndian.Uint64(raw)), nil
}

const binaryLen = 8
