package gormplugin

import (
	"database/sql/driver"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"github.com/sqlflake/sqlflake/gormplugin/internal/model"
	"github.com/sqlflake/sqlflake/snowflake"
)

// Created is a condition on the timestamp in a key. It finds rows by creation time through the index of the primary
// key, without a created_at column. [CreatedBetween], [CreatedSince] and [CreatedBefore] make it:
//
//	db.Where(gormplugin.CreatedSince(yesterday)).Find(&orders)
//	db.Delete(&Session{}, gormplugin.CreatedBefore(cutoff))
//
// It goes wherever GORM takes a condition: Where, Not, Or, Clauses, scopes, Preload, the generics API, updates and
// subqueries. The column is GORM's prioritized primary field of the model; [Created.On] names another. Conditions of a
// join, as in Joins("Customer", db.Where(cond)), need On("id"): GORM does not pass the model.
//
// The layout comes from the generator that fills the column, by its method Layout() snowflake.Layout. For other columns
// of an ID type, such as foreign keys, and without a model, all generators of the plugin must have one layout, which is
// used. Otherwise, without a plugin, and for columns of other types, [Created.In] is needed.
//
// The time of an ID is the start of its tick: see [snowflake.Layout.Time]. With a time in two parts the condition also
// compares those bits of the key: see [snowflake.Layout.MaskedRanges]. Bounds before the epoch or after the last tick
// are valid. No Created finds negative numbers. Old auto-increment keys look like IDs of the first ticks of the layout:
// give the plugin [WithMinID], or CreatedBefore finds all of them. Then neither a Created nor its negation by Not finds
// keys below that number; query them by `id < ?`. On a handle without the plugin, use CreatedBetween with the time of
// the move.
//
// The statement fails, and is not executed, with an error that wraps
//
//   - [snowflake.ErrInvalidRange] if from is after to;
//   - [ErrCondition] if the layout is not known, or if a bound is the zero Time, which is usually a forgotten one and
//     would turn a deletion of some rows into one of all;
//   - [snowflake.ErrFieldOrder] if fields above the time would split the span into more than 256 key ranges;
//   - [ErrTag]; gorm.ErrModelValueRequired or gorm.ErrPrimaryKeyRequired without a column; and
//     schema.ErrUnsupportedDataType for a column of text or bytes, also by a tag such as type:varchar(20).
//
// That also holds in a subquery, where GORM drops the errors of other conditions. A Created is immutable and safe for
// concurrent use. The zero Created has no bound and fails with ErrCondition.
type Created struct {
	from, to *time.Time
	layout   *snowflake.Layout
	column   string
}

// CreatedBetween matches rows whose key was made in [from, to). If the two are equal it matches none.
func CreatedBetween(from, to time.Time) Created { return Created{from: &from, to: &to} }

// CreatedSince matches rows whose key was made at t or later.
func CreatedSince(t time.Time) Created { return Created{from: &t} }

// CreatedBefore matches rows whose key was made before t, and all old auto-increment keys unless the plugin has
// [WithMinID].
func CreatedBefore(t time.Time) Created { return Created{to: &t} }

// In returns the condition for a column whose IDs have the layout l, whatever generator the handle has.
func (c Created) In(l snowflake.Layout) Created {
	c.layout = &l
	return c
}

// On returns the condition on another column of IDs: a field or column of the model, such as "order_id", or a column of
// a joined table, such as "orders.id".
func (c Created) On(column string) Created {
	c.column = column
	return c
}

// Build writes the condition. GORM calls it.
func (c Created) Build(builder clause.Builder) {
	t, err := targetOf(builder, c.column)
	if err != nil {
		fail(builder, err)
		return
	}
	ranges, mask, times, err := c.ranges(t)
	if err != nil {
		fail(builder, err)
		return
	}

	keys := func(r snowflake.Range) []clause.Expression {
		bounds := []clause.Expression{clause.Gte{Column: t.column, Value: max(r.Lo, t.minID())}}
		if c.to != nil || len(ranges) > 1 {
			bounds = append(bounds, clause.Lt{Column: t.column, Value: r.Hi})
		}
		return bounds
	}

	all := keys(ranges[0])
	if len(ranges) > 1 {
		all = []clause.Expression{expression(func(builder clause.Builder) {
			for i, r := range ranges {
				write(builder, [...]string{"(", " OR "}[min(i, 1)])
				clause.And(keys(r)...).Build(builder)
			}
			write(builder, ")")
		})}
	}

	if mask != 0 && c.from != nil {
		all = append(all, clause.Expr{SQL: "(? & ?) >= ?", Vars: []any{t.column, mask, times.Lo}})
	}
	if mask != 0 && c.to != nil { // as another expression: PostgreSQL expects 0.5 % of the rows between bounds of one
		all = append(all, clause.Expr{SQL: "(? & ?) < ?", Vars: []any{mask, t.column, times.Hi}})
	}

	clause.And(all...).Build(builder) // several in parentheses, since GORM's Not and Or add none
}

