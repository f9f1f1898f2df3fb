package sqltypes

import (
	"cmp"
	"database/sql/driver"
	"log/slog"

	"github.com/sqlflake/sqlflake/snowflake"
)

// ZeroNull is an ID whose zero value is NULL in a database, for models in which 0 means "none": an optional foreign key,
// or a column that bun's tag nullzero fills with NULL, which a plain [snowflake.ID] could not read back. To keep the ID
// 0 and NULL apart use [Null].
//
// It is an int64 as [snowflake.ID] is, so it can be a field, or a conversion where an ID meets the database:
//
//	db.Exec("UPDATE nodes SET parent = $1 WHERE id = $2", sqltypes.ZeroNull(node.Parent), node.ID)
//	db.QueryRow("SELECT parent FROM nodes WHERE id = $1", node.ID).Scan((*sqltypes.ZeroNull)(&node.Parent))
//
// 0 is NULL in SQL, null in JSON, the empty text in other text formats and in parameters, and nil for [log/slog]. Other
// IDs are written as [snowflake.ID] writes them. All these forms of nothing are read as 0, and so is the number 0 itself,
// from a column, JSON or text: it is NULL when it is written the next time.
//
// It is not for primary keys: SQLite gives a row whose INTEGER PRIMARY KEY is NULL a key of its own choice
// (https://sqlite.org/lang_createtable.html#rowid), the other databases refuse it. Nor is it for conditions: parent = NULL
// is true for no row, so look for 0 with parent IS NULL.
//
// Whatever a method reads replaces the ID: it is 0 after an error too, never the value of an earlier row. GORM, which does
// not call Scan for a NULL, puts 0 into the field as well.
//
// In a JSON object the option omitzero leaves 0 out. A ZeroNull is a plain value: its methods with a pointer receiver
// write to it as an assignment does, the others may run at any time.
type ZeroNull snowflake.ID

// IsZero reports whether n is 0, which is NULL. The JSON option omitzero asks it.
func (n ZeroNull) IsZero() bool { return n == 0 }

// Compare returns -1 if n is smaller than other, 0 if they are equal, and +1 if it is larger, for [slices.SortFunc].
func (n ZeroNull) Compare(other ZeroNull) int { return cmp.Compare(n, other) }

// String returns the ID in decimal digits, or the empty string for 0.
func (n ZeroNull) String() string { return n.null().String() }

// LogValue returns the ID's text, or nil for 0, as a [slog.Value].
func (n ZeroNull) LogValue() slog.Value { return n.null().LogValue() }

// Value returns the ID as an int64, or nil for 0, which is NULL, for [driver.Valuer]. The error is always nil.
func (n ZeroNull) Value() (driver.Value, error) { return n.null().Value() }

// Scan reads a column, for [sql.Scanner]: NULL and a nil pointer to an ID or a ZeroNull are read as 0, a ZeroNull, a Null
// or a pointer to one is copied (bulk builders hand those over), all else is read and refused as [snowflake.ID.Scan] does
// it. On an error n is 0.
func (n *ZeroNull) Scan(src any) error {
	switch other := src.(type) {
	case ZeroNull:
		src = snowflake.ID(other)
	case *ZeroNull:
		src = (*snowflake.ID)(other)
	}
	var read Null
	err := read.Scan(src)
	if !read.Valid { // a Null that a program made may have an ID all the same
		read.ID = 0
	}
	*n = ZeroNull(read.ID)
	return err
}

// GormDataType returns "bigint", as [snowflake.ID.GormDataType] does.
func (ZeroNull) GormDataType() string { return "bigint" }

// MarshalJSON returns the ID in a JSON string, or null for 0. The error is always nil.
func (n ZeroNull) MarshalJSON() ([]byte, error) { return n.null().MarshalJSON() }

// UnmarshalJSON reads null as 0 and all else as [snowflake.ID.UnmarshalJSON] does: the empty string is an error, in
// version 1 of encoding/json also as the key of an object, so that 0 is no key there. On an error n is 0.
func (n *ZeroNull) UnmarshalJSON(data []byte) error {
	var read Null
	err := read.UnmarshalJSON(data)
	*n = ZeroNull(read.ID)
	return err
}

// AppendText appends the text of [ZeroNull.String] to b, for [encoding.TextAppender]. The error is always nil.
func (n ZeroNull) AppendText(b []byte) ([]byte, error) { return n.null().AppendText(b) }

// MarshalText returns the text of [ZeroNull.String], for [encoding.TextMarshaler]. The error is always nil.
func (n ZeroNull) MarshalText() ([]byte, error) { return n.null().MarshalText() }

// UnmarshalText reads the empty text as 0 and all else as [snowflake.Parse] does, for [encoding.TextUnmarshaler]. On an
// error n is 0.
func (n *ZeroNull) UnmarshalText(text []byte) error {
	var read Null
	err := read.UnmarshalText(text)
	*n = ZeroNull(read.ID)
	return err
}

// UnmarshalParam reads a parameter of a URL or a form as [ZeroNull.UnmarshalText] does: an empty one is 0. The web
// frameworks gin and echo look for this method when they bind a request.
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
