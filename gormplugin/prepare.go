package gormplugin

import (
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/sqlflake/sqlflake/snowflake"
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
	before  []snowflake.ID // the keys before the statement, of all records
}

// prepare is the callback that arranges, after the hooks and before the statement is built, that the keys are written,
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
	if p.field == nil {
		return
	}
	var r records
	if ok, err := r.of(p, stmt); !ok || err != nil {
		return // fill has said so
	}
	if selectionOf(stmt, p.field) == notSelected {
		if u == nil {
			u = &undo{statement: stmt}
			remember(u)
		}
		u.selectKey(p.field)
	}
	if c, does := h.conflictOf(stmt); u != nil && h.mayMislead(p, c, does, len(u.given)) {
		h.prepareConflict(u, c, does, &r)
	}
}

func (h *handle) prepareConflict(u *undo, c clause.OnConflict, does outcome, r *records) {
	stmt, p := u.statement, r.plan
	u.conflict = &conflict{OnConflict: c, does: does, records: r, before: make([]snowflake.ID, r.n)}
	for i := range r.n {
		u.conflict.before[i] = r.key(i)
	}

	returning, all := h.returningOf(stmt)
	switch {
	case does == skips && all && r.list && !h.mysql:
		u.conflict = nil // GORM replaces the slice by the rows that were inserted
	case does == updates && h.canReturnKeys(p, r):
		u.returnKeys(p)
		u.conflict.source = returned
	case h.mysql && !returning && hasOwnConflict(stmt):
		u.noteRowsMet(p)
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

// canReturnKeys reports whether RETURNING can put each key into its record. GORM does not scan into slices of maps. That it
// goes by the order of the rows, of which the WHERE of a DO UPDATE may leave out some, is for settle to look after.
func (h *handle) canReturnKeys(p *plan, r *records) bool {
	return h.returning && p.field.Readable && r.settable() && !r.manyMaps
}

// returnKeys adds the key to RETURNING.
func (u *undo) returnKeys(p *plan) {
	stmt := u.statement
	key := clause.Column{Name: p.field.DBName}
	if c, ok := stmt.Clauses["RETURNING"]; ok {
		own, _ := c.Expression.(clause.Returning)
		named := func(column clause.Column) bool { return column.Name == key.Name || column.Name == "*" }
		if len(own.Columns) > 0 && !slices.ContainsFunc(own.Columns, named) {
			u.setClause("RETURNING", clause.Returning{Columns: append(slices.Clone(own.Columns), key)})
		}
		return
	}
	columns := []clause.Column{key}
	for _, field := range stmt.Schema.FieldsWithDefaultDBValue { // what GORM would have returned
		if field.Readable {
			columns = append(columns, clause.Column{Name: field.DBName})
		}
	}
	u.setClause("RETURNING", clause.Returning{Columns: columns})
}

// noteRowsMet makes MySQL remember the key of a row that is met, in the place for the last AUTO_INCREMENT value:
// https://dev.mysql.com/doc/refman/8.4/en/insert-on-duplicate.html. It changes nothing in the row.
func (u *undo) noteRowsMet(p *plan) {
	key := clause.Column{Name: p.field.DBName}
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
