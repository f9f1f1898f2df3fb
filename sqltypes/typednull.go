package sqltypes

import (
	"database/sql/driver"
	"log/slog"

	"github.com/sqlflake/sqlflake/snowflake"
)

// TypedNull is a [Typed] that may be NULL, as [Null] is a [snowflake.ID] that may be: an optional foreign key, the result
// of an outer join. The zero value is NULL. It keeps NULL and the ID 0 apart.
//
// NULL is null in JSON, the empty text in other text formats and in parameters, and nil for [log/slog]. An ID is written
// as Typed writes it, "user_04W86BB0G4007".
//
// Whatever a method reads replaces all of the TypedNull: it is NULL after an error too. Two may be compared with ==, as
// all functions and methods here leave ID 0 where Valid is false. In a JSON object the option omitzero leaves a NULL out.
//
// GORM does not call Scan for NULL: a struct that it reads into again keeps the ID of the row before. Read each row into a
// new variable.
//
// A TypedNull is a plain value: its methods with a pointer receiver write to it as an assignment does, the others may run
// at any time.
type TypedNull[K Kind] struct {
	ID    Typed[K] // 0 if Valid is false
	Valid bool     // whether there is an ID; false means NULL
}

// TypedNullFrom returns a TypedNull that holds id, even if it is 0.
func TypedNullFrom[K Kind](id Typed[K]) TypedNull[K] {
	return TypedNull[K]{ID: id, Valid: true}
}

// TypedNullFromPtr returns a TypedNull that holds *id, or NULL if the pointer is nil.
func TypedNullFromPtr[K Kind](id *Typed[K]) TypedNull[K] {
	if id == nil {
		return TypedNull[K]{}
	}
	return TypedNullFrom(*id)
}

// Ptr returns a pointer to a copy of the ID, or nil for NULL.
func (n TypedNull[K]) Ptr() *Typed[K] {
	if !n.Valid {
		return nil
	}
	return &n.ID
}

// IsZero reports whether n is NULL. The JSON option omitzero asks it. The ID 0 is not NULL.
func (n TypedNull[K]) IsZero() bool { return !n.Valid }

// String returns the text of [Typed.String], or the empty string for NULL.
func (n TypedNull[K]) String() string {
	if !n.Valid {
		return ""
	}
	return n.ID.String()
}

// LogValue returns the ID's text, or nil for NULL, as a [slog.Value].
func (n TypedNull[K]) LogValue() slog.Value {
	if !n.Valid {
		return slog.AnyValue(nil)
	}
	return n.ID.LogValue()
}

// Value returns the ID as an int64, or nil for NULL, for [driver.Valuer]. The error is always nil.
func (n TypedNull[K]) Value() (driver.Value, error) {
	if !n.Valid {
		return nil, nil // NULL
	}
	return n.ID.Value()
}

// Scan reads a column, for [sql.Scanner]: NULL and a nil pointer to an ID make n NULL, a TypedNull of the same kind or a
// pointer to one is copied, all else is read and refused as [Typed.Scan] does it. On an error n is NULL.
func (n *TypedNull[K]) Scan(src any) error {
	var read TypedNull[K]
	var err error
	switch src := src.(type) {
	case nil:
	case TypedNull[K]:
		if src.Valid { // else an ID may be left over in it
			read = src
		}
	case *TypedNull[K]:
		if src != nil && src.Valid {
			read = *src
		}
	case *Typed[K]:
		read = TypedNullFromPtr(src)
	case *snowflake.ID:
		read = TypedNullFromPtr((*Typed[K])(src))
	default:
		err = read.set(read.ID.Scan(src))
	}
	*n = read
	return err
}

// GormDataType returns "bigint", as [snowflake.ID.GormDataType] does.
func (TypedNull[K]) GormDataType() string { return "bigint" }

// MarshalJSON returns the ID's text in a JSON string, or null. The only error is [ErrKind].
func (n TypedNull[K]) MarshalJSON() ([]byte, error) {
	if !n.Valid {
		return []byte("null"), nil
	}
	b, err := n.ID.AppendText(append(make([]byte, 0, 40), '"'))
	if err != nil {
		return nil, err
	}
	return append(b, '"'), nil
}

// UnmarshalJSON reads null as NULL and all else as [Typed.UnmarshalJSON] does: the empty string is an error. On an error n
// is NULL.
func (n *TypedNull[K]) UnmarshalJSON(data []byte) error {
	*n = TypedNull[K]{}
	if string(data) == "null" {
		return nil
	}
	return n.set(n.ID.UnmarshalJSON(data))
}

// AppendText appends the text of [TypedNull.String] to b, for [encoding.TextAppender]. The only error is [ErrKind].
func (n TypedNull[K]) AppendText(b []byte) ([]byte, error) {
	if !n.Valid {
		return b, nil
	}
	return n.ID.AppendText(b)
}

// MarshalText returns the text of [TypedNull.String], for [encoding.TextMarshaler]. The only error is [ErrKind].
func (n TypedNull[K]) MarshalText() ([]byte, error) {
	if !n.Valid {
		return []byte{}, nil
	}
	return n.ID.MarshalText()
}

// UnmarshalText reads the empty text as NULL and all else as [ParseTyped] does, for [encoding.TextUnmarshaler]. On an
// error n is NULL.
func (n *TypedNull[K]) UnmarshalText(text []byte) error {
	*n = TypedNull[K]{}
	if len(text) == 0 {
		return nil
	}
	return n.set(n.ID.UnmarshalText(text))
}

// UnmarshalParam reads a parameter of a URL or a form as [TypedNull.UnmarshalText] does: an empty one is NULL. The web
// frameworks gin and echo look for this method when they bind a request.
func (n *TypedNull[K]) UnmarshalParam(param string) error {
	*n = TypedNull[K]{}
	if param == "" {
		return nil
	}
	return n.set(n.ID.UnmarshalParam(param))
}

// set makes n valid if there was no error reading into n.ID, which an error leaves 0.
func (n *TypedNull[K]) set(err error) error {
	n.Valid = err == nil
	return err
}
