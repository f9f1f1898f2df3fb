package gormplugin

import (
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"
)

// # What an upsert does to the key
//
// A Create with a conflict clause may conflict with an existing row instead of inserting one. fill has given the record
// an ID by then, which no row has. These are the rules, and what a user would lose without each:
//
//  1. A record that updated a row, or whose update a WHERE excluded, takes the key of that row. Otherwise a read by
//     the record's key would find nothing, and the associations of the record, which GORM saves next, would refer to
//     no row. SQLite stores such orphans.
//  2. If a record was skipped (DO NOTHING, INSERT IGNORE), the ID that it got is cleared. Otherwise code that tests for
//     the key 0, as it does with auto-increment keys, would take the record for a new row. Keys that the caller has
//     set stay.
//  3. A row that is updated keeps what it has in the columns beside the key that the plugin generated for its record,
//     and the record takes that over. Otherwise an upsert with UpdateAll would replace a public ID that others have
//     written down. What the caller has set in the same column of another record is written.
//  4. If the key of the row cannot be found, a key that the plugin gave becomes 0; one that the caller set stays,
//     although no row may have it. If other rows are about to refer to the record, Create fails with ErrKeyUnknown
//     instead. Otherwise these rows would be orphans.
//  5. No record has values of another one's row, whatever RETURNING brings and whichever rows it leaves out. GORM
//     assigns the rows to the records by their order.
//  6. A plain Create, and an upsert whose conflict target is the key, runs the same statement as without the plugin.
//     Otherwise every association would take a RETURNING, since GORM saves them with conflict clauses.
//
// rewrite runs right before the statement. It sees whether a record may conflict with an existing row (mayMislead),
// changes the clauses for rule 3 (keepGenerated), and chooses how settle will learn the keys of the rows (watch): see
// source. settle (settle.go) runs right after the statement. It finds out which records have no row of their own, looks
// for the rows that they conflict with (lookup.go), and rejects orphans (relations.go).

// rewrite is the callback right before the statement is built. It changes the statement so that it writes the IDs and
// settle can find the keys of the rows.
func (h *handle) rewrite(db *gorm.DB) {
	stmt := db.Statement
	if db.Error != nil || stmt.Schema == nil {
		return
	}
	s, c := stmt.Schema, h.creationOf(stmt)
	if c == nil || (s.BeforeCreate || s.BeforeSave) && !stmt.SkipHooks {
		// Again: a hook may have cleared a key, or the application has removed the callback before which fill runs.
		h.fill(db)
		c = h.creationOf(stmt)
	}
	clauses := len(stmt.Clauses)
	if c != nil {
		clauses-- // its own
	}
	p := h.planOf(s)
	if db.Error != nil || len(p.columns) == 0 ||
		len(stmt.Selects) == 0 && clauses == 0 && !hasClauses(s) {
		return
	}
	if c == nil {
		c = &creation{stmt: stmt, columns: p.active(stmt)}
	}
	r := &records{plan: p, columns: c.columns}
	if ok, err := r.of(stmt); !ok || err != nil {
		return // fill has reported the error
	}
	c.selectColumns()
	own, does := conflictOf(stmt, h.mysql)
	if does == updates && h.keepGenerated(c, r) {
		own, does = conflictOf(stmt, h.mysql)
	}
	if h.mayMislead(p, own, does, c) {
		h.watch(c, own, does, r)
	}
	if c.changes != nil || c.conflict != nil {
		h.remember(c)
	}
}

// mayMislead reports whether a record may end up with an ID that its row does not have. For the conflict clauses that
// GORM gives to associations that is DO NOTHING with new records; on MySQL it is any clause with new records. The other
// clauses have the key as their target.
func (h *handle) mayMislead(p *plan, own clause.OnConflict, does outcome, c *creation) bool {
	gave := len(c.given) > 0
	switch does {
	case skips:
		return gave
	case updates:
		if p.key == nil {
			return gave
		}
		if targetsKey(p, own) { // then the existing row has the record's key
			return c.generated() != nil || h.mysql && gave // but MySQL ignores targets
		}
		return true
	default:
		return false
	}
}

// targetsKey reports whether only rows with the record's key, which the plugin fills, conflict with it.
func targetsKey(p *plan, own clause.OnConflict) bool {
	switch {
	case p.key == nil, own.OnConstraint != "":
		return false
	case len(own.Columns) == 0:
		return own.UpdateAll // GORM makes the primary key the target
	}
	return slices.ContainsFunc(own.Columns, func(column clause.Column) bool {
		return column.Name == p.key.field.DBName || column.Name == clause.PrimaryKey
	})
}

// watch chooses the source for settle, and changes the clauses for it.
func (h *handle) watch(c *creation, own clause.OnConflict, does outcome, r *records) {
	key := r.plan.key
	returning, all := returningOf(c.stmt, h.returning)
	if does == skips && all && r.list {
		return // GORM replaces the slice by the rows that are returned
	}
	c.conflict = &conflict{OnConflict: own, does: does, records: r, before: r.loadAll()}
	switch {
	case does == updates && h.canReturn(r):
		c.returnColumns()
		c.conflict.source = returned
	case h.mysql && !returning && hasOwnConflict(c.stmt) && key != nil && isNumber(key.field) && c.generated() == nil:
		c.noteRowsMet(key)
		c.conflict.source = lastInsert
	case does == updates, h.mysql, returning: // GORM counts rows wrongly for DO NOTHING with RETURNING
		c.conflict.source = ask
	}
	if fields := returnedFields(c.stmt, h.returning); fields != nil && !r.isMap && r.settable() {
		c.conflict.noteFields(fields)
	}
}

