package gormplugin

import (
	"fmt"
	"reflect"

	"gorm.io/gorm/schema"
)

// refuseOrphans returns ErrKeyUnknown if other rows are about to refer to one of the records by one of the columns, which
// are not known.
func (u *undo) refuseOrphans(records []int, unknown []*column) error {
	if len(records) == 0 || len(unknown) == 0 {
		return nil
	}
	stmt := u.statement
	if rel := neededBy(stmt, unknown); rel != nil {
		return fmt.Errorf("%w: record %d of %s met a row that is there already, and %s refers to it by this key in %s; "+
			"look the row up first", ErrKeyUnknown, records[0], stmt.Schema.Name, rel.Schema.Name, rel.Name)
	}
	if u.conflict.records.isMap {
		return nil
	}
	selects, restricted := stmt.SelectAndOmitColumns(true, false)
	relations := &stmt.Schema.Relationships
	for _, kind := range [][]*schema.Relationship{relations.HasOne, relations.HasMany, relations.Many2Many} {
		for _, rel := range kind {
			if selected, named := selects[rel.Name]; named && !selected || !named && restricted || !refersTo(rel, unknown, true) {
				continue
			}
			for _, i := range records {
				if u.hasAssociated(i, rel) {
					return fmt.Errorf("%w: record %d of %s met a row that is there already, and its %s would refer to "+
						"no row by this key; omit the association, or use DO UPDATE with the columns of the conflict",
						ErrKeyUnknown, i, stmt.Schema.Name, rel.Name)
				}
			}
		}
	}
	return nil
}

// hasAssociated reports whether record i has associated records in rel.
func (u *undo) hasAssociated(i int, rel *schema.Relationship) bool {
	value, zero := rel.Field.ValueOf(u.statement.Context, u.conflict.records.at(i))
	if zero {
		return false
	}
	rv := reflect.Indirect(reflect.ValueOf(value))
	return rv.Kind() != reflect.Slice || rv.Len() > 0
}
