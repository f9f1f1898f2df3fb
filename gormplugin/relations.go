package gormplugin

import (
	"fmt"
	"reflect"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"
)

// The callbacks of this file tell settle which rows refer to the records of a statement (rule 4 in conflict.go). A
// statement announces the relations by which it is about to refer to its associations, and GORM copies the settings of
// the statement into those of the statements that save the associations.

// parent is what a statement announces.
type parent struct {
	stmt      *gorm.Statement
	relations []*schema.Relationship // by which rows of the statement, or of a join table, will refer to associations
	above     *parent                // of the statement itself
}

// parentKey is the key of a parent among the settings of a statement.
type parentKey struct{}

// announceBefore is the callback before GORM saves the associations that the rows of the statement refer to.
func (h *handle) announceBefore(db *gorm.DB) {
	if s := db.Statement.Schema; db.Error == nil && s != nil && len(s.Relationships.BelongsTo) > 0 {
		h.announce(db.Statement, h.planOf(s).belongsTo)
	}
}

// announceBeforeUpdate is announceBefore for updates, whose models fill does not check.
func (h *handle) announceBeforeUpdate(db *gorm.DB) {
	if s := db.Statement.Schema; db.Error == nil && s != nil {
		if err := h.planOf(s).badReference; err != nil {
			_ = db.AddError(err)
		}
	}
	h.announceBefore(db)
}

// announceAfter is the callback before GORM saves the other associations.
func (h *handle) announceAfter(db *gorm.DB) {
	if s := db.Statement.Schema; db.Error == nil && s != nil &&
		len(s.Relationships.HasOne)+len(s.Relationships.HasMany)+len(s.Relationships.Many2Many) > 0 {
		h.announce(db.Statement, h.planOf(s).many2Many)
	}
}

// announce stores the relations. It stores that there are none if the statement's own parent has announced some, which
// would otherwise seem to be about the associations of the statement.
func (h *handle) announce(stmt *gorm.Statement, relations []*schema.Relationship) {
	if h.announces.Load() && (len(relations) > 0 || inherited[*parent](stmt, parentKey{}) != nil) {
		stmt.Settings.Store(parentKey{}, &parent{stmt, relations, parentOf(stmt)})
	}
}

// withdraw takes the announcement back after all associations are saved: the statement may be used again, or copied.
func (h *handle) withdraw(db *gorm.DB) {
	if !h.announces.Load() {
		return
	}
	if p := inherited[*parent](db.Statement, parentKey{}); p != nil && p.stmt == db.Statement {
		db.Statement.Settings.Delete(parentKey{})
	}
}

// parentOf returns what the statement was told, nil if no other statement saves its records as associations.
func parentOf(stmt *gorm.Statement) *parent {
	found := inherited[*parent](stmt, parentKey{})
	if found != nil && found.stmt == stmt {
		return found.above
	}
	return found
}

// neededBy returns the relation of the statement's parent that refers to the records by one of the columns, or nil.
func neededBy(stmt *gorm.Statement, columns []*column) *schema.Relationship {
	above := parentOf(stmt)
	if above == nil {
		return nil
	}
	for _, rel := range above.relations {
		if rel.FieldSchema.ModelType == stmt.Schema.ModelType && refersTo(rel, columns, false) {
			return rel
		}
	}
	return nil
}

// refersTo reports whether the relation refers to one of the columns: of the model that declares it if own is true,
// else of the associated one.
func refersTo(rel *schema.Relationship, columns []*column, own bool) bool {
	return slices.ContainsFunc(rel.References, func(ref *schema.Reference) bool {
		return ref.OwnPrimaryKey == own && ref.PrimaryKey != nil && slices.ContainsFunc(columns, func(c *column) bool {
			return c.field.DBName == ref.PrimaryKey.DBName
		})
	})
}

// refuseOrphans returns ErrKeyUnknown if other rows are about to refer to one of the records by one of the columns,
// which are not known.
func (s *settlement) refuseOrphans(records []int, unknown []*column) error {
	if len(records) == 0 || len(unknown) == 0 {
		return nil
	}
	if rel := neededBy(s.stmt, unknown); rel != nil {
		return fmt.Errorf("%w: record %d of %s met a row that is there already, and %s refers to it by this key in %s; "+
			"look the row up first", ErrKeyUnknown, records[0], s.stmt.Schema.Name, rel.Schema.Name, rel.Name)
	}
	if s.records.isMap {
		return nil
	}
	relations := &s.stmt.Schema.Relationships
	for _, rel := range slices.Concat(relations.HasOne, relations.HasMany, relations.Many2Many) {
		if !refersTo(rel, unknown, true) || !savesRelation(s.stmt, rel) {
			continue
		}
		for _, i := range records {
			if s.hasAssociated(i, rel) {
				return fmt.Errorf("%w: record %d of %s met a row that is there already, and its %s would refer to "+
					"no row by this key; omit the association, or use DO UPDATE with the columns of the conflict",
					ErrKeyUnknown, i, s.stmt.Schema.Name, rel.Name)
			}
		}
	}
	return nil
}

// hasAssociated reports whether record i has associated records in rel.
func (s *settlement) hasAssociated(i int, rel *schema.Relationship) bool {
	value, zero := rel.Field.ValueOf(s.stmt.Context, s.records.at(i))
	if zero {
		return false
	}
	rv := reflect.Indirect(reflect.ValueOf(value))
	return rv.Kind() != reflect.Slice || rv.Len() > 0
}
