package gormplugin

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"gorm.io/gorm/clause"

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
// subqueries. The column is GORM's prioritized primary field of the statement's model, qualified with its table;
// [Created.On] names another. Conditions of a join, as in Joins("Customer", db.Where(cond)), need On("id"): GORM does
// not pass the model.
//
// The layout is that of the generator that fills the column, which must have a method Layout() snowflake.Layout. For
// other columns of an ID type, such as foreign keys, and without a model, it is that of all generators of the plugin if
// they have the same. Otherwise, without a plugin, and for other columns, [Created.In] is needed.
//
// The time of an ID is the start of its tick: see [snowflake.Layout.Time]. Bounds before the epoch or after the last
// tick are valid. No Created finds negative numbers. Old auto-increment keys seem to be in the first ticks of the
// layout: 10,000,000 is 2 ms after the epoch. Give the plugin [WithMinID], or CreatedBefore finds all of them. Then
// neither a Created nor its negation by Not finds keys below that number; query them by `id < ?`. On a handle without
// the plugin, use CreatedBetween with the time of the move.
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
	column, ranges, err := c.resolve(builder)
	if err != nil {
		fail(builder, err)
		return
	}
	if len(ranges) > 1 {
		write(builder, "(")
		defer write(builder, ")")
	}
	for i, r := range ranges {
		if i > 0 {
			write(builder, " OR ")
		}
		bounds := []clause.Expression{clause.Gte{Column: column, Value: r.Lo}}
		if c.to != nil || len(ranges) > 1 {
			bounds = append(bounds, clause.Lt{Column: column, Value: r.Hi})
		}
		clause.And(bounds...).Build(builder) // two in parentheses, since GORM's Not and Or add none
	}
}

// NegationBuild writes the opposite of the condition, which also finds negative keys, but not those below that of
// [WithMinID]. GORM calls it.
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

func (c Created) resolve(builder clause.Builder) (column clause.Column, ranges []snowflake.Range, err error) {
	target, err := targetOf(builder, c.column)
	if err != nil {
		return column, nil, err
	}
	var layout snowflake.Layout
	if c.layout != nil {
		layout = *c.layout
	} else if layout, err = target.layout(); err != nil {
		return column, nil, err
	}
	ranges, err = c.ranges(layout, target)
	return target.column, ranges, err
}

// ranges returns the ranges of the keys. That of a layout with the time first has no Hi if there is no upper bound.
func (c Created) ranges(layout snowflake.Layout, t target) ([]snowflake.Range, error) {
	from := time.Time{} // before every epoch
	if c.from != nil {
		from = *c.from
	}
	to := endOfTime
	if c.to != nil {
		to = *c.to
	}
	if c.from == nil && c.to == nil || to.IsZero() || c.from != nil && from.IsZero() {
		return nil, fmt.Errorf("%w: a bound of %s is the zero time", ErrCondition, t)
	}
	ranges, err := layout.Ranges(from, to)
	if err != nil {
		return nil, fmt.Errorf("gormplugin: times of %s: %w", t, err)
	}
	for i := range ranges {
		ranges[i].Lo = max(ranges[i].Lo, t.minID())
	}
	return ranges, nil
}

// minID returns the least ID of the handle's columns, 0 if that is not known.
func (t target) minID() snowflake.ID {
	if p := of(t.stmt.DB); p != nil {
		return p.minID
	}
	return 0
}

// endOfTime is after the last tick of every layout.
var endOfTime = time.Unix(1<<62, 0)

// layouter is a [Generator] that tells the layout of its IDs.
type layouter interface{ Layout() snowflake.Layout }

// layout returns the layout of the IDs in the column, from the plugin of the handle.
func (t target) layout() (snowflake.Layout, error) {
	p := of(t.stmt.DB)
	if p == nil {
		return snowflake.Layout{}, t.noLayout("the handle has no plugin")
	}
	generators := []Generator{p.gen}
	if t.field != nil {
		switch column, err := p.rules.ColumnOf(t.field); {
		case err != nil:
			return snowflake.Layout{}, err
		case column != nil:
			return t.commonLayout([]Generator{p.generatorOf(column)})
		case model.IsInteger(t.field.FieldType) && !model.IsKeyType(t.field.FieldType):
			return snowflake.Layout{}, t.noLayout("the plugin does not fill it (%s)", t.field.FieldType)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.rules.Named)) {
		generators = append(generators, p.rules.Named[name])
	}
	return t.commonLayout(generators)
}

// commonLayout returns the layout of all the generators.
func (t target) commonLayout(generators []Generator) (common snowflake.Layout, err error) {
	for i, gen := range generators {
		l, ok := gen.(layouter)
		if !ok {
			return snowflake.Layout{}, t.noLayout("a %T has no method Layout", gen)
		}
		switch layout := l.Layout(); {
		case i == 0:
			common = layout
		case layout != common:
			return snowflake.Layout{}, t.noLayout("the generators have %s and %s", common, layout)
		}
	}
	return common, nil
}

func (t target) noLayout(format string, args ...any) error {
	return fmt.Errorf("%w: the layout of %s is not known, since "+format+"; use Created.In",
		append([]any{ErrCondition, t}, args...)...)
}
