package gormplugin

import (
	"database/sql/driver"
	"reflect"

	"gorm.io/gorm/schema"

	"github.com/sqlflake/sqlflake/snowflake"
)

// loadMapKey returns the key in a map, under any name that GORM resolves to the field: the column, the field of the
// struct. taken is true if there is a value other than nil and 0; one that is no integer has the ID 0.
func loadMapKey(field *schema.Field, m map[string]any) (id snowflake.ID, taken bool) {
	for name, value := range m {
		if !names(field, name) {
			continue
		}
		if id, taken := keyInMap(value); taken {
			return id, true
		}
	}
	return 0, false
}

// storeMapKey puts the key into a map, under the column's name as GORM does with keys from the database. Other spellings
// go, since each would be a column of the statement.
func storeMapKey(field *schema.Field, m map[string]any, id snowflake.ID) {
	for name := range m {
		if name != field.DBName && names(field, name) {
			delete(m, name)
		}
	}
	m[field.DBName] = id
}

func names(field *schema.Field, name string) bool {
	if name == field.DBName {
		return true
	}
	found := field.Schema.LookUpField(name)
	return found != nil && found.DBName == field.DBName
}

// keyInMap reports whether a value stands for a key: anything that the database would not see as NULL or 0.
func keyInMap(value any) (id snowflake.ID, taken bool) {
	for {
		switch v := value.(type) {
		case nil:
			return 0, false
		case snowflake.ID:
			return v, v != 0
		case driver.Valuer:
			if rv := reflect.ValueOf(v); rv.Kind() == reflect.Pointer && rv.IsNil() {
				return 0, false
			}
			inner, err := v.Value()
			if err != nil {
				return 0, true // the driver will say so
			}
			if _, again := inner.(driver.Valuer); again {
				return 0, true
			}
			value = inner
			continue
		}
		switch rv := reflect.ValueOf(value); rv.Kind() {
		case reflect.Pointer:
			if rv.IsNil() {
				return 0, false
			}
			value = rv.Elem().Interface()
		case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
			return snowflake.ID(rv.Int()), rv.Int() != 0
		case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
			return snowflake.ID(rv.Uint()), rv.Uint() != 0
		case reflect.Float32, reflect.Float64: // as encoding/json reads numbers
			return snowflake.ID(rv.Float()), rv.Float() != 0
		case reflect.String: // json.Number among others
			if rv.String() == "0" {
				return 0, false
			}
			parsed, _ := snowflake.Parse(rv.String())
			return parsed, true
		default:
			return 0, true
		}
	}
}
