package model

import (
	"database/sql/driver"
	"reflect"

	"gorm.io/gorm/schema"

	"github.com/sqlflake/sqlflake/snowflake"
)

// loadMap returns what a map has in the column, under the name of the column or of the field, as GORM resolves them.
// taken is true if there is a value other than nil, 0 and the empty string; x is zero if that value is no ID.
func (c *Column) loadMap(m map[string]any) (x Value, taken bool) {
	for name, entry := range m {
		if !names(c.Field, name) {
			continue
		}
		if x, taken := c.fromMap(entry); taken {
			return x, true
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

// fromMap reports whether an entry of a map is taken: whether the database would see something else than NULL, 0 or an
// empty string.
func (c *Column) fromMap(entry any) (x Value, taken bool) {
	for {
		switch v := entry.(type) {
		case nil:
			return Value{}, false
		case driver.Valuer:
			rv := reflect.ValueOf(v)
			if rv.Kind() == reflect.Pointer && rv.IsNil() {
				return Value{}, false
			}
			if c.kind == custom && rv.Type() == c.elem {
				x := c.kind.load(rv)
				return x, x != Value{}
			}
			inner, err := v.Value()
			if err != nil {
				return Value{}, true // the driver returns the error
			}
			if _, again := inner.(driver.Valuer); again {
				return Value{}, true
			}
			entry = inner
			continue
		}
		rv := reflect.ValueOf(entry)
		if rv.Kind() != reflect.Pointer {
			return c.fromPlain(rv)
		}
		if rv.IsNil() {
			return Value{}, false
		}
		entry = rv.Elem().Interface()
	}
}

func (c *Column) fromPlain(rv reflect.Value) (x Value, taken bool) {
	switch rv.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return Value{ID: snowflake.ID(rv.Int())}, rv.Int() != 0
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return Value{ID: snowflake.ID(rv.Uint())}, rv.Uint() != 0
	case reflect.Float32, reflect.Float64: // as encoding/json reads numbers
		return Value{ID: snowflake.ID(rv.Float())}, rv.Float() != 0
	case reflect.String: // json.Number among others
		if c.kind == text {
			return textValue(rv.String()), rv.String() != ""
		}
		if rv.String() == "0" {
			return Value{}, false
		}
		if c.kind == custom {
			if x, ok := c.convert(rv.String()); ok {
				return x, true
			}
		}
		id, _ := snowflake.Parse(rv.String())
		return Value{ID: id}, true
	default:
		return Value{}, true
	}
}
