package upsert

import (
	"slices"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/callbacks"
	"gorm.io/gorm/clause"

	"github.com/sqlflake/sqlflake/gormplugin/internal/model"
)

// Rewrite changes the statement right before it is built, so that it writes the IDs and Resolve can find the rows.
func (in *Insert) Rewrite(p *model.Plan, d Dialect) {
	r, err := model.RecordsOf(in.Stmt, in.Columns)
	if err != nil || r.N == 0 {
		return // the error was reported when the fields were filled
	}

	in.selectColumns()
	in.announceWritten(&r)

	c := &conflict{Insert: in, plan: p, records: r, dialect: d}
	if c.clause, c.onConflict, c.editable = conflictOf(in.Stmt, d.MySQL); c.onConflict == fails {
		return
	}

	c.forgetReplaced()
	if c.editable {
		c.keepGenerated()
		c.refuseRepeats()
	}

	if c.onConflict != fails && c.mayMislead() {
		c.prepare()
	}
	if c.editable && d.MySQL {
		c.compute()
	}
}

// selectColumns adds the columns that Select does not name to the selected ones, in a copy, since sessions may share
// the slice. Without it Select("Name") would store a row without a key.
func (in *Insert) selectColumns() {
	if len(in.Stmt.Selects) == 0 {
		return
	}

	var missing []string
	for _, column := range in.Columns {
		if model.SelectionOf(in.Stmt, column.Field) == model.NotSelected {
			missing = append(missing, column.Field.DBName)
		}
	}

	if missing != nil {
		in.change()
		in.Stmt.Selects = slices.Concat(in.Stmt.Selects, missing)
	}
}

// announceWritten records in the statements above that this one writes the rows of some of their records. An
// association may lead back to a record whose own statement is still to come.
func (in *Insert) announceWritten(r *model.Records) {
	for above := parentOf(in.Stmt); above != nil; above = above.above {
		other := above.in
		if other == nil || other.Stmt.Schema.ModelType != in.Stmt.Schema.ModelType {
			continue
		}

		for i := range r.N {
			for _, column := range in.Columns {
				if at := slices.Index(other.IDs, r.Value(i, column).ID); at >= 0 {
					other.written = append(other.written, at/len(other.Columns))
				}
			}
		}
	}
}

// conflictOf returns the conflict clause that the statement will have, and whether it can be changed: callbacks.Create
// replaces it by the last one that a field's type brings.
func conflictOf(stmt *gorm.Statement, mysql bool) (c clause.OnConflict, does outcome, editable bool) {
	c, editable = stmt.Clauses["ON CONFLICT"].Expression.(clause.OnConflict)
	exists := editable
	for _, brought := range stmt.Schema.CreateClauses {
		if found, ok := brought.(clause.OnConflict); ok && !stmt.Unscoped {
			c, exists, editable = found, true, false
		}
	}

	insert, _ := stmt.Clauses["INSERT"].Expression.(clause.Insert)
	writesUpdates := mysql && len(c.DoUpdates) > 0 // the builder for MySQL writes them, even with DoNothing
	switch {
	case exists && (writesUpdates || !c.DoNothing):
		does = updates
	case exists, strings.Contains(strings.ToUpper(insert.Modifier), "IGNORE"):
		does = skips
	}
	return c, does, editable
}

// skipping is DO NOTHING without the name that gorm.Scan knows it by. Else gorm.Scan would put no row into a record
// that has a value in a returned field, but count it, and would replace a slice by the rows of RETURNING *.
type skipping struct{ clause.OnConflict }

// keepGenerated changes the conflict clause for rule 3: rows keep what they have in the columns that the plugin filled.
func (c *conflict) keepGenerated() {
	if len(c.IDs) == 0 {
		return
	}

	hasOwnKeys := !c.dialect.MySQL && c.mixed()
	needsSets := hasOwnKeys || c.generatedBesideKey()
	if c.clause.UpdateAll && needsSets {
		c.expandUpdateAll()
	}

	changed := c.clause
	changed.DoUpdates = c.withoutGenerated(c.clause.DoUpdates)
	if len(changed.DoUpdates) > 0 {
		c.setConflict(changed)
	}
}

