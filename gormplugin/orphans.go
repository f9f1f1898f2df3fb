package gormplugin

import (
	"fmt"
	"reflect"

	"gorm.io/gorm/schema"
)

// refuseOrphans returns ErrKeyUnknown if GORM is about to save associations that refer to one of the records, whose keys
// are not known.
func (u *undo) refuseOrphans(records []int) error {
	if len(records) == 0 || u.conflict.records.isMap {
		return nil
	}
	stmt := u.statement
	columns, restricted := stmt.SelectAndOmitColumns(true, false)
	relations := &stmt.Schema.Relationships
	for _, kind := range [][]*schema.Relationship{relations.HasOne, relations.HasMany, relations.Many2Many} {
		for _, rel := range kind {
			if selected, named := columns[rel.Name]; named && !selected || !named && restricted {
				continue
			}
			for _, i := range records {
				if u.refers(rel, i) {
					return fmt.Errorf("%w: record %d of %s met a row that is there already, and its %s would refer to "+
						"no row; omit the association, or use DO UPDATE with the columns of the conflict",
						ErrKeyUnknown, i, stmt.Schema.Name, rel.Name)
				}
			}
		}
	}
	return nil
}

// refers reports whether record i has associated records in rel.
func (u *undo) refers(rel *schema.Relationship, i int) bool {
	value, zero := rel.Field.ValueOf(u.statement.Context, u.conflict.records.at(i))
	if zero {
		return false
	}
	rv := reflect.Indirect(reflect.ValueOf(value))
	return rv.Kind() != reflect.Slice || rv.Len() > 0
}
