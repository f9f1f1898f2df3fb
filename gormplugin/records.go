package gormplugin

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/sqlflake/sqlflake/snowflake"
)

// records gives access to the keys of what a statement creates, whatever its shape: a struct, a slice or array of structs
// or of pointers to them, or one of the four kinds of maps that GORM takes.
type records struct {
	plan *plan
	ctx  context.Context
	n    int

	value           reflect.Value // a struct, or a slice or array if list is true, or
	list            bool
	maps            []map[string]any
	isMap, manyMaps bool
}

// of sets r to the records of a statement. ok is false if the plugin has nothing to do with them: shapes that GORM itself
// refuses, or does not know.
func (r *records) of(p *plan, stmt *gorm.Statement) (ok bool, err error) {
	r.plan, r.ctx = p, stmt.Context
	switch dest := stmt.Dest.(type) {
	case map[string]any:
		if dest == nil {
			return false, fmt.Errorf("gormplugin: a nil map cannot take the key of %s: %w", stmt.Schema.Name, gorm.ErrInvalidValue)
		}
		r.maps, r.isMap = []map[string]any{dest}, true
	case *map[string]any:
		if *dest == nil {
			*dest = make(map[string]any, 1)
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
		if element = r.value.Type().Elem(); element.Kind() == reflect.Pointer {
			element = element.Elem()
		}
	}
	switch {
	case r.n == 0, element.Kind() != reflect.Struct:
		return false, nil
	case element == stmt.Schema.ModelType, r.plan.typeAt(element) == r.plan.field.FieldType:
		return true, nil
	default:
		return false, r.refuseStrangers(stmt, element)
	}
}

// refuseStrangers returns an error if GORM would take a zero, or nothing at all, for the key: what a value of another type
// than the model has at the position of the model's key.
func (r *records) refuseStrangers(stmt *gorm.Statement, element reflect.Type) error {
	reachable := r.plan.typeAt(element) != nil
	for i := range r.n {
		record := r.at(i)
		if !record.IsValid() {
			continue
		}
		if reachable {
			if field := r.plan.position(record); field.IsValid() && !field.IsZero() {
				continue
			}
		}
		return fmt.Errorf("gormplugin: %s has no %s where the model %s has its key %s: %w", element,
			r.plan.field.FieldType, stmt.Schema.Name, r.plan.field.Name, gorm.ErrInvalidValue)
	}
	return nil
}

// at returns record i, which is a struct; the zero Value for a nil pointer.
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

// key returns the key of record i, 0 if it has none.
func (r *records) key(i int) snowflake.ID {
	if r.isMap {
		id, _ := loadMapKey(r.plan.field, r.maps[i])
		return id
	}
	return r.plan.load(r.at(i))
}

// store sets the key of record i.
func (r *records) store(i int, id snowflake.ID) {
	if r.isMap {
		if r.maps[i] == nil {
			r.maps[i] = make(map[string]any, 1)
		}
		storeMapKey(r.plan.field, r.maps[i], id)
		return
	}
	r.plan.store(r.ctx, r.at(i), id)
}

// clear takes the key of record i.
func (r *records) clear(i int) {
	if r.isMap {
		delete(r.maps[i], r.plan.field.DBName)
		return
	}
	r.plan.clear(r.at(i))
}

// settable reports whether keys can be stored: not in structs that were passed by value.
func (r *records) settable() bool { return r.isMap || r.at(0).CanAddr() }

// lacking counts the records without a key. A key in a map may be something else than an ID, an SQL expression for one.
// ok is false if there is a nil pointer among the records, for which GORM returns gorm.ErrInvalidData later.
func (r *records) lacking() (count int, ok bool) {
	for _, m := range r.maps {
		if _, taken := loadMapKey(r.plan.field, m); !taken {
			count++
		}
	}
	if r.isMap {
		return count, true
	}
	for i := range r.n {
		record := r.at(i)
		if !record.IsValid() {
			return 0, false
		}
		if r.plan.load(record) == 0 {
			count++
		}
	}
	return count, true
}

// fill gives ids to the records without a key, in order, and notes in given, unless it is nil, which record got which. It
// returns how many IDs are left over, which happens if a pointer is there twice.
func (r *records) fill(ids, given []snowflake.ID) (unused int) {
	for i := 0; i < r.n && len(ids) > 0; i++ {
		if r.isMap {
			if _, taken := loadMapKey(r.plan.field, r.maps[i]); taken {
				continue
			}
			r.store(i, ids[0])
		} else if !r.plan.storeIfLacking(r.ctx, r.at(i), ids[0]) {
			continue
		}
		if given != nil {
			given[i] = ids[0]
		}
		ids = ids[1:]
	}
	return len(ids)
}

// fieldValue returns what record i has in any field.
func (r *records) fieldValue(i int, field *schema.Field) any {
	if r.isMap {
		for name, value := range r.maps[i] {
			if names(field, name) {
				return value
			}
		}
		return nil
	}
	value, _ := field.ValueOf(r.ctx, r.at(i))
	return value
}

// leavesToDatabase reports whether record i lacks one of the fields, so that the database puts the column's default there.
func (r *records) leavesToDatabase(i int, fields []*schema.Field) bool {
	return !r.isMap && slices.ContainsFunc(fields, func(field *schema.Field) bool {
		if !field.HasDefaultValue || field.DefaultValueInterface != nil { // GORM sets a constant in the record itself
			return false
		}
		_, zero := field.ValueOf(r.ctx, r.at(i))
		return zero
	})
}
