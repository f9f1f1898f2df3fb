package gormplugin

import (
	"reflect"

	"github.com/sqlflake/sqlflake/snowflake"
)

// Key is implemented by pointers to key types other than [snowflake.ID]. The plugin fills such types as well: for
// example a type for each model that wraps an ID. For GORM the type also needs Scan, Value and a GormDataType that
// returns "bigint"; a struct that embeds a snowflake.ID has all three. GORM takes the size of a column from the kind of
// its field, so a struct and an array such as publicid.ID need `size:64` beside `type:int`; without it Create fails.
type Key interface {
	// SnowflakeID returns the ID, 0 if there is none yet.
	SnowflakeID() snowflake.ID
	// SetSnowflakeID replaces the ID.
	SetSnowflakeID(id snowflake.ID)
}

// keyKind says how a field, or what it points to, holds an ID.
type keyKind uint8

const (
	notAKey  keyKind = iota
	signed           // snowflake.ID, int64
	unsigned         // uint64
	text             // a string of decimal digits
	custom           // T, where *T is a Key
)

var (
	idType  = reflect.TypeFor[snowflake.ID]()
	keyType = reflect.TypeFor[Key]()
)

// kindOfKey returns the kind of a type that is made for IDs, notAKey for other types.
func kindOfKey(t reflect.Type) keyKind {
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
func kindOfAny(t reflect.Type) keyKind {
	if kind := kindOfKey(t); kind != notAKey {
		return kind
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

// indirect returns the type that a pointer type points to, and other types as they are.
func indirect(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// value is what a field holds: an ID, or a text that is no ID. The zero value means that there is no ID yet.
type value struct {
	id   snowflake.ID
	text string
}

func textValue(s string) value {
	if id, err := snowflake.Parse(s); err == nil && id != 0 {
		return value{id: id}
	}
	return value{text: s}
}

// load returns what v, which is no pointer, holds.
func (k keyKind) load(v reflect.Value) value {
	switch k {
	case signed:
		return value{id: snowflake.ID(v.Int())}
	case unsigned:
		return value{id: snowflake.ID(v.Uint())}
	case text:
		return textValue(v.String())
	case custom:
		if !v.CanAddr() {
			addressable := reflect.New(v.Type()).Elem()
			addressable.Set(v)
			v = addressable
		}
		return value{id: v.Addr().Interface().(Key).SnowflakeID()}
	default:
		return value{}
	}
}

// store sets v, which is settable and no pointer.
func (k keyKind) store(v reflect.Value, x value) {
	switch k {
	case signed:
		v.SetInt(int64(x.id))
	case unsigned:
		v.SetUint(uint64(x.id))
	case text:
		if x.id != 0 {
			x.text = x.id.String()
		}
		v.SetString(x.text)
	case custom:
		v.Addr().Interface().(Key).SetSnowflakeID(x.id)
	}
}
