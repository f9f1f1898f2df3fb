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

// conflictOf returns the conflict clause that the statement will have, and whether it can be changed: callbacks.Create
// replaces it by the last one that a field's type brings.
func conflictOf(stmt *gorm.Statement, mysql bool) (c clause.OnConflict, does outcome, own bool) {
	c, own = stmt.Clauses["ON CONFLICT"].Expression.(clause.OnConflict)
	exists := own
	for _, brought := range stmt.Schema.CreateClauses {
		if found, ok := brought.(clause.OnConflict); ok && !stmt.Unscoped {
			c, exists, own = found, true, false
		}
	}
	switch insert, _ := stmt.Clauses["INSERT"].Expression.(clause.Insert); {
	case exists && c.DoNothing && (!mysql || len(c.DoUpdates) == 0): // MySQL's builder writes the updates if there are any
		does = skips
	case exists:
		does = updates
	case strings.Contains(strings.ToUpper(insert.Modifier), "IGNORE"):
		does = skips
	}
	return c, does, own
}

// returningOf returns the columns that the statement will return, nil if none, as callbacks.Create decides. If all is
// true it returns all of them.
func returningOf(stmt *gorm.Statement, d Dialect) (columns []clause.Column, all bool) {
	if !d.Returning {
		return nil, false
	}
	if c, ok := stmt.Clauses["RETURNING"]; ok {
		own, _ := c.Expression.(clause.Returning)
		return own.Columns, len(own.Columns) == 0 || (len(own.Columns) == 1 && own.Columns[0].Name == "*")
	}
	for _, field := range stmt.Schema.FieldsWithDefaultDBValue {
		if field.Readable {
			columns = append(columns, clause.Column{Name: field.DBName})
		}
	}
	return columns, false
}

// returnedFields returns the fields that RETURNING will set in records of a schema, as gorm.Scan does: all of them if
// it names an expression, whose alias may be any field.
func returnedFields(stmt *gorm.Statement, d Dialect, s *schema.Schema) (fields []*schema.Field) {
	columns, all := returningOf(stmt, d)
	for _, column := range columns {
		field := s.LookUpField(column.Name)
		fields, all = append(fields, field), all || field == nil
	}
	if all {
		fields = slices.Clone(s.Fields)
	}
	return slices.DeleteFunc(fields, func(field *schema.Field) bool { return field.DBName == "" || !field.Readable })
}

// skipping is DO NOTHING without the name that gorm.Scan knows it by. Else gorm.Scan would put no row into a record
// that has a value in a returned field, but count it, and would replace a slice by the rows of RETURNING *.
type skipping struct{ clause.OnConflict }

// savesRelation decides as callbacks.SaveAfterAssociations does when it creates a record.
func savesRelation(stmt *gorm.Statement, rel *schema.Relationship) bool {
	columns, restricted := stmt.SelectAndOmitColumns(true, false)
	named, ok := columns[rel.Name]
	return named || !ok && !restricted
}

// Fails reports whether a record that is in a slice twice is an error: it would have to become two rows with one key.
func Fails(stmt *gorm.Statement, d Dialect) bool {
	_, does, _ := conflictOf(stmt, d.MySQL)
	return does == fails
}
