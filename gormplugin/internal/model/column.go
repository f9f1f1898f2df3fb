package model

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"reflect"

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

// Value is what a field holds: an ID, or a text that is no ID. The zero value means that there is no ID yet.
type Value struct {
	ID   snowflake.ID
	Text string
}

// load returns what a record, which is a struct, has in the field.
func (c *Column) load(record reflect.Value) Value { return c.kind.loadIndirect(c.Position(record)) }

// store sets the field of a record, which is an addressable struct. A pointer gets a new variable, since several
// records may share the old one.
func (c *Column) store(ctx context.Context, record reflect.Value, x Value) {
	field := c.Position(record)
	if !field.IsValid() {
		field = c.Field.ReflectValueOf(ctx, record) // makes the embedded structs
	}

	switch {
	case !c.Pointer:
		c.kind.store(field, x)
	case x == Value{}:
		field.SetZero()
	default:
		variable := reflect.New(c.elem)
		c.kind.store(variable.Elem(), x)
		field.Set(variable)
	}
}

// Position finds the field in a struct by its position in the model. It makes no embedded struct: it returns the zero
// Value if one is a nil pointer.
func (c *Column) Position(record reflect.Value) reflect.Value {
	for _, index := range c.path {
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

// loadMap returns what a map has in the column, under the name of the column or else of the field, as GORM resolves
// them. taken is true if there is a value other than nil, 0 and the empty string; x is zero if that value is no ID.
func (c *Column) loadMap(m map[string]any) (x Value, taken bool) {
	if x, taken := c.fromMap(m[c.Field.DBName]); taken {
		return x, true
	}

	for name, entry := range m {
		if names(c.Field, name) {
			if x, taken := c.fromMap(entry); taken {
				return x, true
			}
		}
	}
	return Value{}, false
}

// storeMap puts an ID into a map, under the column's name as GORM does with keys from the database, and in the type
// that a struct of the model has. It deletes other spellings, since each would be a column of the statement.
func (c *Column) storeMap(m map[string]any, x Value) {
	for name := range m {
		if name != c.Field.DBName && names(c.Field, name) {
			delete(m, name)
		}
	}

	m[c.Field.DBName] = c.GoValue(x)
}

func names(field *schema.Field, name string) bool {
	if name == field.DBName {
		return true
	}
	found := field.Schema.LookUpField(name)
	return found != nil && found.DBName == field.DBName
}

// fromMap returns the value of an entry of a map. taken is true if the database would see something other than NULL, 0
// and the empty string; x is zero if that is no ID.
func (c *Column) fromMap(entry any) (x Value, taken bool) {
	if c.kind == custom && reflect.TypeOf(entry) == c.elem {
		x = c.kind.load(reflect.ValueOf(entry))
		return x, x != Value{}
	}

	inner, ok := unwrapValuer(entry)
	if !ok {
		return Value{}, true // database/sql returns the error
	}

	value, err := driver.DefaultParameterConverter.ConvertValue(inner)
	if err != nil {
		if rv := reflect.ValueOf(inner); rv.CanUint() { // above math.MaxInt64, which database/sql rejects
			x.ID = snowflake.ID(rv.Uint())
		}
		return x, true
	}

	switch v := value.(type) {
	case nil:
		return Value{}, false
	case int64:
		return Value{ID: snowflake.ID(v)}, v != 0
	case float64: // as encoding/json reads numbers
		return Value{ID: snowflake.ID(v)}, v != 0
	case string: // of a json.Number among others
		return c.fromText(v)
	}
	return Value{}, true
}

// unwrapValuer returns what a driver.Valuer gives the driver, and any other value as it is. It returns false if
// database/sql would reject the Valuer.
func unwrapValuer(entry any) (inner any, ok bool) {
	valuer, isValuer := entry.(driver.Valuer)
	if !isValuer {
		return entry, true
	}
	if rv := reflect.ValueOf(entry); rv.Kind() == reflect.Pointer && rv.IsNil() {
		return nil, true // NULL
	}

	inner, err := valuer.Value()
	_, isNested := inner.(driver.Valuer)
	return inner, err == nil && !isNested
}

func (c *Column) fromText(s string) (x Value, taken bool) {
	switch {
	case c.kind == text:
		return textValue(s), s != ""
	case s == "0":
		return Value{}, false
	case c.kind == custom:
		// The type may have another form in the database.
		variable := reflect.New(c.elem)
		if scanner, ok := reflect.TypeAssert[sql.Scanner](variable); ok && scanner.Scan(s) == nil {
			return c.kind.load(variable.Elem()), true
		}
	}

	id, _ := snowflake.Parse(s)
	return Value{ID: id}, true
}

func textValue(s string) Value {
	if id, err := snowflake.Parse(s); err == nil && id != 0 {
		return Value{ID: id}
	}
	return Value{Text: s}
}

// GoValue returns what a struct of the model holds for a value, without the pointer.
func (c *Column) GoValue(x Value) any {
	if c.elem == idType {
		return x.ID
	}
	variable := reflect.New(c.elem).Elem()
	c.kind.store(variable, x)
	return variable.Interface()
}

// FromTarget returns what was scanned into a value of the field's NewValuePool.
func (c *Column) FromTarget(target any) Value {
	return c.kind.loadIndirect(reflect.ValueOf(target).Elem())
}
