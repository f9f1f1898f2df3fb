package gormplugin

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/snowflake"
)

// fill is the callback that gives keys to records. It sets either all keys that a statement lacks or none.
func (h *handle) fill(db *gorm.DB) {
	stmt := db.Statement
	if db.Error != nil || stmt.Schema == nil {
		return
	}
	p := h.planOf(stmt.Schema)
	if p.field == nil {
		return
	}
	if selectionOf(stmt, p.field) == omitted {
		return
	}
	var r records
	ok, err := r.of(p, stmt)
	if err != nil {
		_ = db.AddError(err)
	}
	if !ok {
		return
	}
	lacking, ok := r.lacking()
	if !ok {
		return
	}
	if lacking > 0 && !r.settable() {
		_ = db.AddError(fmt.Errorf("gormplugin: %s by value cannot take its key, pass a pointer: %w",
			r.at(0).Type(), gorm.ErrInvalidValue))
		return
	}

	tracked := h.mayConflict(stmt, p, lacking)
	var given []snowflake.ID
	if lacking > 0 {
		ids := make([]snowflake.ID, lacking)
		if err := h.draw(stmt.Context, ids); err != nil {
			_ = db.AddError(fmt.Errorf("gormplugin: %d keys for %s: %w", lacking, stmt.Schema.Name, err))
			return
		}
		if tracked {
			given = make([]snowflake.ID, r.n)
		}
		if unused := r.fill(ids, given); unused > 0 {
			given = h.dropRepeated(stmt, given)
		}
	}
	if tracked {
		remember(&undo{statement: stmt, given: given})
	}
}

// draw fills ids, in one call of the generator.
func (h *handle) draw(ctx context.Context, ids []snowflake.ID) error {
	if err := h.gen.Fill(ctx, ids); err != nil {
		return err
	}
	if slices.Contains(ids, 0) {
		return ErrZeroID
	}
	return nil
}

// dropRepeated leaves one of several equal pointers in a slice whose rows may be updated. Without keys of their own GORM
// takes them for several new rows, but now they have one key, and PostgreSQL refuses to update a row twice in a statement
// (SQLSTATE 21000). Several owners that share a new record in a has-many relation lead here. It returns given without what
// was dropped.
func (h *handle) dropRepeated(stmt *gorm.Statement, given []snowflake.ID) []snowflake.ID {
	list := stmt.ReflectValue
	if _, does := h.conflictOf(stmt); does != updates || list.Kind() != reflect.Slice || list.Type().Elem().Kind() != reflect.Pointer {
		return given
	}
	seen := make(map[uintptr]struct{}, list.Len())
	distinct := reflect.New(list.Type()).Elem()
	var kept []snowflake.ID
	for i := range list.Len() {
		element := list.Index(i)
		if _, again := seen[element.Pointer()]; again {
			continue
		}
		seen[element.Pointer()] = struct{}{}
		distinct.Set(reflect.Append(distinct, element))
		if given != nil {
			kept = append(kept, given[i])
		}
	}
	stmt.ReflectValue = distinct
	return kept
}
