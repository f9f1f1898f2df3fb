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
	N       int       // 0 if the plugin leaves them alone: GORM rejects the shape or does not know it
	List    bool      // a slice or array of structs
	Maps    bool
	Many    bool // a slice of maps

	ctx   context.Context
	plan  *Plan
	value reflect.Value    // a struct, or a slice or array if List is true, or
	maps  []map[string]any // if Maps is true
}

// RecordsOf returns the records of a statement; there are none beside an error.
func (p *Plan) RecordsOf(stmt *gorm.Statement, columns []*Column) (r Records, err error) {
	r = Records{plan: p, Columns: columns, ctx: stmt.Context, Maps: true}
	switch dest := stmt.Dest.(type) {
	case map[string]any:
		if dest == nil {
			return r, fmt.Errorf("gormplugin: a nil map cannot take the key of %s: %w", stmt.Schema.Name, gorm.ErrInvalidValue)
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
		r.Maps = false
		r.N, err = r.setStructs(stmt)
		return r, err
	}
	if key := p.Key; r.Many && key != nil && key.Field.HasDefaultValue {
		// GORM would overwrite the keys with numbers of the database's counter, and append maps (callbacks.Create,
		// gorm.Scan).
		return r, fmt.Errorf("gormplugin: GORM treats the key %s of %s as auto-increment and cannot create several maps; "+
			"call DisableAutoIncrement at the start: %w", key.Field.Name, stmt.Schema.Name, gorm.ErrInvalidData)
	}
	r.N = len(r.maps)
	return r, nil
}

func (r *Records) setStructs(stmt *gorm.Statement) (n int, err error) {
	var element reflect.Type
	r.value = stmt.ReflectValue
	switch r.value.Kind() {
	case reflect.Struct:
		n, element = 1, r.value.Type()
	case reflect.Slice, reflect.Array:
		r.List, n = true, r.value.Len()
		element = indirect(r.value.Type().Elem())
	}
	switch {
	case n == 0:
		return 0, nil
	case element.Kind() != reflect.Struct: // where GORM panics, with the transaction open
		return 0, fmt.Errorf("gormplugin: %s is not a slice of records of %s: %w",
			r.value.Type(), stmt.Schema.Name, gorm.ErrInvalidData)
	}
	for i := range n {
		if !r.At(i).IsValid() {
			return 0, nil // a nil pointer, for which GORM returns gorm.ErrInvalidData later
		}
	}
	differs := func(c *Column) bool { return typeAt(c.Field, element) != c.Field.FieldType }
	if element == stmt.Schema.ModelType || !slices.ContainsFunc(r.Columns, differs) {
		return n, nil
	}
	// The records are of another type than the model. Without an ID at the position of each column's field GORM would
	// store whatever is there, a title for example, as the key.
	for _, c := range r.Columns {
		k := c.kindAs(typeAt(c.Field, element))
		for i := range n {
			if k == notAKey || k.loadIndirect(c.Position(r.At(i))) == (Value{}) {
				return 0, fmt.Errorf("gormplugin: %s has no %s where the model %s has %s: %w", element,
					c.Field.FieldType, stmt.Schema.Name, c.Field.Name, gorm.ErrInvalidValue)
			}
		}
	}
	return 0, nil
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

// Lacking counts the records that have nothing in a column.
func (r *Records) Lacking(c *Column) (n int) {
	for i := range r.N {
		if r.Lacks(i, c) {
			n++
		}
	}
	return n
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
		got, _ := newColumn(field, kindOfAny(indirect(field.FieldType)), false).fromMap(x)
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
	column := newColumn(key, signed, true)
	r, _ := (&Plan{Schema: stmt.Schema}).RecordsOf(stmt, []*Column{column})
	return r.Lacking(column), r.N
}
