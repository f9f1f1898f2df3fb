package upsert

import (
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/callbacks"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"github.com/sqlflake/sqlflake/gormplugin/internal/model"
	"github.com/sqlflake/sqlflake/snowflake"
)

// conflict is what Rewrite leaves for Resolve if a record may conflict with an existing row.
type conflict struct {
	*Insert
	clause  clause.OnConflict
	does    outcome
	own     bool // the clause can be changed
	dialect Dialect
	plan    *model.Plan
	records model.Records
	shows   evidence
	made    []snowflake.ID // IDs without those that a hook has replaced, and those of rows that are written already

	// fields are those that RETURNING sets in the records; nil for maps. before is what the records had in them.
	fields []*schema.Field
	before []any
}

// evidence is how the statement itself shows that every record has its row. Without evidence, Resolve asks by SELECT.
type evidence uint8

const (
	none     evidence = iota
	counted           // the row count equals the number of records: DO NOTHING has inserted all
	inserted          // the same, and RETURNING brings the keys of those that were inserted
	returned          // the same: RETURNING has put the columns of a row into each record
	insertID          // LAST_INSERT_ID of MySQL is 0: no record conflicted. Else it is the key of one existing row
)

// Rewrite changes the statement right before it is built, so that it writes the IDs and Resolve can find the rows.
func (in *Insert) Rewrite(p *model.Plan, d Dialect) {
	r, err := p.RecordsOf(in.Stmt, in.Columns)
	if err != nil || r.N == 0 {
		return // the error was reported when the fields were filled
	}
	in.selectColumns()
	in.announceWritten(&r)
	c := &conflict{Insert: in, plan: p, records: r, dialect: d}
	if c.clause, c.does, c.own = conflictOf(in.Stmt, d.MySQL); c.does == fails {
		return
	}
	c.forgetReplaced()
	if c.own {
		c.keepGenerated()
		c.refuseRepeats()
	}
	if c.does != fails && c.mayMislead() {
		c.prepare()
	}
	if c.own && d.MySQL {
		c.compute()
	}
}

// forgetReplaced leaves out of made the generated IDs that a hook has replaced, and those of rows that exist already.
func (c *conflict) forgetReplaced() {
	c.made = slices.Clone(c.IDs)
	for i := range c.records.N {
		for j, column := range c.Columns {
			id := c.generated(i, j)
			if id != 0 && (c.records.Load(i, column).ID != id || slices.Contains(c.written, i)) {
				c.made[i*len(c.Columns)+j] = 0
			}
		}
	}
}

// generated returns the generated ID that column j of record i still has, or 0.
func (c *conflict) generated(i, j int) snowflake.ID {
	if at := i*len(c.Columns) + j; at < len(c.made) {
		return c.made[at]
	}
	return 0
}

// generatedValues returns the generated IDs that the records still have in column j, as the statement writes them.
func (c *conflict) generatedValues(j int) (ids []any) {
	for i := range c.records.N {
		if id := c.generated(i, j); id != 0 {
			ids = append(ids, c.Columns[j].GoValue(model.Value{ID: id}))
		}
	}
	return ids
}

// mixed reports whether some of the records, but not all, got an ID.
func (c *conflict) mixed() bool {
	n := 0
	for i := range c.records.N {
		if c.firstGenerated(i) >= 0 {
			n++
		}
	}
	return 0 < n && n < c.records.N
}

// firstGenerated returns the first column in which record i has a generated ID, or -1.
func (c *conflict) firstGenerated(i int) int {
	for j := range c.Columns {
		if c.generated(i, j) != 0 {
			return j
		}
	}
	return -1
}

// mayMislead reports whether a record may end up with an ID that its row does not have, or with values of another row.
// Of the clauses that GORM gives to associations these are DO NOTHING with new records, or for a model with columns
// that RETURNING brings; on MySQL all clauses with new records. The other clauses have the key as their target.
func (c *conflict) mayMislead() bool {
	generated := len(c.IDs) > 0
	switch {
	case c.does == skips:
		return generated || len(returnedFields(c.Stmt, c.dialect, c.Stmt.Schema)) > 0
	case c.plan.Key == nil:
		return generated
	case c.targetsKey(): // then the existing row has the record's key
		return c.generatedBesideKey() || c.dialect.MySQL && generated // but MySQL ignores targets
	}
	return true
}

// targetsKey reports whether only rows with the record's key, which the plugin fills, conflict with it.
func (c *conflict) targetsKey() bool {
	return c.plan.Key != nil && c.clause.OnConstraint == "" && c.isTarget(c.plan.Key.Field)
}

