package gormplugin

import (
	"context"
	"database/sql"
	"reflect"

	"gorm.io/gorm/schema"
)

// column is a field that the plugin fills. It never changes.
type column struct {
	field   *schema.Field
	isKey   bool // the prioritized key of the model
	kind    keyKind
	pointer bool         // the field is a pointer to what kind says
	elem    reflect.Type // of the field, or of what it points to
	gen     Generator    // the one that the tag names, or nil

	// path leads to a field in embedded structs none of which is a pointer; nil if one is. It is the common case, and
	// worth its own way.
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

// what names the column in errors.
func (c *column) what() string {
	if c.isKey {
		return "key " + c.field.Name
	}
	return "field " + c.field.Name
}

// position finds the field in a struct, by the position that it has in the model, without making the embedded structs on
// the way. It returns the zero Value if one of these is a nil pointer.
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

// store sets the field of a record, which is an addressable struct. A pointer gets a new variable: rows may share the old
// one.
func (c *column) store(ctx context.Context, record reflect.Value, x value) {
	field := c.position(record)
	if !field.IsValid() {
		field = c.field.ReflectValueOf(ctx, record) // makes the embedded structs on the way
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

// convert returns what a value of a driver stands for in a type that has its own form in the database.
func (c *column) convert(driverValue any) (x value, ok bool) {
	variable := reflect.New(c.elem)
	scanner, ok := reflect.TypeAssert[sql.Scanner](variable)
	if !ok || scanner.Scan(driverValue) != nil {
		return value{}, false
	}
	return c.kind.load(variable.Elem()), true
}

// typeAt returns the type of the field that position would find in a struct of type t, nil if there is none that position
// could return. GORM addresses all values by the positions of the model, also those of another type:
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
