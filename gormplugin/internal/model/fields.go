package model

import (
	"errors"
	"maps"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/sqlflake/sqlflake/snowflake"
)

// Field returns what record i has in any field.
func (r *Records) Field(i int, field *schema.Field) any {
	if r.Maps {
		if x, ok := r.maps[i][field.DBName]; ok {
			return x
		}

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
		got, _ := newColumn(field, kindOfAny(indirect(field.FieldType)), false, nil).fromMap(x)
		return ids[got.ID]
	}

	for i := range r.N {
		if r.Maps {
			maps.DeleteFunc(r.maps[i], func(name string, x any) bool { return holds(r.schema.LookUpField(name), x) })
			continue
		}

		for _, field := range r.schema.Fields {
			if !isWritten(field) || !r.has(i, field) {
				continue
			}
			if x, zero := field.ValueOf(r.ctx, r.At(i)); !zero && holds(field, x) {
				err = errors.Join(err, r.SetField(i, field, nil))
			}
		}
	}
	return err
}

// has reports whether record i has a field of the model. A record of another type has only the fields that are written.
func (r *Records) has(i int, field *schema.Field) bool {
	return r.OfModel() || typeAt(field, r.At(i).Type()) == field.FieldType
}

// WithoutKey counts the records of a statement whose key, a snowflake.ID, is 0. n is 0 if there are none that count.
func WithoutKey(stmt *gorm.Statement, key *schema.Field) (lacking, n int) {
	column := newColumn(key, signed, true, nil)
	r, _ := RecordsOf(stmt, []*Column{column})
	return r.lacking(), r.N
}
