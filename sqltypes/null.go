package sqltypes

import (
	"database/sql/driver"
	"log/slog"

	"github.com/sqlflake/sqlflake/snowflake"
)

// Null is an ID that may be NULL. The zero value is NULL. It keeps NULL and the ID 0 apart: 0 is a value here, although
// no generator issues it.
//
// NULL is null in JSON, the empty text in other text formats and in parameters, and nil for [log/slog]. An ID is written
// as [snowflake.ID] writes it, "123" in a JSON string.
//
// Whatever a method reads replaces all of Null: it is NULL after an error too, never the value of an earlier row. Two
// Nulls may be compared with ==, as all functions and methods here leave ID 0 where Valid is false.
//
// In a JSON object the option omitzero leaves a NULL out.
//
// GORM does not call Scan for NULL: a struct that it reads into again keeps the ID of the row before. Read each row into a
// new variable.
//
// A Null is a plain value: its methods with a pointer receiver write to it as an assignment does, the others may run at
// any time.
type Null struct {
	ID    snowflake.ID // 0 if Valid is false
	Valid bool         // whether there is an ID; false means NULL
}

// NullFrom returns a Null that holds id, even if it is 0.
func NullFrom(id snowflake.ID) Null {
	return Null{ID: id, Valid: true}
}

// NullFromPtr returns a Null that holds *id, or NULL if the pointer is nil.
func NullFromPtr(id *snowflake.ID) Null {
	if id == nil {
		return Null{}
	}
	return NullFrom(*id)
}

// Ptr returns a pointer to a copy of the ID, or nil for NULL.
func (n Null) Ptr() *snowflake.ID {
	if !n.Valid {
		return nil
	}
	return &n.ID
}

// IsZero reports whether n is NULL. The JSON option omitzero asks it. The ID 0 is not NULL.
func (n Null) IsZero() bool { return !n.Valid }

// String returns the ID in decimal digits, or the empty string for NULL.
func (n Null) String() string {
	if !n.Valid {
		return ""
	}
	return n.ID.String()
}

// LogValue returns the ID's text, or nil for NULL, as a [slog.Value].
func (n Null) LogValue() slog.Value {
	if !n.Valid {
		return slog.AnyValue(nil)
	}
	return n.ID.LogValue()
}

// Value returns the ID as an int64, or nil for NULL, for [driver.Valuer]. The error is always nil.
func (n Null) Value() (driver.Value, error) {
	if !n.Valid {
		return nil, nil // NULL
	}
	return n.ID.Value()
}

// Scan reads a column, for [sql.Scanner]: NULL and a nil *snowflake.ID make n NULL, a Null or *Null is copied (bulk
// builders hand those over), all else is read and refused as [snowflake.ID.Scan] does it. On an error n is NULL.
func (n *Null) Scan(src any) error {
	var read Null
	var err error
	switch src := src.(type) {
	case nil:
	case Null:
		if src.Valid { // else an ID may be left over in it
			read = src
		}
	case *Null:
		if src != nil && src.Valid {
			read = *src
		}
	case *snowflake.ID:
		read = NullFromPtr(src)
	default:
		err = read.set(read.ID.Scan(src))
	}
	*n = read
	return err
}

// GormDataType returns "bigint", as [snowflake.ID.GormDataType] does.
func (Null) GormDataType() string { return "bigint" }

// MarshalJSON returns the ID in a JSON string, or null. The error is always nil.
func (n Null) MarshalJSON() ([]byte, error) {
	if !n.Valid {
		return []byte("null"), nil
	}
	b := append(make([]byte, 0, 24), '"')
	b, _ = n.ID.AppendText(b)
	return append(b, '"'), nil
}

// UnmarshalJSON reads null as NULL and all else as [snowflake.ID.UnmarshalJSON] does: the empty string is an error. On
// an error n is NULL.
func (n *Null) UnmarshalJSON(data []byte) error {
	*n = Null{}
	if string(data) == "null" {
		return nil
	}
	return n.set(n.ID.UnmarshalJSON(data))
}

// AppendText appends the text of [Null.String] to b, for [encoding.TextAppender]. The error is always nil.
func (n Null) AppendText(b []byte) ([]byte, error) {
	if !n.Valid {
		return b, nil
	}
	return n.ID.AppendText(b)
}

// MarshalText returns the text of [Null.String], for [encoding.TextMarshaler]. The error is always nil.
func (n Null) MarshalText() ([]byte, error) {
	return n.AppendText([]byte{})
}

// UnmarshalText reads the empty text as NULL and all else as [snowflake.Parse] does, for [encoding.TextUnmarshaler]. On
// an error n is NULL.
func (n *Null) UnmarshalText(text []byte) error {
	*n = Null{}
	if len(text) == 0 {
		return nil
	}
	return n.set(n.ID.UnmarshalText(text))
}

// UnmarshalParam reads a parameter of a URL or a form as [Null.UnmarshalText] does: an empty one is NULL. The web
// frameworks gin and echo look for this method when they bind a request.
func (n *Null) UnmarshalParam(param string) error {
	*n = Null{}
	if param == "" {
		return nil
	}
	return n.set(n.ID.UnmarshalParam(param))
}

// set makes n valid if there was no error reading into n.ID, which an error leaves unchanged, that is 0.
func (n *Null) set(err error) error {
	n.Valid = err == nil
	return err
}
