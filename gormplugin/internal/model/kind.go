package model

import (
	"reflect"
	"strings"

	"gorm.io/gorm/schema"

	"github.com/sqlflake/sqlflake/snowflake"
)

// kind says how a field, or what it points to, holds an ID.
type kind uint8

const (
	notAKey  kind = iota
	signed        // snowflake.ID, int64
	unsigned      // uint64
	text          // a string of decimal digits
	custom        // T, where *T is a Key
)

var (
	idType  = reflect.TypeFor[snowflake.ID]()
	keyType = reflect.TypeFor[Key]()
)

// kindOfKey returns the kind of a type that is made for IDs, notAKey for other types.
func kindOfKey(t reflect.Type) kind {
	switch {
	case t == idType:
		return signed
	case reflect.PointerTo(t).Implements(keyType):
		return custom
	default:
		return notAKey
	}
}

// kindOfAny returns the kind of any type that can hold an ID. A field of such a type is filled if its tag asks for it.
func kindOfAny(t reflect.Type) kind {
	if k := kindOfKey(t); k != notAKey {
		return k
	}
	switch t.Kind() {
	case reflect.Int, reflect.Int64:
		if t.Bits() == 64 {
			return signed
		}
	case reflect.Uint, reflect.Uint64:
		if t.Bits() == 64 {
			return unsigned
		}
	case reflect.String:
		return text
	}
	return notAKey
}

// Value is what a field holds: an ID, or a text that is no ID. The zero value means that there is no ID yet.
type Value struct {
	ID   snowflake.ID
	Text string
}

func textValue(s string) Value {
	if id, err := snowflake.Parse(s); err == nil && id != 0 {
		return Value{ID: id}
	}
	return Value{Text: s}
}

// load returns what v, which is no pointer, holds.
func (k kind) load(v reflect.Value) Value {
	switch k {
	case signed:
		return Value{ID: snowflake.ID(v.Int())}
	case unsigned:
		return Value{ID: snowflake.ID(v.Uint())}
	case text:
		return textValue(v.String())
	case custom:
		if !v.CanAddr() {
			addressable := reflect.New(v.Type()).Elem()
			addressable.Set(v)
			v = addressable
		}
		return Value{ID: v.Addr().Interface().(Key).SnowflakeID()}
	default:
		return Value{}
	}
}

// store sets v, which is settable and no pointer.
func (k kind) store(v reflect.Value, x Value) {
	switch k {
	case signed:
		v.SetInt(int64(x.ID))
	case unsigned:
		v.SetUint(uint64(x.ID))
	case text:
		if x.ID != 0 {
			x.Text = x.ID.String()
		}
		v.SetString(x.Text)
	case custom:
		v.Addr().Interface().(Key).SetSnowflakeID(x.ID)
	}
}

// indirect returns the type that a pointer type points to, and other types as they are.
func indirect(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// IsNumber reports whether the field's column holds numbers, and so sorts as its IDs do.
func IsNumber(field *schema.Field) bool {
	if field.Serializer != nil || isTextType(field.GORMDataType) || isTextType(field.DataType) {
		return false
	}
	return IsKeyType(field.FieldType) || IsInteger(field.FieldType) || field.GORMDataType == "bigint" // sqltypes.Null
}

// holdsNumbers reports whether the type t, or what it points to, gives the database numbers. The field of a foreign key
// cannot tell: GORM copies the database type of the key that it refers to.
func holdsNumbers(t reflect.Type) bool {
	t = indirect(t)
	if typed, ok := reflect.TypeAssert[schema.GormDataTypeInterface](reflect.New(t)); ok {
		return !isTextType(schema.DataType(typed.GormDataType()))
	}
	return IsInteger(t) || IsKeyType(t)
}

// isTextType reports whether a column of the type sorts by its characters or bytes.
func isTextType(dataType schema.DataType) bool {
	name := strings.ToLower(string(dataType))
	for _, word := range [...]string{"char", "text", "clob", "string", "byte", "binary", "blob", "uuid"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

// IsKeyType reports whether t, or what it points to, is made for IDs.
func IsKeyType(t reflect.Type) bool { return kindOfKey(indirect(t)) != notAKey }

// IsInteger reports whether t is an integer or a pointer to one.
func IsInteger(t reflect.Type) bool {
	k := indirect(t).Kind()
	return reflect.Int <= k && k <= reflect.Uint64
}
