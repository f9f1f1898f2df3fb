package gormplugin

import (
	"database/sql/driver"
	"fmt"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"github.com/sqlflake/sqlflake/gormplugin/internal/model"
)

// target is the column that a condition on IDs is about.
type target struct {
	stmt   *gorm.Statement
	column clause.Column
	field  *schema.Field // nil if the model has no such column, or there is no model
}

// targetOf finds a column by the name of a column or field, or GORM's prioritized primary field if the name is empty.
func targetOf(builder clause.Builder, name string) (target, error) {
	stmt, ok := builder.(*gorm.Statement)
	if !ok {
		return target{}, fmt.Errorf("gormplugin: a condition on IDs in a %T: %w", builder, gorm.ErrInvalidValue)
	}

	t := target{stmt: stmt, column: clause.Column{Table: clause.CurrentTable, Name: name}}
	switch {
	case name == "" && stmt.Schema == nil:
		return t, fmt.Errorf("gormplugin: a condition on the primary key: %w", gorm.ErrModelValueRequired)
	case name == "":
		// Not clause.PrimaryKey: if no key is prioritized, GORM takes the first column for it.
		if t.field = stmt.Schema.PrioritizedPrimaryField; t.field == nil {
			return t, fmt.Errorf("gormplugin: %s has no prioritized primary key: %w",
				stmt.Schema.Name, gorm.ErrPrimaryKeyRequired)
		}
	case strings.Contains(name, "."):
		t.column.Table = "" // the name has it
	case stmt.Schema != nil:
		t.field = stmt.Schema.LookUpField(name)
	}

	if t.field != nil {
		t.column.Name = t.field.DBName
		if !model.IsNumber(t.field) {
			return t, fmt.Errorf("gormplugin: %s is no number (%s, %s): %w",
				t, t.field.FieldType, t.field.DataType, schema.ErrUnsupportedDataType)
		}
	}

	if stmt.Table == "" {
		t.column.Table = ""
	}
	return t, nil
}

func (t target) String() string {
	if t.column.Table == "" {
		return t.column.Name
	}
	return t.stmt.Table + "." + t.column.Name
}

// fail makes the statement that is being built return err instead of being executed. GORM builds a subquery on another
// handle and drops that handle's error, so the outer statement would run without the condition. Hence the second guard:
// an argument that cannot be sent.
func fail(builder clause.Builder, err error) {
	_ = builder.AddError(err)
	builder.AddVar(builder, unsendable{err})
}

// unsendable is an argument that database/sql and the drivers reject with its error.
type unsendable struct{ err error }

func (u unsendable) Value() (driver.Value, error) { return nil, u.err }

// expression is one that builds itself.
type expression func(builder clause.Builder)

func (e expression) Build(builder clause.Builder) { e(builder) }

// write writes to a statement in memory, which never fails.
func write(builder clause.Builder, s string) { _, _ = builder.WriteString(s) }
