package gormplugin

import (
	"fmt"
	"reflect"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/snowflake"
)

// fillPlain is the short way for what most statements are: structs of the model with one integer key, and no clause,
// selection or hook by which more could matter. done is false if a statement is something else.
func (h *handle) fillPlain(p *plan, stmt *gorm.Statement) (done bool, err error) {
	c, s := p.plain, stmt.Schema
	if c == nil || len(stmt.Clauses) > 0 || len(stmt.Selects) > 0 || len(stmt.Omits) > 0 || len(s.CreateClauses) > 0 ||
		(s.BeforeCreate || s.BeforeSave) && !stmt.SkipHooks {
		return false, nil
	}
	value := stmt.ReflectValue
	switch value.Kind() {
	case reflect.Struct:
		if !value.CanSet() || value.Type() != s.ModelType {
			return false, nil
		}
		if field := c.position(value); field.Int() == 0 {
			ids := make([]snowflake.ID, 1)
			if err := p.drawPlain(stmt, ids); err != nil {
				return true, err
			}
			field.SetInt(int64(ids[0]))
		}
		return true, nil
	case reflect.Slice:
		switch element := value.Type().Elem(); {
		case element == s.ModelType:
			return true, p.fillPlainList(stmt, value, false)
		case element.Kind() == reflect.Pointer && element.Elem() == s.ModelType:
			return true, p.fillPlainList(stmt, value, true)
		}
	}
	return false, nil
}

func (p *plan) fillPlainList(stmt *gorm.Statement, list reflect.Value, pointers bool) error {
	n, lacking := list.Len(), 0
	for i := range n {
		record := list.Index(i)
		if pointers {
			if record = record.Elem(); !record.IsValid() {
				return nil // GORM returns gorm.ErrInvalidData later
			}
		}
		if p.plain.position(record).Int() == 0 {
			lacking++
		}
	}
	if lacking == 0 {
		return nil
	}
	ids := make([]snowflake.ID, lacking)
	if err := p.drawPlain(stmt, ids); err != nil {
		return err
	}
	for i := 0; i < n && len(ids) > 0; i++ {
		record := list.Index(i)
		if pointers {
			record = record.Elem()
		}
		if field := p.plain.position(record); field.Int() == 0 { // a pointer may be there twice
			field.SetInt(int64(ids[0]))
			ids = ids[1:]
		}
	}
	return nil
}

func (p *plan) drawPlain(stmt *gorm.Statement, ids []snowflake.ID) error {
	gen, err := p.generator(stmt, p.plain)
	if err != nil {
		return err
	}
	if err := draw(stmt.Context, gen, ids); err != nil {
		return fmt.Errorf("gormplugin: IDs for %s: %w", stmt.Schema.Name, err)
	}
	return nil
}
