package gormplugin

import (
	"fmt"
	"reflect"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/snowflake"
)

// fill is the callback that gives IDs to records. It sets either all fields that a statement lacks or none.
func (h *handle) fill(db *gorm.DB) {
	stmt := db.Statement
	if db.Error != nil || stmt.Schema == nil {
		return
	}
	p := h.planOf(stmt.Schema)
	if p.err != nil {
		_ = db.AddError(p.err)
		return
	}
	if len(p.columns) == 0 {
		return
	}
	if p.key != nil && p.key.field.AutoIncrement {
		h.warn(stmt, p.key.field)
	}
	done, err := h.fillPlain(p, stmt)
	if !done {
		err = h.fillAny(p, stmt)
	}
	if err != nil {
		_ = db.AddError(err)
	}
}

// fillAny fills all shapes of records and all columns.
func (h *handle) fillAny(p *plan, stmt *gorm.Statement) error {
	columns := p.active(stmt)
	if len(columns) == 0 {
		return nil
	}
	r := records{plan: p, columns: columns}
	if ok, err := r.of(stmt); !ok {
		return err
	}
	lacking, ok := r.lacking()
	if !ok {
		return nil
	}
	var wanted, others int
	for j, n := range lacking {
		wanted += n
		if !columns[j].isKey {
			others += n
		}
	}
	if wanted > 0 && !r.settable() {
		return fmt.Errorf("gormplugin: %s by value cannot take its key, pass a pointer: %w", r.at(0).Type(), gorm.ErrInvalidValue)
	}

	u := &undo{statement: stmt, columns: columns}
	tracked := h.mayConflict(stmt, p, wanted > 0, others > 0) || r.mayBeBackFilled()
	if wanted > 0 {
		batches, err := r.batches(stmt, lacking)
		if err != nil {
			return err
		}
		if tracked {
			u.given = make([]snowflake.ID, r.n*len(columns))
		}
		if unused := r.fill(batches, u.given); unused {
			u.given = h.dropRepeated(stmt, u.given, len(columns))
		}
	}
	if tracked {
		remember(u)
	}
	return nil
}

// dropRepeated leaves one of several equal pointers in a slice whose rows may be updated. Without keys of their own GORM
// takes them for several new rows, but now they have one key, and PostgreSQL refuses to update a row twice in a statement
// (SQLSTATE 21000). Several owners that share a new record in a has-many relation lead here. It returns given, which has
// width entries for each record, without what was dropped.
func (h *handle) dropRepeated(stmt *gorm.Statement, given []snowflake.ID, width int) []snowflake.ID {
	list := stmt.ReflectValue
	if list.Kind() != reflect.Slice || list.Type().Elem().Kind() != reflect.Pointer {
		return given
	}
	if _, does := h.conflictOf(stmt); does != updates {
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
			kept = append(kept, given[i*width:(i+1)*width]...)
		}
	}
	stmt.ReflectValue = distinct
	return kept
}
