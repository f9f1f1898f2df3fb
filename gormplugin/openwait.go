package gormplugin

import (
	"fmt"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/snowflake"
)

const callbackWait = Name + ":wait_for_lease"

// registerWait registers wait. Without the default transaction there is nothing that it could be before.
func (h *handle) registerWait(db *gorm.DB) error {
	create := db.Callback().Create()
	gen, leased := h.plugin.gen.(*leasedGenerator)
	if !leased || create.Get("gorm:begin_transaction") == nil {
		return nil
	}
	return create.Before("gorm:begin_transaction").Register(callbackWait, func(db *gorm.DB) { h.wait(db, gen) })
}

// wait is the callback that waits for a lease whose horizon has passed, after an outage or the sleep of a laptop, before
// GORM takes a connection for the transaction. If all who wait held one, there might be none left for the extension.
func (h *handle) wait(db *gorm.DB, gen *leasedGenerator) {
	stmt := db.Statement
	if gen.store.isFresh() || db.Error != nil || stmt.Schema == nil {
		return
	}
	if h.plugin.afterHooks && (stmt.Schema.BeforeCreate || stmt.Schema.BeforeSave) && !stmt.SkipHooks {
		return // they may set the key, so that no ID is needed
	}
	if _, inTransaction := stmt.ConnPool.(gorm.TxCommitter); inTransaction || !h.draws(stmt, gen) {
		return
	}
	var spare [1]snowflake.ID // comes when the horizon has risen
	if err := gen.Fill(stmt.Context, spare[:]); err != nil {
		_ = db.AddError(fmt.Errorf("gormplugin: IDs for %s: %w", stmt.Schema.Name, err))
	}
}

// draws reports whether fill will take IDs for the statement from gen. Statements with an error, which fill reports, don't.
func (h *handle) draws(stmt *gorm.Statement, gen Generator) bool {
	p := h.planOf(stmt.Schema)
	if p.err != nil {
		return false
	}
	r := records{plan: p, columns: p.active(stmt)}
	if len(r.columns) == 0 {
		return false
	}
	if ok, err := r.of(stmt); !ok || err != nil {
		return false
	}
	lacking, ok := r.lacking()
	if !ok || !r.settable() {
		return false
	}
	for j, n := range lacking {
		if n == 0 {
			continue
		}
		if own, err := p.generator(stmt, r.columns[j]); err == nil && same(own, gen) {
			return true
		}
	}
	return false
}
