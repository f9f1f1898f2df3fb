package model

import (
	"context"
	"reflect"
	"slices"
	"strings"

	"gorm.io/gorm/schema"

	"github.com/sqlflake/sqlflake/snowflake"
)

// Generator is gormplugin.Generator.
type Generator interface {
	Fill(ctx context.Context, dst []snowflake.ID) error
}

// Key is gormplugin.Key.
type Key interface {
	SnowflakeID() snowflake.ID
	SetSnowflakeID(id snowflake.ID)
}

// Column is a field that the plugin fills. It never changes.
type Column struct {
	Field   *schema.Field
	IsKey   bool // the prioritized key of the model
	Gen     Generator
	Batch   int  // a number that the columns of a plan share if they share a generator
	Pointer bool // the field is a pointer to what kind says

	kind kind
	elem reflect.Type // of the field, or of what it points to
	path []int        // that leads to the field; -n-1 for an embedded pointer in field n
}

func newColumn(field *schema.Field, k kind, isKey bool, gen Generator) *Column {
	c := &Column{Field: field, kind: k, IsKey: isKey, Gen: gen, elem: field.FieldType, path: field.StructField.Index}
	if c.elem.Kind() == reflect.Pointer {
		c.Pointer, c.elem = true, c.elem.Elem()
	}
	return c
}

// IsUnique reports whether the model says that no two rows have the same value in the column.
func (c *Column) IsUnique() bool {
	if c.Field.PrimaryKey || c.Field.Unique {
		return true
	}
	_, indexed := c.Field.TagSettings["UNIQUEINDEX"]
	return indexed
}

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
	}
	return notAKey
}

// kindOfAny returns the kind of any type that can hold an ID. A field of such a type is filled if its tag asks for it.
func kindOfAny(t reflect.Type) kind {
	if k := kindOfKey(t); k != notAKey {
		return k
	}

	switch kind := t.Kind(); {
	case kind == reflect.String:
		return text
	case kind == reflect.Pointer, !IsInteger(t), t.Bits() < 64:
		return notAKey
	case kind < reflect.Uint:
		return signed
	}
	return unsigned
}

// kindsIn returns how structs of a type hold the IDs of the columns, nil if each has its field as in the model.
func kindsIn(record reflect.Type, columns []*Column) []kind {
	differs := func(c *Column) bool { return typeAt(c.Field, record) != c.Field.FieldType }
	if !slices.ContainsFunc(columns, differs) {
		return nil
	}

	kinds := make([]kind, len(columns))
	for j, c := range columns {
		kinds[j] = c.kindIn(record)
	}
	return kinds
}

// kindIn returns how a struct of another type than the model holds the ID that GORM stores from the column's position:
// notAKey if it holds none in the column's form. GORM finds fields by their positions in the model.
func (c *Column) kindIn(record reflect.Type) kind {
	t := typeAt(c.Field, record)
	if t == nil {
		return notAKey
	}

	t = indirect(t)
	k := kindOfAny(t)
	bothNumbers := holdsNumbers(t) && IsNumber(c.Field)
	switch {
	case t == c.elem:
		return k
	case (k == text) != (c.kind == text):
		return notAKey
	case k != text && !bothNumbers:
		return notAKey
	}
	return k
}

// typeAt returns the type of the field at the field's position in a struct of type t, nil if there is none. GORM finds
// fields by their positions in the model, even in values of another type, as in db.Model(&User{}).Create(&dto).
func typeAt(field *schema.Field, t reflect.Type) reflect.Type {
	for _, index := range field.StructField.Index {
		at := max(index, -index-1)
		if t.Kind() != reflect.Struct || at >= t.NumField() {
			return nil
		}
		if !t.Field(at).IsExported() {
			return nil
		}

		t = t.Field(at).Type
		if index < 0 {
			if t.Kind() != reflect.Pointer {
				return nil
			}
			t = t.Elem()
		}
	}
	return t
}

// indirect returns the element of a pointer type, and any other type unchanged.
func indirect(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// IsNumber reports whether the field's column holds numbers, and so sorts as its IDs do.
func IsNumber(field *schema.Field) bool {
	isText := isTextType(field.GORMDataType) || isTextType(field.DataType)
	if field.Serializer != nil || isText {
		return false
	}
	if field.GORMDataType == "bigint" { // sqltypes.Null
		return true
	}
	return IsKeyType(field.FieldType) || IsInteger(field.FieldType)
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

// loadIndirect returns what v holds or points to. It is the zero Value within an embedded nil pointer.
func (k kind) loadIndirect(v reflect.Value) Value {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if !v.IsValid() {
		return Value{}
	}
	return k.load(v)
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
	}

	return Value{}
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
