package gormplugin

import (
	"slices"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"
)

// outcome says what a statement does with a record that meets a row with the same key or another unique value.
type outcome uint8

const (
	fails   outcome = iota // no conflict clause
	skips                  // ON CONFLICT DO NOTHING, INSERT IGNORE
	updates                // ON CONFLICT DO UPDATE, ON DUPLICATE KEY UPDATE
)

// conflictOf returns the conflict clause that the statement will have.
func (h *handle) conflictOf(stmt *gorm.Statement) (clause.OnConflict, outcome) {
	c, ok := schemaConflict(stmt)
	if !ok {
		c, ok = stmt.Clauses["ON CONFLICT"].Expression.(clause.OnConflict)
	}
	if ok {
		if c.DoNothing && (!h.mysql || len(c.DoUpdates) == 0) { // MySQL's dialect puts the updates first
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

// schemaConflict returns the conflict clause of a field's type, which GORM adds when it builds the statement. It replaces
// the statement's own.
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

// mayConflict reports whether the callbacks after fill will have to know which IDs it gave: any at all, and any to other
// columns than the key.
func (h *handle) mayConflict(stmt *gorm.Statement, p *plan, gave, gaveOthers bool) bool {
	if len(stmt.Clauses) > 0 || len(stmt.Schema.CreateClauses) > 0 { // mostly not, and the clause is large
		if c, does := h.conflictOf(stmt); h.mayMislead(p, c, does, gave, gaveOthers) {
			return true
		}
	}
	hooks := stmt.Schema.BeforeCreate || stmt.Schema.BeforeSave
	return hooks && !stmt.SkipHooks // a hook may add a clause to the statement
}

// mayMislead reports whether a record may end up with an ID that its row does not have. Of the clauses that GORM gives to
// associations these are DO NOTHING with new records, and on MySQL all with new records; elsewhere the target is the key.
func (h *handle) mayMislead(p *plan, c clause.OnConflict, does outcome, gave, gaveOthers bool) bool {
	switch does {
	case skips:
		return gave
	case updates:
		if p.key == nil {
			return gave
		}
		if targetsKey(p, c) { // then the row that is met has the record's key
			return gaveOthers || h.mysql && gave // but MySQL ignores targets
		}
		return true
	default:
		return false
	}
}

// targetsKey reports whether only rows with the record's key, which the plugin fills, conflict with it.
func targetsKey(p *plan, c clause.OnConflict) bool {
	return p.key != nil && c.OnConstraint == "" && namesKey(c, p.key.field)
}

// namesKey reports whether a field, which is the model's key, is part of the conflict target.
func namesKey(c clause.OnConflict, key *schema.Field) bool {
	if len(c.Columns) == 0 {
		return c.UpdateAll // GORM adds the primary key
	}
	return slices.ContainsFunc(c.Columns, func(column clause.Column) bool {
		return column.Name == key.DBName || column.Name == clause.PrimaryKey
	})
}
