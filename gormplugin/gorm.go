package gormplugin

import (
	"slices"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/callbacks"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"
)

// The functions of this file repeat what GORM does inside and promises nowhere. Each names the place in GORM, and
// gorm_test.go fails if GORM does something else.

// ownRelations returns the relations that a model declares, sorted by their names.
//
// Models that have this one in a has-many relation add relations to it whose names begin with "_", and may be writing
// to those at this moment (schema.Schema.guessRelation, parseRelation).
func ownRelations(s *schema.Schema) []*schema.Relationship {
	s.Relationships.Mux.RLock()
	defer s.Relationships.Mux.RUnlock()
	var own []*schema.Relationship
	for name, rel := range s.Relationships.Relations {
		if !strings.HasPrefix(name, "_") {
			own = append(own, rel)
		}
	}
	slices.SortFunc(own, func(a, b *schema.Relationship) int { return strings.Compare(a.Name, b.Name) })
	return own
}

// isForeignKey reports whether the field is the foreign key of a belongs-to relation, or half of a join table. It holds
// the key of another row, which GORM sets when it saves the association.
func isForeignKey(s *schema.Schema, field *schema.Field) bool {
	return slices.ContainsFunc(ownRelations(s), func(rel *schema.Relationship) bool {
		return rel.Type == schema.BelongsTo && slices.ContainsFunc(rel.References, func(ref *schema.Reference) bool {
			return !ref.OwnPrimaryKey && ref.ForeignKey == field
		})
	})
}

// clearAutoIncrement undoes what schema.Parse does at its end to an integer key without the tag autoIncrement.
func clearAutoIncrement(s *schema.Schema, key *schema.Field) {
	key.AutoIncrement, key.HasDefaultValue = false, false
	s.FieldsWithDefaultDBValue = slices.DeleteFunc(s.FieldsWithDefaultDBValue, func(field *schema.Field) bool {
		return field == key
	})
}

// selection says whether a statement writes a column.
type selection uint8

const (
	written     selection = iota
	notSelected           // Select names other columns only
	omitted               // Omit names it: the database makes the value
)

// selectionOf decides as callbacks.ConvertToCreateValues does.
func selectionOf(stmt *gorm.Statement, field *schema.Field) selection {
	if len(stmt.Selects) == 0 && len(stmt.Omits) == 0 {
		return written
	}
	columns, restricted := stmt.SelectAndOmitColumns(true, false)
	named, ok := columns[field.DBName]
	switch {
	case ok && !named:
		return omitted
	case !ok && restricted:
		return notSelected
	default:
		return written
	}
}

// savesRelation decides as callbacks.SaveAfterAssociations does when it creates a record.
func savesRelation(stmt *gorm.Statement, rel *schema.Relationship) bool {
	columns, restricted := stmt.SelectAndOmitColumns(true, false)
	named, ok := columns[rel.Name]
	return named || !ok && !restricted
}

// isBuilt reports whether callbacks.Create has built the statement, which it does right before it runs it.
func isBuilt(stmt *gorm.Statement) bool { return stmt.SQL.Len() > 0 }

// hasTransaction reports whether callbacks.BeginTransaction has begun a transaction for the statement alone, which is
// rolled back if the statement fails.
func hasTransaction(db *gorm.DB) bool {
	_, started := db.InstanceGet("gorm:started_transaction")
	_, wrapped := innerOf(db.Statement.ConnPool) // gorm.io/sharding begins none, and says that it has
	return started && !wrapped
}

// outcome says what a statement does with a record that conflicts with an existing row, by its key or another unique
// value.
type outcome uint8

const (
	fails   outcome = iota // no conflict clause
	skips                  // ON CONFLICT DO NOTHING, INSERT IGNORE
	updates                // ON CONFLICT DO UPDATE, ON DUPLICATE KEY UPDATE
)

