package gormplugin

import (
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm/clause"

	"github.com/sqlflake/sqlflake/snowflake"
)

// ErrZeroTime is wrapped by the error of a statement with a [Created] condition one of whose bounds is the zero time.Time.
var ErrZeroTime = errors.New("gormplugin: zero time")

// ErrNoLayout is wrapped by the error of a statement with a [Created] condition that cannot know what the bits of the
// column mean: the handle has no plugin, the generator has no method Layout, or the plugin does not fill the column and
// has generators of different layouts. [Created.In] tells.
var ErrNoLayout = errors.New("gormplugin: no layout")

// Created is a condition on the time that is in a key: rows created in some time, found by the index of the primary key,
// without a created_at column. [CreatedBetween], [Since] and [Before] make it. It goes wherever GORM takes a condition:
//
//	db.Where(gormplugin.Since(yesterday)).Find(&orders)
//	db.Delete(&Session{}, gormplugin.Before(cutoff))
//	gorm.G[Order](db).Where(gormplugin.CreatedBetween(monday, sunday)).Count(ctx, "*")
//
// and into Not, Or, Clauses, scopes, Preload, and conditions of updates and subqueries. The column is GORM's prioritized
// primary field of the statement's model, qualified with its table; [Created.On] names another. In a condition of a join,
// as in Joins("Customer", db.Where(cond)), GORM does not tell the model, and On("id") is needed.
//
// The layout is that of the generator that fills the column on this handle: by the field's tag, the session, [WithModel]
// or the default, in this order. The generator has to have a method Layout() snowflake.Layout, as *snowflake.Generator
// has. WithModel holds for one Go type: through another struct for the same table, use db.Model or [Created.In]. A foreign
// key of a belongs-to relation has the layout of the key it refers to. For other columns that the plugin
// does not fill, and without a model, any layout will do if all generators of the plugin have the same; else, and without
// a plugin, [Created.In] is needed. A key that the plugin would never fill, such as an auto-increment one, needs it too.
//
// The time of an ID is the start of the tick in which it was made, as the generator saw it: see [snowflake.Layout.Time].
// Times before the epoch and beyond the last tick are bounds like others: all keys are since the one and before the
// other. Numbers below the first tick, as keys from an auto-increment column before a migration, count as made at the
// epoch; negative ones were never made, and no Created finds them.
//
// The statement fails, and nothing is executed, with an error that wraps
//
//   - [snowflake.ErrInvalidRange] if from is after to;
//   - [ErrZeroTime] if a bound is the zero Time, which mostly is one that was forgotten, and would make a deletion of some
//     rows one of all: for "no bound" there are Since and Before;
//   - [snowflake.ErrFieldOrder] if the time is not the highest field of the layout, so that keys do not sort by it;
//   - [ErrNoLayout], [ErrTag]; gorm.ErrModelValueRequired or gorm.ErrPrimaryKeyRequired without a column; and
//     schema.ErrUnsupportedDataType for a column of text or bytes, also by a tag as type:varchar(20), which does not sort
//     as numbers do.
//
// That holds for a condition in a subquery as well, where GORM drops the errors of other conditions.
//
// A Created is an immutable value, safe for concurrent use. The zero Created has no bound and fails with ErrZeroTime.
type Created struct {
	from, to *time.Time
	layout   *snowflake.Layout
	column   string
}

// CreatedBetween is the condition that the key was made at from or later, and before to. If the two are equal it finds
// nothing.
func CreatedBetween(from, to time.Time) Created { return Created{from: &from, to: &to} }

// Since is the condition that the key was made at t or later.
func Since(t time.Time) Created { return Created{from: &t} }

// Before is the condition that the key was made before t.
func Before(t time.Time) Created { return Created{to: &t} }

// In returns the condition for a column whose IDs have the layout l, whatever generator the handle has.
func (c Created) In(l snowflake.Layout) Created {
	c.layout = &l
	return c
}

// On returns the condition on another column that has IDs, a field or column of the model, such as "order_id", or one of
// a joined table, such as "orders.id".
func (c Created) On(column string) Created {
	c.column = column
	return c
}

// Build writes the condition. GORM calls it.
func (c Created) Build(builder clause.Builder) {
	column, lo, hi, err := c.resolve(builder)
	if err != nil {
		fail(builder, err)
		return
	}
	if c.to == nil {
		builder.WriteQuoted(column)
		write(builder, " >= ")
		builder.AddVar(builder, lo)
		return
	}
	// In parentheses, since GORM's Not and Or add none.
	write(builder, "(")
	builder.WriteQuoted(column)
	write(builder, " >= ")
	builder.AddVar(builder, lo)
	write(builder, " AND ")
	builder.WriteQuoted(column)
	write(builder, " < ")
	builder.AddVar(builder, hi)
	write(builder, ")")
}

// NegationBuild writes the opposite of the condition, which also finds negative keys. GORM calls it.
func (c Created) NegationBuild(builder clause.Builder) {
	write(builder, "NOT (")
	c.Build(builder)
	write(builder, ")")
}

func (c Created) resolve(builder clause.Builder) (column clause.Column, lo, hi snowflake.ID, err error) {
	target, err := targetOf(builder, c.column)
	if err != nil {
		return column, 0, 0, err
	}
	var layout snowflake.Layout
	if c.layout != nil {
		layout = *c.layout
	} else if layout, err = target.layout(); err != nil {
		return column, 0, 0, err
	}
	if lo, hi, err = c.bounds(layout, target); err != nil {
		return column, 0, 0, err
	}
	return target.column, lo, hi, nil
}

// bounds returns the least key and, if there is an upper bound, the least key above the last.
func (c Created) bounds(layout snowflake.Layout, t target) (lo, hi snowflake.ID, err error) {
	if c.from == nil && c.to == nil {
		return 0, 0, fmt.Errorf("%w: no bound of %s", ErrZeroTime, t)
	}
	for _, bound := range []*time.Time{c.from, c.to} {
		if bound != nil && bound.IsZero() {
			return 0, 0, fmt.Errorf("%w: as a bound of %s", ErrZeroTime, t)
		}
	}
	var from time.Time // before every epoch
	if c.from != nil {
		from = *c.from
	}
	to := from // hi is not used
	if c.to != nil {
		to = *c.to
	}
	if lo, hi, err = layout.Range(from, to); err != nil {
		return 0, 0, fmt.Errorf("gormplugin: times of %s: %w", t, err)
	}
	return lo, hi, nil
}