// noteFields notes what the records have in the columns, and in the fields that RETURNING will set.
func (s *conflict) noteFields(returned []*schema.Field) {
	for _, column := range s.records.columns {
		s.fields = append(s.fields, column.field)
	}
	for _, field := range returned {
		if !slices.Contains(s.fields, field) {
			s.others = append(s.others, field)
		}
	}
	if s.records.at(0).Type() == s.records.plan.schema.ModelType {
		s.fields = append(s.fields, s.others...)
	}
	s.held = s.records.fieldValues(s.fields)
}

// canReturn reports whether RETURNING can put the columns of each row into its record. GORM does not scan into slices
// of maps. It assigns the rows to the records in order; settle notices if a WHERE of DO UPDATE has left out rows.
func (h *handle) canReturn(r *records) bool {
	unreadable := func(c *column) bool { return !c.field.Readable }
	return h.returning && r.settable() && !r.manyMaps && !slices.ContainsFunc(r.columns, unreadable)
}

// returnColumns adds the columns to RETURNING.
func (c *creation) returnColumns() {
	var own []clause.Column
	was, there := c.stmt.Clauses["RETURNING"]
	if there {
		expression, _ := was.Expression.(clause.Returning)
		if own = expression.Columns; len(own) == 0 {
			return // all
		}
	}
	columns := slices.Clone(own)
	add := func(name string) {
		named := func(column clause.Column) bool { return column.Name == name || column.Name == "*" }
		if !slices.ContainsFunc(columns, named) {
			columns = append(columns, clause.Column{Name: name})
		}
	}
	for _, column := range c.columns {
		add(column.field.DBName)
	}
	if !there {
		for _, field := range c.stmt.Schema.FieldsWithDefaultDBValue { // what GORM would have returned
			if field.Readable {
				add(field.DBName)
			}
		}
	}
	if len(columns) > len(own) {
		c.setClause("RETURNING", clause.Returning{Columns: columns})
	}
}

// noteRowsMet makes MySQL keep the key of the existing row as the last AUTO_INCREMENT value, which the driver returns:
// https://dev.mysql.com/doc/refman/8.4/en/insert-on-duplicate.html. It changes nothing in the row if the key is a
// number: the key is set to itself, not to LAST_INSERT_ID, which is unsigned and would replace a negative key.
func (c *creation) noteRowsMet(key *column) {
	name := clause.Column{Name: key.field.DBName}
	changed := c.conflict.OnConflict
	changed.DoNothing = false
	changed.DoUpdates = append(clause.Set{
		{Column: name, Value: clause.Expr{SQL: "IF(LAST_INSERT_ID(?), ?, ?)", Vars: []any{name, name, name}}},
	}, changed.DoUpdates...)
	c.setClause("ON CONFLICT", changed)
	if c.stmt.Result == nil {
		c.stmt.Result, c.changes.resultMade = gorm.WithResult(), true
	}
}

// keepGenerated changes the conflict clause for rule 3: rows keep what they have in the columns beside the key that the
// plugin filled. It reports whether it has changed anything.
func (h *handle) keepGenerated(c *creation, r *records) bool {
	if c.generated() == nil || !hasOwnConflict(c.stmt) {
		return false
	}
	own, ok := c.stmt.Clauses["ON CONFLICT"].Expression.(clause.OnConflict)
	if !ok {
		return false
	}
	changed := c.saveClause("ON CONFLICT")
	if own.UpdateAll {
		own = expandUpdateAll(c.stmt)
	}
	var sets clause.Set
	var last clause.Column
	for _, set := range own.DoUpdates {
		ids := c.generatedFor(set, r)
		if len(ids) == r.n {
			last = set.Column
			continue
		}
		if len(ids) > 0 {
			set.Value = h.unlessIn(ids, set.Column.Name)
		}
		sets = append(sets, set)
	}
	if own.DoUpdates = sets; len(sets) == 0 && last.Name != "" { // DO NOTHING would return nothing
		current := clause.Column{Table: clause.CurrentTable, Name: last.Name}
		own.DoUpdates, own.DoNothing = clause.Set{{Column: last, Value: current}}, false
	}
	changed.Expression = own
	c.stmt.Clauses["ON CONFLICT"] = changed
	return true
}

// generatedFor returns the IDs that the plugin gave to records, and that an assignment would write into their rows. A
// hook may have replaced others.
func (c *creation) generatedFor(set clause.Assignment, r *records) (ids []any) {
	from, ok := set.Value.(clause.Column)
	j := slices.IndexFunc(c.columns, func(column *column) bool { return !column.isKey && column.field.DBName == from.Name })
	if !ok || from.Table != "excluded" || from.Name != set.Column.Name || j < 0 {
		return nil
	}
	for i := range r.n {
		if id := c.gaveID(i, j); id != 0 && r.load(i, c.columns[j]).id == id {
			ids = append(ids, c.columns[j].goValue(value{id: id}))
		}
	}
	return ids
}

// unlessIn returns the value for an assignment that writes the record's value, unless that is one of the IDs.
func (h *handle) unlessIn(ids []any, name string) clause.Expression {
	own, word := clause.Column{Table: "excluded", Name: name}, "?"
	if h.mysql {
		own.Table, word = "", "VALUES(?)"
	}
	return clause.Expr{
		SQL:  "CASE WHEN " + word + " IN ? THEN ? ELSE " + word + " END",
		Vars: []any{own, ids, clause.Column{Table: clause.CurrentTable, Name: name}, own},
	}
}
