package upsert

import (
	"slices"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"
)

// The functions of this file decide as GORM does inside, which it promises nowhere. Each names the place in GORM.

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

// hasOwnConflict reports whether there is a conflict clause that can be changed: GORM will not replace it.
func hasOwnConflict(stmt *gorm.Statement) bool {
	_, exists := stmt.Clauses["ON CONFLICT"]
	_, replaced := schemaConflict(stmt)
	return exists && !replaced
}

// returningOf reports whether the statement will have a RETURNING clause, and whether that names all columns, as
// callbacks.Create decides.
func returningOf(stmt *gorm.Statement, d Dialect) (has, all bool) {
	if !d.Returning {
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
func returnedFields(stmt *gorm.Statement, d Dialect) (fields []*schema.Field) {
	has, all := returningOf(stmt, d)
	if !has {
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

// savesRelation decides as callbacks.SaveAfterAssociations does when it creates a record.
func savesRelation(stmt *gorm.Statement, rel *schema.Relationship) bool {
	columns, restricted := stmt.SelectAndOmitColumns(true, false)
	named, ok := columns[rel.Name]
	return named || !ok && !restricted
}

// Repeated reports what happens to a pointer that occurs more than once in a slice: whether the statement fails, since
// one record would have to become several rows, and whether the record must be left in once.
func Repeated(stmt *gorm.Statement, d Dialect) (fail, once bool) {
	_, does := conflictOf(stmt, d.MySQL)
	return does == fails, does == updates
}
