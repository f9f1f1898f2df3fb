package gormplugin

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"
)

// records gives access to the columns of what a statement creates: a struct, a slice or array of structs or of pointers
// to them, or one of the four kinds of maps that GORM takes.
type records struct {
	plan    *plan
	columns []*column // those of the plan that the statement writes
	ctx     context.Context
	n       int

	value           reflect.Value // a struct, or a slice or array if list is true, or
	list            bool
	maps            []map[string]any
	isMap, manyMaps bool
}

// of sets r to the records of a statement. ok is false if the plugin leaves them alone: they are of a shape that GORM
// rejects or does not know.
func (r *records) of(stmt *gorm.Statement) (ok bool, err error) {
	r.ctx = stmt.Context
	switch dest := stmt.Dest.(type) {
	case map[string]any:
		if dest == nil {
			return false, fmt.Errorf("gormplugin: a nil map cannot take the key of %s: %w", stmt.Schema.Name, gorm.ErrInvalidValue)
		}
		r.maps, r.isMap = []map[string]any{dest}, true
	case *map[string]any:
		if *dest == nil {
			*dest = make(map[string]any, len(r.columns))
		}
		r.maps, r.isMap = []map[string]any{*dest}, true
	case []map[string]any:
		r.maps, r.isMap, r.manyMaps = dest, true, true
	case *[]map[string]any:
		r.maps, r.isMap, r.manyMaps = *dest, true, true
	default:
		return r.ofStructs(stmt)
	}
	r.n = len(r.maps)
	if key := r.plan.key; r.manyMaps && key != nil && key.field.HasDefaultValue {
		// GORM writes the numbers of the database's counter over the keys, and appends maps (callbacks.Create,
		// gorm.Scan).
		return false, fmt.Errorf("gormplugin: GORM treats the key %s of %s as auto-increment and cannot create several maps; "+
			"call DisableAutoIncrement at the start: %w", key.field.Name, stmt.Schema.Name, gorm.ErrInvalidData)
	}
	return r.n > 0, nil
}

func (r *records) ofStructs(stmt *gorm.Statement) (ok bool, err error) {
	var element reflect.Type
	r.value = stmt.ReflectValue
	switch r.value.Kind() {
	case reflect.Struct:
		r.n, element = 1, r.value.Type()
	case reflect.Slice, reflect.Array:
		r.list, r.n = true, r.value.Len()
		element = indirect(r.value.Type().Elem())
	}
	switch {
	case r.n == 0:
		return false, nil
	case element.Kind() != reflect.Struct: // where GORM panics, with the transaction open
		return false, fmt.Errorf("gormplugin: %s is no list of records of %s: %w",
			r.value.Type(), stmt.Schema.Name, gorm.ErrInvalidData)
	}
	for i := range r.n {
		if !r.at(i).IsValid() {
			return false, nil // a nil pointer, for which GORM returns gorm.ErrInvalidData later
		}
	}
	if element == stmt.Schema.ModelType {
		return true, nil
	}
	if !slices.ContainsFunc(r.columns, func(c *column) bool { return c.typeAt(element) != c.field.FieldType }) {
		return true, nil
	}
	for _, c := range r.columns {
		if err := r.checkStrangers(stmt, c, element); err != nil {
			return false, err
		}
	}
	return false, nil
}

// checkStrangers returns an error if the records, which are structs of another type than the model, do not all have an
// ID at the position of the column's field. GORM would store what is there, a title for example, as the key.
func (r *records) checkStrangers(stmt *gorm.Statement, c *column, element reflect.Type) error {
	takes := c.takes(c.typeAt(element))
	for i := range r.n {
		record := r.at(i)
		if takes && holdsID(c.position(record)) {
			continue
		}
		return fmt.Errorf("gormplugin: %s has no %s where the model %s has %s: %w", element,
			c.field.FieldType, stmt.Schema.Name, c.field.Name, gorm.ErrInvalidValue)
	}
	return nil
}

// at returns record i, which is a struct.
func (r *records) at(i int) reflect.Value {
	if !r.list {
		return r.value
	}
	record := r.value.Index(i)
	if record.Kind() == reflect.Pointer {
		record = record.Elem()
	}
	return record
}

// load returns what record i has in a column, the zero value if nothing.
func (r *records) load(i int, c *column) value {
	if r.isMap {
		x, _ := c.loadMap(r.maps[i])
		return x
	}
	return c.load(r.at(i))
}

// lacks reports whether record i has nothing in a column. A map may have something else than an ID, such as an SQL
// expression.
func (r *records) lacks(i int, c *column) bool {
	if r.isMap {
		_, taken := c.loadMap(r.maps[i])
		return !taken
	}
	return c.load(r.at(i)) == value{}
}

// loadAll returns what each record has in each column.
func (r *records) loadAll() []value {
	all := make([]value, 0, r.n*len(r.columns))
	for i := range r.n {
		for _, c := range r.columns {
			all = append(all, r.load(i, c))
		}
	}
	return all
}

// store sets a column of record i; the zero value takes it away.
func (r *records) store(i int, c *column, x value) {
	switch {
	case !r.isMap:
		c.store(r.ctx, r.at(i), x)
	case x == value{}:
		delete(r.maps[i], c.field.DBName)
	default:
		if r.maps[i] == nil {
			r.maps[i] = make(map[string]any, len(r.columns))
		}
		c.storeMap(r.maps[i], x)
	}
}

// settable reports whether columns can be stored, which is impossible in structs that were passed by value.
func (r *records) settable() bool { return r.isMap || r.at(0).CanAddr() }

// lacking counts for each column the records without an ID.
func (r *records) lacking() []int {
	counts := make([]int, len(r.columns))
	for i := range r.n {
		for j, c := range r.columns {
			if r.lacks(i, c) {
				counts[j]++
			}
		}
	}
	return counts
}

// fieldValue returns what record i has in any field.
func (r *records) fieldValue(i int, field *schema.Field) any {
	if r.isMap {
		for name, x := range r.maps[i] {
			if names(field, name) {
				return x
			}
		}
		return nil
	}
	x, _ := field.ValueOf(r.ctx, r.at(i))
	return x
}

// fieldValues returns what each record has in each of the fields.
func (r *records) fieldValues(fields []*schema.Field) []any {
	all := make([]any, 0, r.n*len(fields))
	for i := range r.n {
		for _, field := range fields {
			all = append(all, r.fieldValue(i, field))
		}
	}
	return all
}

// leavesToDatabase reports whether record i lacks one of the fields, so that the database sets the column's default.
func (r *records) leavesToDatabase(i int, fields []*schema.Field) bool {
	return !r.isMap && slices.ContainsFunc(fields, func(field *schema.Field) bool {
		if !field.HasDefaultValue || field.DefaultValueInterface != nil { // GORM sets a constant in the record itself
			return false
		}
		_, zero := field.ValueOf(r.ctx, r.at(i))
		return zero
	})
}