// NegationBuild writes the opposite of the condition. It also finds negative keys, but with [WithMinID] no keys below
// that bound. GORM calls it.
func (c Created) NegationBuild(builder clause.Builder) {
	if t, err := targetOf(builder, c.column); err == nil && t.minID() > 0 { // Build reports the error
		write(builder, "(")
		clause.Gte{Column: t.column, Value: t.minID()}.Build(builder)
		write(builder, " AND ")
		defer write(builder, ")")
	}

	write(builder, "NOT (")
	c.Build(builder)
	write(builder, ")")
}

// ranges calls snowflake.Layout.MaskedRanges with the bounds of the condition. Without an upper bound Build writes no
// upper bound of the times, and one of the key only if there are several ranges.
func (c Created) ranges(t target) (ranges []snowflake.Range, mask snowflake.ID, times snowflake.Range, err error) {
	var layout snowflake.Layout
	if c.layout != nil {
		layout = *c.layout
	} else if layout, err = t.layout(); err != nil {
		return nil, 0, times, err
	}

	from, to := time.Time{}, time.Unix(1<<62, 0) // before every epoch, and after the last tick of every layout
	if c.from != nil {
		from = *c.from
	}
	if c.to != nil {
		to = *c.to
	}
	hasZeroFrom := c.from != nil && from.IsZero()
	switch {
	case c.from == nil && c.to == nil:
		return nil, 0, times, fmt.Errorf("%w: a Created of %s has no bound: make it with CreatedBetween, CreatedSince "+
			"or CreatedBefore", ErrCondition, t)
	case hasZeroFrom:
		return nil, 0, times, fmt.Errorf("%w: the lower bound of %s is the zero time; CreatedBefore has none",
			ErrCondition, t)
	case to.IsZero():
		return nil, 0, times, fmt.Errorf("%w: the upper bound of %s is the zero time; CreatedSince has none",
			ErrCondition, t)
	}

	if ranges, mask, times, err = layout.MaskedRanges(from, to); err != nil {
		err = fmt.Errorf("gormplugin: times of %s: %w", t, err)
	}
	return ranges, mask, times, err
}

// minID returns the least ID of the handle's columns, 0 if that is not known.
func (t target) minID() snowflake.ID {
	if p := of(t.stmt.DB); p != nil {
		return p.minID
	}
	return 0
}

// layout returns the layout of the IDs in the column. It comes from the generator that fills the column. If the plugin
// does not fill it, all generators must have one layout.
func (t target) layout() (common snowflake.Layout, err error) {
	p := of(t.stmt.DB)
	if p == nil {
		return common, t.noLayout("the handle has no plugin")
	}

	generators := []Generator{p.rules.Default}
	for _, name := range slices.Sorted(maps.Keys(p.rules.Named)) {
		generators = append(generators, p.rules.Named[name])
	}

	if t.field != nil {
		switch column, err := p.rules.ColumnOf(t.field); {
		case err != nil:
			return common, err
		case column != nil:
			generators = []Generator{column.Gen}
		case model.IsInteger(t.field.FieldType) && !model.IsKeyType(t.field.FieldType):
			return common, t.noLayout("the plugin does not fill it (%s)", t.field.FieldType)
		}
	}

	for i, gen := range generators {
		l, ok := gen.(layouter)
		if !ok {
			return common, t.noLayout("a %T has no method Layout", gen)
		}
		if i > 0 && l.Layout() != common {
			return common, t.noLayout("the generators have %s and %s", common, l.Layout())
		}
		common = l.Layout()
	}
	return common, nil
}

func (t target) noLayout(format string, args ...any) error {
	return fmt.Errorf("%w: the layout of %s is not known, since "+format+"; use Created.In",
		append([]any{ErrCondition, t}, args...)...)
}

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