// isTarget reports whether the conflict target may include the column of a field.
func (c *conflict) isTarget(field *schema.Field) bool {
	switch {
	case c.clause.OnConstraint != "":
		return true
	case len(c.clause.Columns) == 0:
		return c.clause.UpdateAll && field.PrimaryKey // GORM makes the primary key the target
	}
	return slices.ContainsFunc(c.clause.Columns, func(column clause.Column) bool {
		prioritized := column.Name == clause.PrimaryKey && field == c.Stmt.Schema.PrioritizedPrimaryField
		return column.Name == field.DBName || prioritized
	})
}

// prepare notes what Resolve needs, and makes the statement show what became of the records.
func (c *conflict) prepare() {
	key := c.plan.Key
	columns, all := returningOf(c.Stmt, c.dialect)
	returning := all || len(columns) > 0
	scansList := returning && (c.records.List || c.records.Many)
	ofList := c.records.List && c.records.OfModel() && (returning || c.mixed())
	ignores := c.does == skips && !c.clause.DoNothing

	switch {
	case c.does == updates && c.canReturn():
		if !all {
			c.returnAlso(columns)
		}
		c.shows = returned
	case c.does == skips && !c.dialect.MySQL && (c.own || ignores) && ofList && c.canReturn():
		c.returnInserted(columns, all)
		c.shows = inserted
	case c.does == skips && (!c.dialect.MySQL || ignores) && !scansList:
		c.shows = counted
	case c.does == skips && all && c.records.List:
		return // GORM replaces the slice by the rows that are returned
	case c.dialect.MySQL && !returning && c.own && key != nil && model.IsNumber(key.Field) && !c.generatedBesideKey():
		c.keepInsertID()
	}

	c.conflict = c
	_, asked := c.Stmt.Clauses["RETURNING"] // MariaDB also returns rows that DO NOTHING kept, which the caller may want
	wanted := asked && c.does == skips && c.dialect.MySQL
	if !c.records.Maps && c.records.Settable() && !wanted {
		c.noteFields()
	}
}

// noteFields notes what the records have in the fields that RETURNING will set.
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

// values returns what the first n records have in the returned fields, pointers themselves.
func (c *conflict) values(n int) (values []any) {
	for i := range n {
		for _, field := range c.fields {
			values = append(values, c.records.Field(i, field))
		}
	}
	return values
}

// canReturn reports whether RETURNING can put the columns of each row into its record. GORM does not scan into slices
// of maps.
func (c *conflict) canReturn() bool {
	unreadable := func(column *model.Column) bool { return !column.Field.Readable }
	return c.dialect.Returning && c.records.Settable() && !c.records.Many && !slices.ContainsFunc(c.Columns, unreadable)
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
	if c.own {
		c.setClause("ON CONFLICT", skipping{c.clause})
	}
}

// keepInsertID makes MySQL keep the key of the existing row as the last AUTO_INCREMENT value, which the driver returns
// (https://dev.mysql.com/doc/refman/8.4/en/insert-on-duplicate.html). It saves a query for each association that GORM
// saves.
func (c *conflict) keepInsertID() {
	c.shows = insertID
	if c.Stmt.Result == nil {
		c.change()
		c.Stmt.Result = gorm.WithResult()
	}
}

// keepGenerated changes the conflict clause for rule 3: rows keep what they have in the columns that the plugin
// filled.
func (c *conflict) keepGenerated() {
	if len(c.IDs) == 0 {
		return
	}
	if c.clause.UpdateAll && (c.generatedBesideKey() || !c.dialect.MySQL && c.mixed()) {
		// GORM adds the assignments to the clause when it makes the values, which it does again later.
		c.change()
		callbacks.ConvertToCreateValues(c.Stmt)
		own, _ := c.Stmt.Clauses["ON CONFLICT"].Expression.(clause.OnConflict)
		own.UpdateAll = false
		c.setConflict(own)
	}

	own := c.clause
	var sets, kept clause.Set
	for _, set := range own.DoUpdates {
		ids := c.generatedFor(set)
		if len(ids) > 0 {
			set.Value = c.unlessIn(ids, set.Column.Name)
		}
		if len(ids) == c.records.N {
			kept = clause.Set{set}
		} else {
			sets = append(sets, set)
		}
	}
	if own.DoUpdates = sets; len(sets) == 0 { // DO NOTHING would return nothing
		own.DoUpdates = kept
	}
	if len(own.DoUpdates) > 0 {
		c.setConflict(own)
	}
}

// setConflict replaces the conflict clause.
func (c *conflict) setConflict(own clause.OnConflict) {
	c.setClause("ON CONFLICT", own)
	c.clause, c.does, _ = conflictOf(c.Stmt, c.dialect.MySQL)
}

// generatedFor returns the generated IDs that an assignment would write into rows.
func (c *conflict) generatedFor(set clause.Assignment) (ids []any) {
	from, ok := set.Value.(clause.Column)
	if !ok || from.Table != "excluded" || from.Name != set.Column.Name {
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
