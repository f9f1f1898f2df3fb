package model

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/sqlflake/sqlflake/snowflake"
)

// Records gives access to the columns of what a statement creates: a struct, a slice or array of structs or of pointers
// to them, or one of the four kinds of maps that GORM takes.
type Records struct {
	Columns []*Column // of the plan, those that the statement writes
	N       int
	List    bool // a slice or array of structs
	Maps    bool
	Many    bool // a slice of maps

	ctx   context.Context
	plan  *Plan
	value reflect.Value    // a struct, or a slice or array if List is true, or
	maps  []map[string]any // if Maps is true
}

// RecordsOf returns the records of a statement, nil if the plugin leaves them alone: they are of a shape that GORM
// rejects or does not know.
func (p *Plan) RecordsOf(stmt *gorm.Statement, columns []*Column) (*Records, error) {
	r := &Records{plan: p, Columns: columns, ctx: stmt.Context}
	switch dest := stmt.Dest.(type) {
	case map[string]any:
		if dest == nil {
			return nil, fmt.Errorf("gormplugin: a nil map cannot take the key of %s: %w", stmt.Schema.Name, gorm.ErrInvalidValue)
		}
		r.maps = []map[string]any{dest}
	case *map[string]any:
		if *dest == nil {
			*dest = make(map[string]any, len(columns))
		}
		r.maps = []map[string]any{*dest}
	case []map[string]any:
		r.maps, r.Many = dest, true
	case *[]map[string]any:
		r.maps, r.Many = *dest, true
	default:
		return r.ofStructs(stmt)
	}
	r.N, r.Maps = len(r.maps), true
	switch key := p.Key; {
	case r.Many && key != nil && key.Field.HasDefaultValue:
		// GORM would overwrite the keys with numbers of the database's counter, and append maps (callbacks.Create,
		// gorm.Scan).
		return nil, fmt.Errorf("gormplugin: GORM treats the key %s of %s as auto-increment and cannot create several maps; "+
			"call DisableAutoIncrement at the start: %w", key.Field.Name, stmt.Schema.Name, gorm.ErrInvalidData)
	case r.N == 0:
		return nil, nil
	}
	return r, nil
}

func (r *Records) ofStructs(stmt *gorm.Statement) (*Records, error) {
	var element reflect.Type
	r.value = stmt.ReflectValue
	switch r.value.Kind() {
	case reflect.Struct:
		r.N, element = 1, r.value.Type()
	case reflect.Slice, reflect.Array:
		r.List, r.N = true, r.value.Len()
		element = indirect(r.value.Type().Elem())
	}
	switch {
	case r.N == 0:
		return nil, nil
	case element.Kind() != reflect.Struct: // where GORM panics, with the transaction open
		return nil, fmt.Errorf("gormplugin: %s is not a slice of records of %s: %w",
			r.value.Type(), stmt.Schema.Name, gorm.ErrInvalidData)
	}
	for i := range r.N {
		if !r.At(i).IsValid() {
			return nil, nil // a nil pointer, for which GORM returns gorm.ErrInvalidData later
		}
	}
	if element == stmt.Schema.ModelType {
		return r, nil
	}
	same := true
	for _, c := range r.Columns {
		same = same && typeAt(c.Field, element) == c.Field.FieldType
	}
	if same {
		return r, nil
	}
	return nil, r.checkStrangers(stmt, element)
}

// checkStrangers returns an error if the records, which are structs of another type than the model, do not all have an
// ID at the positions of the columns' fields. GORM would store whatever is at that position, a title for example, as
// the key.
func (r *Records) checkStrangers(stmt *gorm.Statement, element reflect.Type) error {
	for _, c := range r.Columns {
		takes := c.takes(typeAt(c.Field, element))
		for i := range r.N {
			if !takes || !holdsID(c.Position(r.At(i))) {
				return fmt.Errorf("gormplugin: %s has no %s where the model %s has %s: %w", element,
					c.Field.FieldType, stmt.Schema.Name, c.Field.Name, gorm.ErrInvalidValue)
			}
		}
	}
	return nil
}

// At returns record i, which is a struct.
func (r *Records) At(i int) reflect.Value {
	if !r.List {
		return r.value
	}
	record := r.value.Index(i)
	if record.Kind() == reflect.Pointer {
		record = record.Elem()
	}
	return record
}

// Load returns what record i has in a column, the zero value if nothing.
func (r *Records) Load(i int, c *Column) Value {
	if r.Maps {
		x, _ := c.loadMap(r.maps[i])
		return x
	}
	return c.load(r.At(i))
}

