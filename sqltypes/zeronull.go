package sqltypes

import (
	"database/sql/driver"

	"github.com/sqlflake/sqlflake/snowflake"
)

// ZeroNull is an ID that is stored as NULL if it is 0, for models in which 0 means "none": an optional foreign key, or
// a column that bun's tag nullzero sets to NULL, which a plain [snowflake.ID] could not read back. Use [Null] to
// distinguish the ID 0 from NULL.
//
// It is an int64, as [snowflake.ID] is, so it can be a field, or a conversion where an ID meets the database:
//
//	db.Exec("UPDATE nodes SET parent = $1 WHERE id = $2", sqltypes.ZeroNull(node.Parent), node.ID)
//	db.QueryRow("SELECT parent FROM nodes WHERE id = $1", node.ID).Scan((*sqltypes.ZeroNull)(&node.Parent))
//
// 0 is NULL in SQL, null in JSON, and the empty text in other text formats and in parameters. Other IDs are written as
// [snowflake.ID] writes them. All these forms are read as 0, and so is the number 0.
//
// Do not use it for primary keys: SQLite assigns a key of its own to a row whose INTEGER PRIMARY KEY is NULL
// (https://sqlite.org/lang_createtable.html#rowid), the other databases reject the row. Do not use it in conditions
// either: parent = NULL is true for no row, so write parent IS NULL.
type ZeroNull snowflake.ID

// String returns the ID in decimal digits, or the empty string for 0.
func (n ZeroNull) String() string { return n.null().String() }

// Value returns the ID as an int64, or nil for 0. The error is always nil.
func (n ZeroNull) Value() (driver.Value, error) { return n.null().Value() }

// Scan reads a column, for [sql.Scanner]. NULL and a nil pointer to an ID or a ZeroNull are read as 0. A ZeroNull, a
// Null or a pointer to one, which bulk builders pass, is copied. Everything else is read or rejected as
// [snowflake.ID.Scan] does it. On an error n is 0.
func (n *ZeroNull) Scan(src any) error {
	switch other := src.(type) {
	case ZeroNull:
		src = snowflake.ID(other)
	case *ZeroNull:
		src = (*snowflake.ID)(other)
	}
	var read Null
	err := read.Scan(src)
	*n = ZeroNull(read.ID)
	return err
}

// GormDataType returns "bigint", as [snowflake.ID.GormDataType] does.
func (ZeroNull) GormDataType() string { return "bigint" }

// MarshalJSON returns the ID in a JSON string, or null for 0. The error is always nil.
func (n ZeroNull) MarshalJSON() ([]byte, error) { return n.null().MarshalJSON() }

// UnmarshalJSON reads null as 0 and everything else as [snowflake.ID.UnmarshalJSON] does. The empty string is an error;
// in version 1 of encoding/json this holds for keys of objects too, so 0 cannot be a key there. On an error n is 0.
func (n *ZeroNull) UnmarshalJSON(data []byte) error {
	var read Null
	err := read.UnmarshalJSON(data)
	*n = ZeroNull(read.ID)
	return err
}

// MarshalText returns the text of [ZeroNull.String]. The error is always nil.
func (n ZeroNull) MarshalText() ([]byte, error) { return n.null().MarshalText() }

// UnmarshalText reads the empty text as 0 and everything else as [snowflake.Parse] does. On an error n is 0.
func (n *ZeroNull) UnmarshalText(text []byte) error {
	var read Null
	err := read.UnmarshalText(text)
	*n = ZeroNull(read.ID)
	return err
}

// UnmarshalParam reads a parameter of a URL or form as [ZeroNull.UnmarshalText] does: an empty one is 0. The web
// frameworks gin and echo call this method when they bind a request.
func (n *ZeroNull) UnmarshalParam(param string) error {
	var read Null
	err := read.UnmarshalParam(param)
	*n = ZeroNull(read.ID)
	return err
}

// null returns the Null that is written as n is.
func (n ZeroNull) null() Null {
	return Null{ID: snowflake.ID(n), Valid: n != 0}
}