// expandUpdateAll replaces UpdateAll by the assignments that it stands for. GORM adds them to the clause when it makes
// the values. It makes the values again later.
func (c *conflict) expandUpdateAll() {
	c.change()
	callbacks.ConvertToCreateValues(c.Stmt)
	expanded, _ := c.Stmt.Clauses["ON CONFLICT"].Expression.(clause.OnConflict)
	expanded.UpdateAll = false
	c.setConflict(expanded)
}

// withoutGenerated returns the assignments so that none writes a generated ID. An assignment that would write nothing
// else is left out, unless none would be left: DO NOTHING would return no row.
func (c *conflict) withoutGenerated(assignments clause.Set) clause.Set {
	var sets, unchanged clause.Set
	for _, set := range assignments {
		ids := c.generatedFor(set)
		if len(ids) > 0 {
			set.Value = c.unlessIn(ids, set.Column.Name)
		}
		if len(ids) == c.records.N {
			unchanged = clause.Set{set}
		} else {
			sets = append(sets, set)
		}
	}

	if len(sets) == 0 {
		return unchanged
	}
	return sets
}

// setConflict replaces the conflict clause.
func (c *conflict) setConflict(changed clause.OnConflict) {
	c.setClause("ON CONFLICT", changed)
	c.clause, c.onConflict, _ = conflictOf(c.Stmt, c.dialect.MySQL)
}

// generatedFor returns the generated IDs that an assignment would write into rows.
func (c *conflict) generatedFor(set clause.Assignment) (ids []any) {
	from, _ := set.Value.(clause.Column)
	if from.Table != "excluded" || from.Name != set.Column.Name {
		return nil
	}

	j := slices.IndexFunc(c.Columns, func(column *model.Column) bool { return column.Field.DBName == from.Name })
	if j < 0 {
		return nil
	}
	return c.generatedValues(j)
}

// unlessIn returns the value for an assignment that writes the record's value, unless that is one of the IDs.
func (c *conflict) unlessIn(ids []any, name string) any {
	current := clause.Column{Table: clause.CurrentTable, Name: name}
	if len(ids) == c.records.N {
		return current
	}
	own, word := clause.Column{Table: "excluded", Name: name}, "?"
	if c.dialect.MySQL {
		own.Table, word = "", "VALUES(?)"
	}
	return clause.Expr{
		SQL:  "CASE WHEN " + word + " IN ? THEN ? ELSE " + word + " END",
		Vars: []any{own, ids, current, own},
	}
}

// refuseRepeats makes the database refuse generated IDs that a row has already, where the conflict target is their
// column. If all records have such IDs, the clause is left out: nothing else can conflict. MySQL ignores targets, so
// its clause stays, and compute refuses them.
func (c *conflict) refuseRepeats() {
	if c.dialect.MySQL {
		return
	}

	for j, column := range c.Columns {
		ids := c.generatedValues(j)
		if len(ids) == 0 || !c.isTarget(column.Field) {
			continue
		}

		if len(ids) == c.records.N && c.clause.OnConstraint == "" {
			c.change()
			delete(c.Stmt.Clauses, "ON CONFLICT")
			c.onConflict = fails
			return
		}

		if c.onConflict == updates {
			c.guard(column, ids)
		}
	}
}

// guard makes DO UPDATE fail for a row that has one of the IDs.
func (c *conflict) guard(column *model.Column, ids []any) {
	current := clause.Column{Table: clause.CurrentTable, Name: column.Field.DBName}
	var vars []any
	var raise string
	switch c.dialect.Name {
	case "postgres":
		vars, raise = []any{current, ids, current}, raisePostgres
	case "sqlite":
		vars, raise = []any{current, ids}, raiseSQLite
	default:
		return
	}

	var condition clause.Expression = clause.Expr{SQL: "TRUE"}
	if own := c.clause.Where; len(own.Exprs) > 0 {
		condition = own
	}
	guarded := c.clause
	guarded.Where = clause.Where{Exprs: []clause.Expression{clause.Expr{
		SQL: "CASE WHEN ? IN ? THEN " + raise + " ELSE ? END", Vars: append(vars, condition),
	}}}
	c.setConflict(guarded)
	c.guarded = true
}

// mayMislead reports whether a record may end up with an ID that its row does not have, or with the values of another
// row. It is false for most clauses that GORM adds for associations, because they target the key.
func (c *conflict) mayMislead() bool {
	hasGenerated := len(c.IDs) > 0
	switch {
	case c.onConflict == skips:
		return hasGenerated || len(returnedFields(c.Stmt, c.dialect, c.Stmt.Schema)) > 0
	case c.plan.Key == nil:
		return hasGenerated
	case !c.targetsKey(): // the row may have another key
		return true
	case c.dialect.MySQL: // which ignores the target
		return hasGenerated
	}
	return c.generatedBesideKey() // the row has the record's key
}

