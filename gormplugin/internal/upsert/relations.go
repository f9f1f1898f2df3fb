package upsert

import (
	"fmt"
	"reflect"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/sqlflake/sqlflake/gormplugin/internal/model"
)

// parent is what a statement announces for rule 4: the relations by which its rows, or those of a join table, are
// about to refer to the associations that GORM saves next.
type parent struct {
	stmt      *gorm.Statement
	in        *Insert // its own, if it is still to come
	relations []*schema.Relationship
	above     *parent // of the statement itself
}

// parentKey is the key of a parent among the settings of a statement, which GORM copies to those of associations.
type parentKey struct{}

func announced(stmt *gorm.Statement) *parent {
	found, _ := stmt.Settings.Load(parentKey{})
	p, _ := found.(*parent)
	return p
}

// Announce stores the relations, and the insert of the statement if it is still to come. It stores that there are none
// if the statement's own parent has announced some, which would otherwise seem to be about the associations of the
// statement.
func Announce(stmt *gorm.Statement, in *Insert, relations []*schema.Relationship) {
	if in != nil || len(relations) > 0 || announced(stmt) != nil {
		stmt.Settings.Store(parentKey{}, &parent{stmt, in, relations, parentOf(stmt)})
	}
}

// Withdraw undoes Announce after all associations are saved: the statement may be used again, or copied.
func Withdraw(stmt *gorm.Statement) {
	if p := announced(stmt); p != nil && p.stmt == stmt {
		stmt.Settings.Delete(parentKey{})
	}
}

// parentOf returns the announcement for the statement, nil if no other statement saves its records as associations.
func parentOf(stmt *gorm.Statement) *parent {
	found := announced(stmt)
	if found != nil && found.stmt == stmt {
		return found.above
	}
	return found
}

// refersTo reports whether the relation refers to one of the columns: of the model that declares it if own is true,
// else of the associated one.
func refersTo(rel *schema.Relationship, columns []*model.Column, own bool) bool {
	return slices.ContainsFunc(rel.References, func(ref *schema.Reference) bool {
		return ref.OwnPrimaryKey == own && ref.PrimaryKey != nil && slices.ContainsFunc(columns, func(c *model.Column) bool {
			return c.Field.DBName == ref.PrimaryKey.DBName
		})
	})
}

// refuseOrphans returns ErrKeyUnknown if other rows are about to refer to one of the records by one of the columns,
// which are not known.
func (c *conflict) refuseOrphans(records []int, unknown []*model.Column) error {
	if len(records) == 0 || len(unknown) == 0 {
		return nil
	}
	s := c.Stmt.Schema
	refuse := func(i int, format string, args ...any) error {
		return fmt.Errorf("%w: record %d of %s conflicts with an existing row whose key is unknown, and "+format,
			append([]any{ErrKeyUnknown, i, s.Name}, args...)...)
	}
	if above := parentOf(c.Stmt); above != nil {
		for _, rel := range above.relations {
			if rel.FieldSchema.ModelType == s.ModelType && refersTo(rel, unknown, false) {
				return refuse(records[0], "%s.%s would refer to it; query the row first", rel.Schema.Name, rel.Name)
			}
		}
	}
	if c.records.Maps {
		return nil
	}
	relations := &s.Relationships
	for _, rel := range slices.Concat(relations.HasOne, relations.HasMany, relations.Many2Many) {
		if !refersTo(rel, unknown, true) || !savesRelation(c.Stmt, rel) {
			continue
		}
		for _, i := range records {
			value, zero := rel.Field.ValueOf(c.Stmt.Context, c.records.At(i))
			if rv := reflect.Indirect(reflect.ValueOf(value)); !zero && (rv.Kind() != reflect.Slice || rv.Len() > 0) {
				return refuse(i, "its %s would refer to it; omit the association, or use DO UPDATE with the columns of the "+
					"conflict", rel.Name)
			}
		}
	}
	return nil
}
