package gormplugin

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/snowflake"
)

// leasedGenerator is the generator of a lease.
type leasedGenerator struct {
	*snowflake.Generator
	store *leaseStore
}

// Fill adds the reason to snowflake.ErrLeaseStalled, if one is known.
func (g *leasedGenerator) Fill(ctx context.Context, dst []snowflake.ID) error {
	err := g.Generator.Fill(ctx, dst)
	if errors.Is(err, snowflake.ErrLeaseStalled) {
		if failure := g.store.failure.Load(); failure != nil {
			return fmt.Errorf("%w; the extension fails: %v", err, *failure) //nolint:errorlint // its context is not the caller's
		}
	}
	return err
}

// wait returns the callback that waits for a lease whose horizon has passed, after an outage or the sleep of a laptop, before
// GORM takes a connection for the transaction. If all waiting calls held one, there might be none left for the extension.
func (h *handle) wait(gen *leasedGenerator) func(db *gorm.DB) {
	return func(db *gorm.DB) {
		stmt := db.Statement
		if gen.store.isFresh() || db.Error != nil || stmt.Schema == nil {
			return
		}
		if _, inTransaction := stmt.ConnPool.(gorm.TxCommitter); inTransaction || !h.takesFrom(gen, stmt) {
			return
		}
		var unused [1]snowflake.ID // comes when the horizon has risen
		if err := draw(stmt.Context, gen, unused[:], stmt.Schema.Name); err != nil {
			_ = db.AddError(err)
		}
	}
}

// takesFrom reports whether fill will take IDs for the statement from gen. For statements with an error, which fill reports,
// it returns false.
func (h *handle) takesFrom(gen Generator, stmt *gorm.Statement) bool {
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
		if n > 0 && isSame(h.generatorOf(r.columns[j]), gen) {
			return true
		}
	}
	return false
}