// prepare saves what Resolve needs, and makes the statement show what became of the records.
func (c *conflict) prepare() {
	columns, all := returningOf(c.Stmt, c.dialect)
	isReturning := all || len(columns) > 0
	isReplaced := all && c.records.List

	switch {
	case c.onConflict == updates && c.canReturn():
		if !all {
			c.returnAlso(columns)
		}
		c.evidence = returned
	case c.onConflict == skips && c.canReturnInserted(isReturning):
		c.returnInserted(columns, all)
		c.evidence = inserted
	case c.onConflict == skips && c.canCount(isReturning):
		c.evidence = counted
	case c.onConflict == skips && isReplaced:
		return // GORM replaces the slice by the rows that are returned
	case !isReturning && c.canKeepInsertID():
		c.keepInsertID()
	}

	c.conflict = c
	isStruct := !c.records.Maps && c.records.Settable()
	if isStruct && !c.wantsKeptRows() {
		c.noteFields()
	}
}

// ignores reports whether the statement is an INSERT IGNORE.
func (c *conflict) ignores() bool { return c.onConflict == skips && !c.clause.DoNothing }

// canReturnInserted reports whether RETURNING can show which records of a list DO NOTHING has inserted, and whether
// that is needed.
func (c *conflict) canReturnInserted(isReturning bool) bool {
	isList := c.records.List && c.records.OfModel()
	if c.dialect.MySQL || !isList {
		return false
	}
	isChangeable := c.editable || c.ignores()
	isNeeded := isReturning || c.mixed()
	return isChangeable && isNeeded && c.canReturn()
}

// canCount reports whether the row count is the number of rows that DO NOTHING has inserted.
func (c *conflict) canCount(isReturning bool) bool {
	isList := c.records.List || c.records.Many
	if isList && isReturning {
		return false
	}
	return !c.dialect.MySQL || c.ignores()
}

// wantsKeptRows reports whether the caller asks MariaDB for the rows. MariaDB also returns those that DO NOTHING kept.
func (c *conflict) wantsKeptRows() bool {
	_, asked := c.Stmt.Clauses["RETURNING"]
	return asked && c.onConflict == skips && c.dialect.MySQL
}

// noteFields saves what the records have in the fields that RETURNING will set.
func (c *conflict) noteFields() {
	s := c.Stmt.Schema
	if !c.records.OfModel() { // whose fields GORM finds by their names when it reads
		own := &gorm.Statement{DB: c.Stmt.DB}
		if own.Parse(c.Stmt.Dest) != nil {
			return
		}
		s = own.Schema
	}

	c.fields = returnedFields(c.Stmt, c.dialect, s)
	c.before = c.values(c.records.N)
}

// canReturn reports whether RETURNING can put the columns of each row into its record. GORM does not scan into slices
// of maps.
func (c *conflict) canReturn() bool {
	if !c.dialect.Returning || c.records.Many {
		return false
	}
	unreadable := func(column *model.Column) bool { return !column.Field.Readable }
	return c.records.Settable() && !slices.ContainsFunc(c.Columns, unreadable)
}

// returnAlso adds the columns that the plugin fills to those that RETURNING has.
func (c *conflict) returnAlso(returned []clause.Column) {
	columns := slices.Clip(returned)
	for _, column := range c.Columns {
		name := column.Field.DBName
		if !slices.ContainsFunc(returned, func(other clause.Column) bool { return other.Name == name }) {
			columns = append(columns, clause.Column{Name: name})
		}
	}
	c.setClause("RETURNING", clause.Returning{Columns: columns})
}

// returnInserted makes GORM count the rows that DO NOTHING has inserted, and put them into the first records.
func (c *conflict) returnInserted(columns []clause.Column, all bool) {
	if all {
		columns = nil
		for _, field := range returnedFields(c.Stmt, c.dialect, c.Stmt.Schema) {
			columns = append(columns, clause.Column{Name: field.DBName})
		}
	}

	c.returnAlso(columns)
	if c.editable {
		c.setClause("ON CONFLICT", skipping{c.clause})
	}
}
