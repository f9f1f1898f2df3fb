package gormplugin

import (
	"slices"

	"gorm.io/gorm/callbacks"
	"gorm.io/gorm/clause"
)

// keepGenerated changes the conflict clause so that a row that is met keeps its own values in the columns beside the key
// that fill gave IDs to: they are the row's identity for others, as its key is. It reports whether it has changed any.
func (u *undo) keepGenerated() bool {
	stmt := u.statement
	if !u.gaveToOthers() || !hasOwnConflict(stmt) {
		return false
	}
	c, ok := stmt.Clauses["ON CONFLICT"].Expression.(clause.OnConflict)
	if !ok {
		return false
	}
	saved := u.save("ON CONFLICT")
	if c.UpdateAll {
		// GORM adds the columns to the clause when it makes the values, and makes them again later.
		callbacks.ConvertToCreateValues(stmt)
		c, _ = stmt.Clauses["ON CONFLICT"].Expression.(clause.OnConflict)
		c.UpdateAll = false
	}
	var last clause.Column
	c.DoUpdates = slices.DeleteFunc(slices.Clone(c.DoUpdates), func(set clause.Assignment) bool {
		from, ok := set.Value.(clause.Column)
		if !ok || from.Table != "excluded" || !u.generated(from.Name) || from.Name != set.Column.Name {
			return false
		}
		last = set.Column
		return true
	})
	if len(c.DoUpdates) == 0 && last.Name != "" { // without any, nothing would be returned
		own := clause.Column{Table: clause.CurrentTable, Name: last.Name}
		c.DoUpdates, c.DoNothing = clause.Set{{Column: last, Value: own}}, false
	}
	saved.Expression = c
	stmt.Clauses["ON CONFLICT"] = saved
	return true
}

// generated reports whether fill gave IDs to the column, and it is not the key.
func (u *undo) generated(name string) bool {
	j := slices.IndexFunc(u.columns, func(c *column) bool { return c.field.DBName == name })
	return j >= 0 && !u.columns[j].isKey && u.gaveTo(j)
}
