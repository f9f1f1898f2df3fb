package sqltypes

import (
	"database/sql/driver"
	"encoding/binary"
	"net/url"

	"github.com/sqlflake/sqlflake/snowflake"
)

// Null is an ID that may be NULL. The zero value is NULL. NULL and the ID 0 are different values, although no generator
// issues 0.
//
// NULL is null in JSON, and the empty text in other text formats and in parameters. An ID is written as [snowflake.ID]
// writes it, "123" in a JSON string. The JSON option omitzero omits a NULL.
//
// All functions and methods here set ID to 0 where Valid is false, so Nulls may be compared with ==.
type Null struct {
	ID    snowflake.ID // 0 if Valid is false
	Valid bool         // false means NULL
}

// NullFrom returns a Null that holds id, even if it is 0.
func NullFrom(id snowflake.ID) Null {
	return Null{ID: id, Valid: true}
}

// IsZero reports whether n is NULL, for the JSON option omitzero. The ID 0 is not NULL.
func (n Null) IsZero() bool { return !n.Valid }

// String returns the ID in decimal digits, or the empty string for NULL.
func (n Null) String() string {
	if !n.Valid {
		return ""
	}
	return n.ID.String()
}

// Value returns the ID as an int64, or nil for NULL. The error is always nil.
func (n Null) Value() (driver.Value, error) {
	if !n.Valid {
		return nil, nil // NULL
	}
	return n.ID.Value()
}

// Scan reads a column, for [sql.Scanner]. NULL and a nil *snowflake.ID make n NULL. A Null or *Null, which bulk
// builders pass, is copied. Everything else is read or rejected as [snowflake.ID.Scan] does it. On an error n is NULL.
func (n *Null) Scan(src any) error {
	var read Null
	var err error
	switch src := src.(type) {
	case nil:
	case Null:
		if src.Valid { // a NULL may hold an ID that the caller has set
			read = src
		}
	case *Null:
		if src != nil && src.Valid {
			read = *src
		}
	case *snowflake.ID:
		if src != nil {
			read = NullFrom(*src)
		}
	default:
		err = read.set(read.ID.Scan(src))
	}

	*n = read
	return err
}

// GormDataType returns "bigint", as [snowflake.ID.GormDataType] does.
func (Null) GormDataType() string { return "bigint" }

// JSONSchemaAlias returns "", as [snowflake.ID.JSONSchemaAlias] does.
func (Null) JSONSchemaAlias() any { return "" }

// MarshalJSON returns the ID in a JSON string, or null. The error is always nil.
func (n Null) MarshalJSON() ([]byte, error) {
	if !n.Valid {
		return []byte("null"), nil
	}
	b := append(make([]byte, 0, 24), '"')
	b, _ = n.ID.AppendText(b)
	return append(b, '"'), nil
}

// UnmarshalJSON reads null as NULL and everything else as [snowflake.ID.UnmarshalJSON] does: the empty string is an
// error. On an error n is NULL.
func (n *Null) UnmarshalJSON(data []byte) error {
	*n = Null{}
	if string(data) == "null" {
		return nil
	}
	return n.set(n.ID.UnmarshalJSON(data))
}

// MarshalText returns the text of [Null.String]. The error is always nil.
func (n Null) MarshalText() ([]byte, error) {
	if !n.Valid {
		return []byte{}, nil
	}
	return n.ID.MarshalText()
}

// UnmarshalText reads the empty text as NULL and everything else as [snowflake.Parse] does. On an error n is NULL.
func (n *Null) UnmarshalText(text []byte) error {
	*n = Null{}
	if len(text) == 0 {
		return nil
	}
	return n.set(n.ID.UnmarshalText(text))
}

// UnmarshalParam reads a parameter of a URL or form as [Null.UnmarshalText] does: gin and echo call it when they bind a
// request. For an optional parameter that is left blank, forms send the empty text.
func (n *Null) UnmarshalParam(param string) error { return n.UnmarshalText([]byte(param)) }

// EncodeValues adds the text of [Null.String], which [Null.UnmarshalParam] reads: github.com/google/go-querystring
// calls it. The error is always nil.
func (n Null) EncodeValues(key string, values *url.Values) error {
	values.Add(key, n.String())
	return nil
}

// The types of the BSON values of a Null: https://bsonspec.org/spec.html.
const (
	bsonNull  = 0x0A
	bsonInt64 = 0x12
)

// MarshalBSONValue returns a 64-bit integer or null: version 2 of MongoDB's driver calls it. The error is always nil.
func (n Null) MarshalBSONValue() (typ byte, data []byte, err error) {
	if !n.Valid {
		return bsonNull, nil, nil
	}
	return bsonInt64, binary.LittleEndian.AppendUint64(nil, uint64(n.ID)), nil
}

// UnmarshalBSONValue reads null as NULL and everything else as [snowflake.ID.UnmarshalBSONValue] does. On an error n is
// NULL.
func (n *Null) UnmarshalBSONValue(typ byte, data []byte) error {
	*n = Null{}
	if typ == bsonNull {
		return nil
	}
	return n.set(n.ID.UnmarshalBSONValue(typ, data))
}

// set makes n valid unless there was an error, after which n.ID is 0.
func (n *Null) set(err error) error {
	n.Valid = err == nil
	return err
}
