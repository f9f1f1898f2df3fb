package gormplugin

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"
)

// target is the column that a condition on IDs is about.
type target struct {
	stmt   *gorm.Statement
	column clause.Column
	field  *schema.Field // nil if the column is none of the model's, or there is no model
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
		// Not clause.PrimaryKey: GORM takes the first column for it if no key is prioritized.
		if t.field = stmt.Schema.PrioritizedPrimaryField; t.field == nil {
			return t, fmt.Errorf("gormplugin: %s has no key of its own: %w", stmt.Schema.Name, gorm.ErrPrimaryKeyRequired)
		}
	case strings.Contains(name, "."):
		t.column.Table = "" // the name has it
	case stmt.Schema != nil:
		t.field = stmt.Schema.LookUpField(name)
	}
	if t.field != nil {
		t.column.Name = t.field.DBName
		if !isNumber(t.field) {
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

// textType matches the types of columns that sort by their characters or bytes.
var textType = regexp.MustCompile(`(?i)char|text|clob|string|byte|binary|blob|uuid`)

// isNumber reports whether the field's column sorts as its IDs do.
func isNumber(field *schema.Field) bool {
	switch {
	case field.Serializer != nil,
		textType.MatchString(string(field.GORMDataType)), textType.MatchString(string(field.DataType)):
		return false
	}
	return isKeyType(field.FieldType) || isInteger(field.FieldType) || field.GORMDataType == "bigint" // sqltypes.Null
}

// isKeyType reports whether t, or what it points to, is made for IDs.
func isKeyType(t reflect.Type) bool { return kindOfKey(indirect(t)) != notAKey }

// isInteger reports whether t is an integer or a pointer to one.
func isInteger(t reflect.Type) bool {
	kind := indirect(t).Kind()
	return reflect.Int <= kind && kind <= reflect.Uint64
}