// conflictOf returns the conflict clause that the statement will have.
func conflictOf(stmt *gorm.Statement, mysql bool) (clause.OnConflict, outcome) {
	if len(stmt.Clauses) == 0 && len(stmt.Schema.CreateClauses) == 0 {
		return clause.OnConflict{}, fails
	}
	c, ok := schemaConflict(stmt)
	if !ok {
		c, ok = stmt.Clauses["ON CONFLICT"].Expression.(clause.OnConflict)
	}
	if ok {
		// The clause builder of the MySQL dialect writes the updates if there are any; clause.OnConflict writes DO
		// NOTHING.
		if c.DoNothing && (!mysql || len(c.DoUpdates) == 0) {
			return c, skips
		}
		return c, updates
	}
	if insert, ok := stmt.Clauses["INSERT"].Expression.(clause.Insert); ok &&
		strings.Contains(strings.ToUpper(insert.Modifier), "IGNORE") {
		return clause.OnConflict{}, skips
	}
	return clause.OnConflict{}, fails
}

// schemaConflict returns the conflict clause of a field's type. callbacks.Create puts it in the place of the
// statement's own.
func schemaConflict(stmt *gorm.Statement) (own clause.OnConflict, ok bool) {
	if stmt.Unscoped {
		return own, false
	}
	for _, c := range stmt.Schema.CreateClauses {
		if found, is := c.(clause.OnConflict); is {
			own, ok = found, true
		}
	}
	return own, ok
}

// hasOwnConflict reports whether the conflict clause can be changed: it is there, and GORM will not replace it.
func hasOwnConflict(stmt *gorm.Statement) bool {
	_, there := stmt.Clauses["ON CONFLICT"]
	_, replaced := schemaConflict(stmt)
	return there && !replaced
}

// expandUpdateAll returns the conflict clause with the assignments that UpdateAll stands for.
// callbacks.ConvertToCreateValues adds them to the clause when it makes the values; it is called once more when the
// statement is built.
func expandUpdateAll(stmt *gorm.Statement) clause.OnConflict {
	callbacks.ConvertToCreateValues(stmt)
	c, _ := stmt.Clauses["ON CONFLICT"].Expression.(clause.OnConflict)
	c.UpdateAll = false
	return c
}

// returningOf reports whether the statement will have a RETURNING clause, and whether that names all columns, as
// callbacks.Create decides.
func returningOf(stmt *gorm.Statement, dialectHas bool) (there, all bool) {
	if !dialectHas {
		return false, false
	}
	if c, ok := stmt.Clauses["RETURNING"]; ok {
		own, _ := c.Expression.(clause.Returning)
		return true, len(own.Columns) == 0 || (len(own.Columns) == 1 && own.Columns[0].Name == "*")
	}
	return len(stmt.Schema.FieldsWithDefaultDBValue) > 0, false
}

// returnedFields returns the fields of the model that RETURNING will set in the records, as gorm.Scan does: all of them
// if it names an expression, whose alias may be any field.
func returnedFields(stmt *gorm.Statement, dialectHas bool) (fields []*schema.Field) {
	there, all := returningOf(stmt, dialectHas)
	if !there {
		return nil
	}
	fields = stmt.Schema.FieldsWithDefaultDBValue
	if own, ok := stmt.Clauses["RETURNING"].Expression.(clause.Returning); ok {
		fields = nil
		for _, column := range own.Columns {
			field := stmt.Schema.LookUpField(column.Name)
			fields, all = append(fields, field), all || field == nil
		}
	}
	if all {
		fields = stmt.Schema.Fields
	}
	return slices.DeleteFunc(slices.Clone(fields), func(field *schema.Field) bool { return field.DBName == "" || !field.Readable })
}

// inherited returns what a callback has stored under the key in the settings of the statement. saveAssociations copies
// the settings into the statements of associations, so the value may be another statement's.
func inherited[T any](stmt *gorm.Statement, key any) T {
	value, _ := stmt.Settings.Load(key)
	found, _ := value.(T)
	return found
}
