package model

import (
	"database/sql"
	"database/sql/driver"
	"reflect"

	"gorm.io/gorm/schema"

	"github.com/sqlflake/sqlflake/snowflake"
)

// loadMap returns what a map has in the column, under the name of the column or of the field, as GORM resolves them.
// taken is true if there is a value other than nil, 0 and the empty string; x is zero if that value is no ID.
func (c *Column) loadMap(m map[string]any) (x Value, taken bool) {
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

// fromMap reports whether an entry of a map is taken: whether the database would see something else than NULL, 0 or an
// empty string.
func (c *Column) fromMap(entry any) (x Value, taken bool) {
	rv := reflect.ValueOf(entry)
	if c.kind == custom && rv.IsValid() && rv.Type() == c.elem {
		x = c.kind.load(rv)
		return x, x != Value{}
	}
	if valuer, ok := entry.(driver.Valuer); ok {
		if rv.Kind() == reflect.Pointer && rv.IsNil() {
			return x, false
		}
		inner, err := valuer.Value() // of any type that the driver takes
		if _, again := inner.(driver.Valuer); again || err != nil {
			return x, true
		}
		entry, rv = inner, reflect.ValueOf(inner)
	}
	value, err := driver.DefaultParameterConverter.ConvertValue(entry)
	switch v := value.(type) {
	case nil:
		if err != nil && rv.CanUint() { // above the numbers of database/sql
			x.ID = snowflake.ID(rv.Uint())
		}
		return x, err != nil // the driver returns the error
	case int64:
		return Value{ID: snowflake.ID(v)}, v != 0
	case float64: // as encoding/json reads numbers
		return Value{ID: snowflake.ID(v)}, v != 0
	case string: // of a json.Number among others
		return c.fromText(v)
	}
	return Value{}, true
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
