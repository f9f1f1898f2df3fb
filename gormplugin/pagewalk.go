package gormplugin

import (
	"context"
	"fmt"
	"iter"
	"math"
	"reflect"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/sqlflake/sqlflake/snowflake"
)

// NextPage returns the page after p, whose rows are given in their order, and whether there may be one. There is none if
// rows are fewer than p.Limit; then next is the page that begins where rows end, for rows that come later. key returns
// the key of a row:
//
//	orders, err := gorm.G[Order](db, page).Find(ctx)
//	...
//	next, more, err := gormplugin.NextPage(page, orders, func(o Order) snowflake.ID { return o.ID })
//
// next.After is the cursor to hand out; as an ID it is a string in JSON. If rows are exactly p.Limit the next page may turn
// out to be empty.
//
// It returns an error that wraps [ErrPage] if the rows cannot be those of p, which would make a loop start again: there
// are more than p.Limit, or the last key is 0, as of rows whose key was not selected, or not beyond p.After.
func NextPage[T any](p Page, rows []T, key func(row T) snowflake.ID) (next Page, more bool, err error) {
	if len(rows) == 0 {
		return p, false, nil
	}
	if len(rows) > p.Limit {
		return p, false, fmt.Errorf("%w: %d rows on a page of %d", ErrPage, len(rows), p.Limit)
	}
	return p.next(len(rows), key(rows[len(rows)-1]))
}

func (p Page) next(n int, last snowflake.ID) (next Page, more bool, err error) {
	switch {
	case last == 0:
		return p, false, fmt.Errorf("%w: the key of the last row is 0: is it selected?", ErrPage)
	case p.After != 0 && (last > p.After) == p.Desc, last == p.After:
		return p, false, fmt.Errorf("%w: the key of the last row, %d, is not beyond %d", ErrPage, last, p.After)
	}
	p.After = last
	return p, n == p.Limit, nil
}

// Each returns all rows that a statement finds, in the order of their keys and beginning with p. It reads them page by
// page, p.Limit rows at a time, so it needs memory for one page and holds neither a connection nor a transaction while
// the loop's body runs; the body may change or delete the rows.
//
//	for order, err := range gormplugin.Each[Order](ctx, db.Where("state = ?", "open"), gormplugin.Page{Limit: 500}) {
//		if err != nil {
//			return err
//		}
//		...
//	}
//
// An error comes once, with the zero T, and ends the loop: that of a query, ctx's among them, or [ErrPage] if the rows do
// not lead to a next page. T is the model, a pointer to it, or, with db.Model, a struct that has the column of the model's
// key. With joins, select the columns of the model only: in a Select("*") the key of another table takes the place of the
// model's, and rows would be left out. The pages are no snapshot: each is as the table was when it was read.
//
// Unlike GORM's FindInBatches it keeps to the conditions of db if there is an OR among them. The sequence may be used
// several times, and concurrently if db may; each time it begins with p.
func Each[T any](ctx context.Context, db *gorm.DB, p Page) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		base := db.Session(&gorm.Session{Context: ctx})
		for page, more := p, true; more; {
			var rows []T
			result := base.Clauses(page).Find(&rows)
			err := result.Error
			if err == nil {
				page, more, err = nextOf(result, page, rows) // before the body may change the rows
			}
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, row := range rows {
				if !yield(row, nil) {
					return
				}
			}
		}
	}
}

// nextOf is NextPage for rows whose key is known by the model of the statement that has found them.
func nextOf[T any](result *gorm.DB, p Page, rows []T) (next Page, more bool, err error) {
	if len(rows) == 0 {
		return p, false, nil
	}
	stmt := gorm.Statement{DB: result}
	if err := stmt.Parse(&rows); err != nil {
		return p, false, fmt.Errorf("gormplugin: a page of %T: %w", rows, err)
	}
	column := result.Statement.Schema.PrioritizedPrimaryField.DBName
	field := stmt.Schema.LookUpField(column)
	if field == nil {
		return p, false, fmt.Errorf("%w: %T has no column %s", ErrPage, rows[0], column)
	}
	row := reflect.Indirect(reflect.ValueOf(&rows[len(rows)-1]).Elem())
	last, err := keyOf(field, field.ReflectValueOf(result.Statement.Context, row))
	if err != nil {
		return p, false, err
	}
	return p.next(len(rows), last)
}

// keyOf returns the ID in the value of a field, which is addressable, 0 for a nil pointer.
func keyOf(field *schema.Field, value reflect.Value) (snowflake.ID, error) {
	if value = reflect.Indirect(value); !value.IsValid() {
		return 0, nil
	}
	if key, ok := reflect.TypeAssert[Key](value.Addr()); ok {
		return key.SnowflakeID(), nil
	}
	switch {
	case value.CanInt():
		return snowflake.ID(value.Int()), nil
	case value.CanUint() && value.Uint() <= math.MaxInt64:
		return snowflake.ID(value.Uint()), nil
	default:
		return 0, fmt.Errorf("%w: %v in %s is no key", ErrPage, value, field.Name)
	}
}
