package gormplugin

import (
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// source says how settle learns what became of the records.
type source uint8

const (
	rowCount   source = iota // from the number of rows, where only inserted ones count
	returned                 // RETURNING has put the keys of the rows into the records
	lastInsert               // MySQL's LAST_INSERT_ID holds the key of a row that was met
	ask                      // by a query
)

// conflict is what prepare leaves for settle.
type conflict struct {
	clause.OnConflict
	does    outcome
	source  source
	records *records
	before  []value // what the records had before the statement, for each record and column
}

// prepare is the callback that arranges, after the hooks and before the statement is built, that the IDs are written,
// and that settle can find out those of the rows.
func (h *handle) prepare(db *gorm.DB) {
	stmt := db.Statement
	if db.Error != nil || stmt.Schema == nil {
		return
	}
	u := undoOf(stmt)
	if u == nil && len(stmt.Selects) == 0 {
		return
	}
	p := h.planOf(stmt.Schema)
	if len(p.columns) == 0 {
		return
	}
	tracked := u != nil
	if !tracked {
		u = &undo{statement: stmt, columns: p.active(stmt)}
	}
	r := &records{plan: p, columns: u.columns}
	if ok, err := r.of(stmt); !ok || err != nil {
		return // fill has said so
	}
	u.selectColumns()
	if !tracked {
		if u.selectsChanged {
			remember(u)
		}
		return
	}
	if r.mayBeBackFilled() {
		u.backFilled, u.before = r, r.loadAll()
	}
	c, does := h.conflictOf(stmt)
	if does == updates && u.keepGenerated() {
		c, does = h.conflictOf(stmt)
	}
	if h.mayMislead(p, c, does, len(u.given) > 0, u.gaveToOthers()) {
		h.prepareConflict(u, c, does, r)
	}
}

func (h *handle) prepareConflict(u *undo, c clause.OnConflict, does outcome, r *records) {
	stmt, p := u.statement, r.plan
	u.conflict = &conflict{OnConflict: c, does: does, records: r, before: r.loadAll()}
	returning, all := h.returningOf(stmt)
	switch {
	case does == skips && all && r.list && !h.mysql:
		u.conflict = nil // GORM replaces the slice by the rows that were inserted
	case does == updates && h.canReturn(r):
		u.returnColumns()
		u.conflict.source = returned
	case h.mysql && !returning && hasOwnConflict(stmt) && p.key != nil && p.key.kind != text && !u.gaveToOthers():
		u.noteRowsMet(p.key)
		u.conflict.source = lastInsert
	case does == updates, h.mysql, returning: // GORM counts rows wrongly when DO NOTHING meets RETURNING
		u.conflict.source = ask
	}
}

// returningOf reports whether the statement will have a RETURNING clause, and whether that names all columns.
func (h *handle) returningOf(stmt *gorm.Statement) (there, all bool) {
	if !h.returning {
		return false, false
	}
	if c, ok := stmt.Clauses["RETURNING"]; ok {
		own, _ := c.Expression.(clause.Returning)
		return true, len(own.Columns) == 0 || (len(own.Columns) == 1 && own.Columns[0].Name == "*")
	}
	return len(stmt.Schema.FieldsWithDefaultDBValue) > 0, false
}

// canReturn reports whether RETURNING can put the columns of each row into its record. GORM does not scan into slices of
// maps. That it goes by the order of the rows, of which the WHERE of a DO UPDATE may leave out some, is for settle to look
// after.
func (h *handle) canReturn(r *records) bool {
	unreadable := func(c *column) bool { return !c.field.Readable }
	return h.returning && r.settable() && !r.manyMaps && !slices.ContainsFunc(r.columns, unreadable)
}

// returnColumns adds the columns to RETURNING.
func (u *undo) returnColumns() {
	stmt := u.statement
	var own []clause.Column
	c, there := stmt.Clauses["RETURNING"]
	if there {
		expression, _ := c.Expression.(clause.Returning)
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
	for _, c := range u.columns {
		add(c.field.DBName)
	}
	if !there {
		for _, field := range stmt.Schema.FieldsWithDefaultDBValue { // what GORM would have returned
			if field.Readable {
				add(field.DBName)
			}
		}
	}
	if len(columns) > len(own) {
		u.setClause("RETURNING", clause.Returning{Columns: columns})
	}
}

// noteRowsMet makes MySQL remember the key of a row that is met, in the place for the last AUTO_INCREMENT value:
// https://dev.mysql.com/doc/refman/8.4/en/insert-on-duplicate.html. It changes nothing in the row.
func (u *undo) noteRowsMet(c *column) {
	key := clause.Column{Name: c.field.DBName}
	changed := u.conflict.OnConflict
	changed.DoNothing = false
	changed.DoUpdates = append(clause.Set{
		{Column: key, Value: clause.Expr{SQL: "LAST_INSERT_ID(?)", Vars: []any{key}}},
	}, changed.DoUpdates...)
	u.setClause("ON CONFLICT", changed)
	if u.statement.Result == nil {
		u.statement.Result, u.resultMade = gorm.WithResult(), true
	}
}
