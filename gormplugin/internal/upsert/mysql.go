package upsert

import (
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"github.com/sqlflake/sqlflake/gormplugin/internal/model"
)

// canKeepInsertID reports whether MySQL can keep the key of an existing row.
func (c *conflict) canKeepInsertID() bool {
	if !c.dialect.MySQL || !c.editable {
		return false
	}
	hasNumber := c.plan.Key != nil && model.IsNumber(c.plan.Key.Field)
	return hasNumber && !c.generatedBesideKey()
}

// keepInsertID makes MySQL keep the key of the existing row as the last AUTO_INCREMENT value, which the driver returns
// (https://dev.mysql.com/doc/refman/8.4/en/insert-on-duplicate.html). It saves a query for each association that GORM
// saves.
func (c *conflict) keepInsertID() {
	c.evidence = insertID
	if c.Stmt.Result == nil {
		c.change()
		c.Stmt.Result = gorm.WithResult()
	}
}

// compute makes MySQL compute what refuses repeated IDs, and what keepInsertID needs, when a record conflicts with a
// row. It does so in the value of an assignment, which stays the same. The assignment is to a column that is neither
// the key nor a foreign key if there is one: Vitess refuses to compute the column that it finds the shard by (VT12001).
func (c *conflict) compute() {
	if c.ignores() || c.onConflict == fails {
		return
	}

	value := clause.Expr{SQL: "0"}
	if c.evidence == insertID {
		value = clause.Expr{SQL: "LAST_INSERT_ID(?)", Vars: []any{clause.Column{Name: c.plan.Key.Field.DBName}}}
	}

	for j, column := range c.Columns {
		ids, name := c.generatedValues(j), clause.Column{Name: column.Field.DBName}
		if len(ids) == 0 {
			continue
		}

		text, vars := "IF(? = VALUES(?), ", []any{name, name}
		if len(ids) < c.records.N {
			text, vars = "IF(? = VALUES(?) AND ? IN ?, ", append(vars, name, ids)
		}
		value = clause.Expr{SQL: text + raiseMySQL + ", ?)", Vars: append(vars, name, value)}
		c.guarded = true
	}

	if value.SQL == "0" {
		return
	}

	changed := c.clause
	changed.DoNothing = false
	changed.DoUpdates = slices.Clone(changed.DoUpdates)
	carrier := c.carrier()
	at := slices.IndexFunc(changed.DoUpdates, func(set clause.Assignment) bool { return set.Column.Name == carrier })
	if at < 0 {
		unchanged := clause.Column{Name: carrier}
		keep := clause.Assignment{Column: unchanged, Value: unchanged}
		at, changed.DoUpdates = 0, slices.Insert(changed.DoUpdates, 0, keep)
	}

	set, word := &changed.DoUpdates[at], "?"
	if from, _ := set.Value.(clause.Column); from.Table == "excluded" {
		set.Value, word = clause.Column{Name: from.Name}, "VALUES(?)"
	}
	set.Value = clause.Expr{SQL: "IF(?, " + word + ", " + word + ")", Vars: []any{value, set.Value, set.Value}}
	c.setClause("ON CONFLICT", changed)
}

// carrier returns the column whose assignment computes: one that the clause sets if there is one, and no ID if there is
// another, since Vitess may find the shard by that. What is computed reads IDs, so none may be set before.
func (c *conflict) carrier() string {
	s := c.Stmt.Schema
	isID := func(name string) bool {
		field := s.LookUpField(name)
		return field != nil && model.IsKeyType(field.FieldType)
	}

	var set []string
	for _, assignment := range c.clause.DoUpdates {
		set = append(set, assignment.Column.Name)
	}

	unset := slices.DeleteFunc(slices.Clone(s.DBNames), func(name string) bool { return slices.Contains(set, name) })
	early := set
	if at := slices.IndexFunc(set, isID); at >= 0 {
		early = set[:at]
	}

	for _, name := range slices.Concat(early, unset) {
		if c.isPlain(name) && !isID(name) {
			return name
		}
	}
	if at := slices.IndexFunc(set, c.isPlain); at >= 0 {
		return set[at]
	}
	return c.plainColumn()
}

// plainColumn returns the first plain column, or else the key.
func (c *conflict) plainColumn() string {
	s := c.Stmt.Schema
	if at := slices.IndexFunc(s.DBNames, c.isPlain); at >= 0 {
		return s.DBNames[at]
	}
	if s.PrioritizedPrimaryField != nil {
		return s.PrioritizedPrimaryField.DBName
	}
	return s.DBNames[0]
}

// isPlain reports whether the statement writes a column other than the key that keeps its value through IF, and when it
// is set to itself. Text without a size does not: MariaDB then ignores another assignment to it.
func (c *conflict) isPlain(name string) bool {
	field := c.Stmt.Schema.LookUpField(name)
	if field == nil || field.PrimaryKey {
		return false
	}
	if !field.Creatable || model.SelectionOf(c.Stmt, field) != model.Written {
		return false
	}

	switch field.DataType {
	case schema.Int, schema.Uint, schema.Bool, "bigint":
		return true
	}
	isSized := 0 < field.Size && field.Size < 1<<14
	return isSized && field.DataType == schema.String
}
