package gormplugin

import (
	"context"
	"database/sql"
	"reflect"
	"strings"

	"gorm.io/gorm/schema"
)

// column is a field that the plugin fills. It never changes.
type column struct {
	field   *schema.Field
	isKey   bool // the prioritized key of the model
	kind    keyKind
	pointer bool         // the field is a pointer to what kind says
	elem    reflect.Type // of the field, or of what it points to
	gen     Generator    // the one that the tag names, nil for the default one

	// path leads to the field if none of the embedded structs around it is a pointer; nil if one is. This is the common
	// case, and faster.
	path []int
}

func newColumn(field *schema.Field, kind keyKind, isKey bool) *column {
	c := &column{field: field, kind: kind, isKey: isKey, elem: field.FieldType}
	if c.elem.Kind() == reflect.Pointer {
		c.pointer, c.elem = true, c.elem.Elem()
	}
	for _, index := range field.StructField.Index {
		if index < 0 { // GORM's mark for an embedded pointer
			return c
		}
	}
	c.path = field.StructField.Index
	return c
}

// position finds the field in a struct by its position in the model. It makes no embedded struct: it returns the zero
// Value if one is a nil pointer.
func (c *column) position(record reflect.Value) reflect.Value {
	if c.path != nil {
		for _, index := range c.path {
			record = record.Field(index)
		}
		return record
	}
	for _, index := range c.field.StructField.Index {
		if index >= 0 {
			record = record.Field(index)
			continue
		}
		if record = record.Field(-index - 1); record.IsNil() {
			return reflect.Value{}
		}
		record = record.Elem()
	}
	return record
}

// load returns what a record, which is a struct, has in the field.
func (c *column) load(record reflect.Value) value {
	field := c.position(record)
	if !field.IsValid() {
		return value{}
	}
	return c.loadField(field)
}

func (c *column) loadField(field reflect.Value) value {
	if c.pointer {
		if field.IsNil() {
			return value{}
		}
		field = field.Elem()
	}
	return c.kind.load(field)
}

// store sets the field of a record, which is an addressable struct. A pointer gets a new variable, since several
// records may share the old one.
func (c *column) store(ctx context.Context, record reflect.Value, x value) {
	field := c.position(record)
	if !field.IsValid() {
		field = c.field.ReflectValueOf(ctx, record) // makes the embedded structs
	}
	switch {
	case !c.pointer:
		c.kind.store(field, x)
	case x == value{}:
		field.SetZero()
	default:
		variable := reflect.New(c.elem)
		c.kind.store(variable.Elem(), x)
		field.Set(variable)
	}
}

// goValue returns what a struct of the model holds for a value, without the pointer.
func (c *column) goValue(x value) any {
	if c.elem == idType {
		return x.id
	}
	variable := reflect.New(c.elem).Elem()
	c.kind.store(variable, x)
	return variable.Interface()
}

// scanTarget returns what database/sql can scan the column into, NULL included; fromTarget reads it.
func (c *column) scanTarget() any { return reflect.New(reflect.PointerTo(c.elem)).Interface() }

func (c *column) fromTarget(target any) value {
	scanned := reflect.ValueOf(target).Elem()
	if scanned.IsNil() {
		return value{}
	}
	return c.kind.load(scanned.Elem())
}

// convert returns the value that a value of a driver stands for, in a type with a form of its own in the database.
func (c *column) convert(driverValue any) (x value, ok bool) {
	variable := reflect.New(c.elem)
	scanner, ok := reflect.TypeAssert[sql.Scanner](variable)
	if !ok || scanner.Scan(driverValue) != nil {
		return value{}, false
	}
	return c.kind.load(variable.Elem()), true
}

// typeAt returns the type of the field that position would find in a struct of type t, nil if it would find none. GORM
// addresses the fields of all values by their positions in the model, also in values of another type, as in
// db.Model(&User{}).Create(&dto).
func (c *column) typeAt(t reflect.Type) reflect.Type {
	for _, index := range c.field.StructField.Index {
		pointer := index < 0
		if pointer {
			index = -index - 1
		}
		if t.Kind() != reflect.Struct || index >= t.NumField() {
			return nil
		}
		structField := t.Field(index)
		if !structField.IsExported() {
			return nil
		}
		t = structField.Type
		if pointer {
			if t.Kind() != reflect.Pointer {
				return nil
			}
			t = t.Elem()
		}
	}
	return t
}

// takes reports whether GORM stores the ID that a field of type t has in the column's place, nil for none.
func (c *column) takes(t reflect.Type) bool {
	if t == nil {
		return false
	}
	t = indirect(t)
	kind := kindOfAny(t)
	switch {
	case t == c.elem:
		return true
	case c.kind == text || kind == text:
		return c.kind == kind
	}
	return kind != notAKey && holdsNumbers(t) && isNumber(c.field)
}

// holdsID reports whether a field that a column takes has an ID; it is the zero Value within an embedded nil pointer.
func holdsID(field reflect.Value) bool {
	if field.Kind() == reflect.Pointer {
		field = field.Elem()
	}
	return field.IsValid() && kindOfAny(field.Type()).load(field) != value{}
}

// isNumber reports whether the field's column holds numbers, and so sorts as its IDs do.
func isNumber(field *schema.Field) bool {
	if field.Serializer != nil || isTextType(field.GORMDataType) || isTextType(field.DataType) {
		return false
	}
	return isKeyType(field.FieldType) || isInteger(field.FieldType) || field.GORMDataType == "bigint" // sqltypes.Null
}

// holdsNumbers reports whether the type t, or what it points to, gives the database numbers. The fields of a foreign
// key do not tell: GORM copies the database's type from the key to which they refer.
func holdsNumbers(t reflect.Type) bool {
	t = indirect(t)
	if typed, ok := reflect.TypeAssert[schema.GormDataTypeInterface](reflect.New(t)); ok {
		return !isTextType(schema.DataType(typed.GormDataType()))
	}
	return isInteger(t) || isKeyType(t)
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

// isKeyType reports whether t, or what it points to, is made for IDs.
func isKeyType(t reflect.Type) bool { return kindOfKey(indirect(t)) != notAKey }

// isInteger reports whether t is an integer or a pointer to one.
func isInteger(t reflect.Type) bool {
	kind := indirect(t).Kind()
	return reflect.Int <= kind && kind <= reflect.Uint64
}
