package gormplugin

import (
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"
)

// parent is what a statement tells the ones that save its associations: GORM copies settings to them, and nothing else
// from which they could see whether their keys are needed.
type parent struct {
	statement *gorm.Statement
	relations []*schema.Relationship // those whose rows the statement's own, or rows of a join table, will refer to
	above     *parent                // of the statement itself
}

// parentKey is the key of a parent among the settings of a statement.
type parentKey struct{}

// announceBefore is the callback before the associations that the rows of the statement refer to are saved.
func announceBefore(db *gorm.DB) {
	if db.Error == nil && db.Statement.Schema != nil {
		if belongsTo := db.Statement.Schema.Relationships.BelongsTo; len(belongsTo) > 0 {
			announce(db.Statement, belongsTo)
		}
	}
}

// announceAfter is the callback before the other associations are saved. A statement that has some but refers to none
// says so, or they would find the parent of their parent.
func announceAfter(db *gorm.DB) {
	if db.Error == nil && db.Statement.Schema != nil {
		relations := &db.Statement.Schema.Relationships
		if len(relations.HasOne)+len(relations.HasMany)+len(relations.Many2Many) > 0 {
			announce(db.Statement, relations.Many2Many)
		}
	}
}

func announce(stmt *gorm.Statement, relations []*schema.Relationship) {
	stmt.Settings.Store(parentKey{}, &parent{stmt, relations, parentOf(stmt)})
}

// withdraw is the callback after all associations are saved: the statement may be used again, or copied.
func withdraw(db *gorm.DB) {
	if value, _ := db.Statement.Settings.Load(parentKey{}); value != nil && value.(*parent).statement == db.Statement {
		db.Statement.Settings.Delete(parentKey{})
	}
}

// parentOf returns what the statement was told, nil if no other saves its records as associations.
func parentOf(stmt *gorm.Statement) *parent {
	value, _ := stmt.Settings.Load(parentKey{})
	found, _ := value.(*parent)
	if found != nil && found.statement == stmt {
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

// refersTo reports whether the relation refers to one of the columns: of the model that declares it if own is true, else
// of the associated one.
func refersTo(rel *schema.Relationship, columns []*column, own bool) bool {
	return slices.ContainsFunc(rel.References, func(ref *schema.Reference) bool {
		return ref.OwnPrimaryKey == own && ref.PrimaryKey != nil && slices.ContainsFunc(columns, func(c *column) bool {
			return c.field.DBName == ref.PrimaryKey.DBName
		})
	})
}
