package gormplugin

import (
	"reflect"

	"github.com/sqlflake/sqlflake/snowflake"
)

// Key is implemented by pointers to key types other than [snowflake.ID], so that the plugin fills them as well: a type
// of its own for each model, say, that embeds or wraps an ID. For GORM such a type also needs Scan, Value and a
// GormDataType that returns "bigint"; a struct that embeds a snowflake.ID has all three. GORM takes the size of a column
// from the kind of its field, so a struct needs `size:64` beside `type:int`.
type Key interface {
	// SnowflakeID returns the ID, 0 if there is none yet.
	SnowflakeID() snowflake.ID
	// SetSnowflakeID replaces the ID.
	SetSnowflakeID(id snowflake.ID)
}

// keyKind says how a field holds an ID.
type keyKind uint8

const (
	notAKey       keyKind = iota
	idValue               // snowflake.ID
	idPointer             // *snowflake.ID
	customValue           // T, where *T is a Key
	customPointer         // *T, where *T is a Key
)

var (
	idType  = reflect.TypeFor[snowflake.ID]()
	keyType = reflect.TypeFor[Key]()
)

func kindOf(t reflect.Type) keyKind {
	switch {
	case t == idType:
		return idValue
	case t == reflect.PointerTo(idType):
		return idPointer
	case reflect.PointerTo(t).Implements(keyType):
		return customValue
	case t.Kind() == reflect.Pointer && t.Implements(keyType):
		return customPointer
	default:
		return notAKey
	}
}

// load returns the ID in field, 0 for a nil pointer.
func (k keyKind) load(field reflect.Value) snowflake.ID {
	switch k {
	case idValue:
		return snowflake.ID(field.Int())
	case idPointer:
		if !field.IsNil() {
			return snowflake.ID(field.Elem().Int())
		}
	case customValue:
		if !field.CanAddr() {
			addressable := reflect.New(field.Type()).Elem()
			addressable.Set(field)
			field = addressable
		}
		return field.Addr().Interface().(Key).SnowflakeID()
	case customPointer:
		if !field.IsNil() {
			return field.Interface().(Key).SnowflakeID()
		}
	}
	return 0
}

// store sets field, which must be settable. A pointer gets a new variable: rows may share the old one.
func (k keyKind) store(field reflect.Value, id snowflake.ID) {
	switch k {
	case idValue:
		field.SetInt(int64(id))
	case idPointer:
		own := id // escapes, where id must not
		field.Set(reflect.ValueOf(&own))
	case customValue:
		field.Addr().Interface().(Key).SetSnowflakeID(id)
	case customPointer:
		key := reflect.New(field.Type().Elem())
		key.Interface().(Key).SetSnowflakeID(id)
		field.Set(key)
	}
}

// clear sets field, which must be settable, back to having no ID.
func (k keyKind) clear(field reflect.Value) {
	field.SetZero()
}