// Lacks reports whether record i has nothing in a column. A map may have something else than an ID, such as an SQL
// expression.
func (r *Records) Lacks(i int, c *Column) bool {
	if r.Maps {
		_, taken := c.loadMap(r.maps[i])
		return !taken
	}
	return c.load(r.At(i)) == Value{}
}

// LoadAll returns what each record has in each column.
func (r *Records) LoadAll() []Value {
	all := make([]Value, 0, r.N*len(r.Columns))
	for i := range r.N {
		for _, c := range r.Columns {
			all = append(all, r.Load(i, c))
		}
	}
	return all
}

// Store sets a column of record i; the zero value clears it.
func (r *Records) Store(i int, c *Column, x Value) {
	switch {
	case !r.Maps:
		c.store(r.ctx, r.At(i), x)
	case x == Value{}:
		delete(r.maps[i], c.Field.DBName)
	default:
		if r.maps[i] == nil {
			r.maps[i] = make(map[string]any, len(r.Columns))
		}
		c.storeMap(r.maps[i], x)
	}
}

// Settable reports whether columns can be stored, which is impossible in structs that were passed by value.
func (r *Records) Settable() bool { return r.Maps || r.At(0).CanAddr() }

// Lacking counts for each column the records without an ID.
func (r *Records) Lacking() []int {
	counts := make([]int, len(r.Columns))
	for i := range r.N {
		for j, c := range r.Columns {
			if r.Lacks(i, c) {
				counts[j]++
			}
		}
	}
	return counts
}

// OfModel reports whether the records are structs of the model itself.
func (r *Records) OfModel() bool { return !r.Maps && r.Type() == r.plan.Schema.ModelType }

// Type returns the type of the records, which are structs.
func (r *Records) Type() reflect.Type { return r.At(0).Type() }

// Field returns what record i has in any field.
func (r *Records) Field(i int, field *schema.Field) any {
	if r.Maps {
		for name, x := range r.maps[i] {
			if names(field, name) {
				return x
			}
		}
		return nil
	}
	x, _ := field.ValueOf(r.ctx, r.At(i))
	return x
}

// SetField sets any field of record i, which is a struct.
func (r *Records) SetField(i int, field *schema.Field, x any) error {
	return field.Set(r.ctx, r.At(i), x)
}

// LeavesToDatabase reports whether record i lacks one of the fields, so that the database sets the column's default.
func (r *Records) LeavesToDatabase(i int, fields []*schema.Field) bool {
	return !r.Maps && slices.ContainsFunc(fields, func(field *schema.Field) bool {
		if !field.HasDefaultValue || field.DefaultValueInterface != nil { // GORM sets a constant in the record itself
			return false
		}
		_, zero := field.ValueOf(r.ctx, r.At(i))
		return zero
	})
}

// ClearAll clears every field that holds one of the IDs, references included.
func (r *Records) ClearAll(ids map[snowflake.ID]bool) (err error) {
	holds := func(field *schema.Field, x any) bool {
		if field == nil {
			return false
		}
		elem := indirect(field.FieldType)
		got, _ := (&Column{Field: field, kind: kindOfAny(elem), elem: elem}).fromMap(x)
		return ids[got.ID]
	}
	for i := range r.N {
		if r.Maps {
			for name, x := range r.maps[i] {
				if holds(r.plan.Schema.LookUpField(name), x) {
					delete(r.maps[i], name)
				}
			}
			continue
		}
		// A record of another type than the model has only the fields that are written.
		for _, field := range r.plan.Schema.Fields {
			if field.DBName == "" || !field.Creatable || !r.OfModel() && typeAt(field, r.At(i).Type()) != field.FieldType {
				continue
			}
			if x, zero := field.ValueOf(r.ctx, r.At(i)); !zero && holds(field, x) {
				err = errors.Join(err, r.SetField(i, field, nil))
			}
		}
	}
	return err
}

// WithoutKey counts the records of a statement whose key, a snowflake.ID, is 0. n is 0 if there are none that count.
func WithoutKey(stmt *gorm.Statement, key *schema.Field) (lacking, n int) {
	plan := &Plan{Schema: stmt.Schema}
	r, err := plan.RecordsOf(stmt, []*Column{newColumn(key, signed, true)})
	if r == nil || err != nil {
		return 0, 0
	}
	return r.Lacking()[0], r.N
}
