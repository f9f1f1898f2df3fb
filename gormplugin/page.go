package gormplugin

import (
	"context"
	"database/sql/driver"
	"fmt"
	"iter"
	"reflect"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/sqlflake/sqlflake/snowflake"
)

// Page selects the next rows in the order of their keys (keyset paging) without OFFSET: late pages cost what the first
// does, and rows that are inserted or deleted meanwhile do not shift the others. Give it to Clauses or to gorm.G:
//
//	db.Clauses(gormplugin.Page{Limit: 20}).Where("state = ?", "open").Find(&orders)
//	gorm.G[Order](db, gormplugin.Page{After: cursor, Limit: 20, Desc: true}).Find(ctx)
//
// It adds `key > After` (or <), ORDER BY key and LIMIT. The key is GORM's prioritized primary field of the model,
// qualified with its table. It must be an integer or an ID, and unique by itself, but need not be selected. The other
// conditions, soft deletion included, are parenthesised, so an OR never leaks out of the page.
//
// Keys of one worker are in the order of time. Keys of several workers are out of order by up to the layout's Period, a
// tick for most layouts and 70 minutes for [snowflake.Clustered], with which the newest row may be below others. With
// [snowflake.Scattered] keys have no order of time, and Desc does not begin with the newest rows. Pages still lose no
// row.
//
// Do not poll a table for the rows after the last key: a key is made before its row is committed, so late commits bring
// smaller keys. Package contrib/settled has the bound up to which such a reader may read.
//
// A statement with a Page fails, and is not executed, with an [ErrCondition] if Limit is not positive; if it has
// another order, limit, offset or Page (First, Last, Take and FindInBatches add one); or if it is no query for rows:
// call Count before the Page is added. Without a key the error is gorm.ErrModelValueRequired or
// gorm.ErrPrimaryKeyRequired, for a key of text or bytes schema.ErrUnsupportedDataType.
//
// A join that repeats rows of the model repeats keys, and a page may end between them: use Distinct or Group. A Page
// has no effect in a group of conditions, as in db.Where(db.Clauses(page)), or before db.Raw. Any number of statements
// may share one, concurrently.
type Page struct {
	After snowflake.ID // the key before the first of the page; 0 is the start, or the end if Desc
	Limit int          // the maximum number of rows, at least 1
	Desc  bool         // from the greatest key to the least: with most layouts the newest row first
}

var _ gorm.StatementModifier = Page{}

// Build reports a Page that is used as a condition, as in db.Where(page), as [ErrCondition].
func (p Page) Build(builder clause.Builder) {
	fail(builder, fmt.Errorf("%w: a Page is no condition, give it to Clauses", ErrCondition))
}

// ModifyStatement adds the page to a statement. GORM calls it. The condition and the order are written when GORM builds
// the statement, since what they depend on may be added until then.
func (p Page) ModifyStatement(stmt *gorm.Statement) {
	paged := pagedStatement{page: p}
	order := stmt.Clauses["ORDER BY"]
	limit, _ := stmt.Clauses["LIMIT"].Expression.(clause.Limit)

	paged.conflict = checkLimit(limit, 0)
	if order.Builder != nil {
		paged.conflict = fmt.Errorf("%w: the statement has two Pages", ErrCondition)
	}

	stmt.AddClause(clause.Limit{Limit: &p.Limit})

	order.Name, order.Builder = "ORDER BY", paged.buildOrder
	stmt.Clauses[order.Name] = order
	where := stmt.Clauses["WHERE"]
	where.Name, where.Builder = "WHERE", paged.buildWhere
	stmt.Clauses[where.Name] = where
}

// checkLimit returns an error unless a clause limits to n rows, 0 for any number, without an offset.
func checkLimit(limit clause.Limit, n int) error {
	rows := 0
	if limit.Limit != nil {
		rows = max(*limit.Limit, 0) // negative is GORM's "no limit"
	}
	if rows == n && limit.Offset <= 0 {
		return nil
	}
	return fmt.Errorf("%w: the statement with a Page has another limit or offset", ErrCondition)
}

// pagedStatement builds the clauses of a statement with a Page. All statements that are cloned from it share one.
type pagedStatement struct {
	page     Page
	conflict error // with what the statement had before the page
}

// buildWhere writes the WHERE clause. GORM calls it instead of c's own method.
func (p pagedStatement) buildWhere(c clause.Clause, builder clause.Builder) {
	c.Builder = nil
	t, err := targetOf(builder, "")
	if err == nil {
		err = p.check(t.stmt)
	}

	others := c.Expression
	if where, ok := others.(clause.Where); ok && len(where.Exprs) == 0 {
		others = nil
	}

	switch {
	case err != nil:
		c.Expression = expression(func(builder clause.Builder) { fail(builder, err) })
	case p.page.After == 0:
		c.Expression = others
	default:
		c.Expression = expression(func(builder clause.Builder) {
			if others != nil {
				write(builder, "(")
				others.Build(builder)
				write(builder, ") AND ")
			}

			if p.page.Desc {
				clause.Lt{Column: t.column, Value: p.page.After}.Build(builder)
			} else {
				clause.Gt{Column: t.column, Value: p.page.After}.Build(builder)
			}
		})
	}

	c.Build(builder) // nothing, if there is no expression
}

// buildOrder writes the ORDER BY clause. GORM calls it after buildWhere, which has checked the statement.
func (p pagedStatement) buildOrder(c clause.Clause, builder clause.Builder) {
	c.Builder = nil
	if t, err := targetOf(builder, ""); err == nil {
		c.Expression = clause.OrderBy{Columns: []clause.OrderByColumn{{Column: t.column, Desc: p.page.Desc}}}
		c.Build(builder)
	}
}

// check returns an error if the statement cannot have a page. It runs when GORM can no longer change it.
func (p pagedStatement) check(stmt *gorm.Statement) error {
	limit, _ := stmt.Clauses["LIMIT"].Expression.(clause.Limit)
	order, ordered := stmt.Clauses["ORDER BY"]
	_, grouped := stmt.Clauses["GROUP BY"]
	_, one := stmt.Dest.(*int64)

	switch {
	case p.page.Limit <= 0:
		return fmt.Errorf("%w: a Page whose Limit is %d, want at least 1", ErrCondition, p.page.Limit)
	case p.conflict != nil:
		return p.conflict
	case !slices.Contains(stmt.BuildClauses, "SELECT"):
		return fmt.Errorf("%w: the statement with a Page is no query", ErrCondition)
	case !ordered, grouped && one: // Count removes the order, except with a Group
		return fmt.Errorf("%w: the statement with a Page counts rows; count without the Page", ErrCondition)
	case order.Expression != nil:
		return fmt.Errorf("%w: the statement with a Page has another order", ErrCondition)
	}
	return checkLimit(limit, p.page.Limit)
}

// NextPage returns the page after p, given the rows of p in their order, and whether there may be one: there is none
// after fewer rows than p.Limit. key returns the key of a row:
//
//	next, more, err := gormplugin.NextPage(page, orders, func(o Order) snowflake.ID { return o.ID })
//
// next.After is the cursor for a client, a string in JSON. After exactly p.Limit rows the next page may be empty.
//
// It returns an [ErrCondition] if the rows cannot be rows of p, which would make a loop endless: there are more than
// p.Limit, or the last key is 0, as if the key was not selected, or not beyond p.After.
func NextPage[T any](p Page, rows []T, key func(row T) snowflake.ID) (next Page, more bool, err error) {
	if len(rows) == 0 {
		return p, false, nil
	}
	if len(rows) > p.Limit {
		return p, false, fmt.Errorf("%w: %d rows on a Page of %d", ErrCondition, len(rows), p.Limit)
	}
	return p.next(len(rows), key(rows[len(rows)-1]))
}

// next returns the page after n rows of p, and whether there may be one.
func (p Page) next(n int, last snowflake.ID) (Page, bool, error) {
	switch {
	case last == 0:
		return p, false, fmt.Errorf("%w: the key of the last row is 0: is it selected?", ErrCondition)
	case p.After != 0 && (last > p.After) == p.Desc, last == p.After:
		return p, false, fmt.Errorf("%w: the key of the last row, %d, is not beyond %d", ErrCondition, last, p.After)
	}
	p.After = last
	return p, n == p.Limit, nil
}

// Each returns all rows that a statement finds, in the order of their keys, beginning with p. It reads pages of p.Limit
// rows and keeps one page in memory. It holds neither a connection nor a transaction while the loop's body runs, and
// the body may change or delete the rows.
//
//	for order, err := range gormplugin.Each[Order](ctx, db.Where("state = ?", "open"), gormplugin.Page{Limit: 500}) {
//		if err != nil {
//			return err
//		}
//		...
//	}
//
// An error comes once, with the zero T, and ends the loop: the error of a query or of ctx, or [ErrCondition] if the
// rows do not lead to a next page. T is the model, a pointer to it, or, with db.Model, a struct with the column of the
// model's key. With joins, select the model's columns only: in a Select("*") another table's key replaces the model's,
// and rows are left out.
//
// The pages are not one snapshot, and rows that commit while Each runs may be missed: see [Page]. Unlike FindInBatches
// it keeps to conditions of db with an OR. The sequence may be used several times, and concurrently if db may; each
// time it begins with p.
func Each[T any](ctx context.Context, db *gorm.DB, p Page) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		base := db.Session(&gorm.Session{Context: ctx})
		page, more := p, true
		for more {
			var rows []T
			var err error
			rows, page, more, err = readPage[T](base, page)
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

// readPage returns the rows of a page, the next page, and whether there may be one. It takes the key of the last row
// before the body of a loop can change the rows.
func readPage[T any](base *gorm.DB, page Page) (rows []T, next Page, more bool, err error) {
	result := base.Clauses(page).Find(&rows)
	if result.Error != nil || len(rows) == 0 {
		return nil, page, false, result.Error
	}

	last, err := lastKey(result, rows)
	if err != nil {
		return nil, page, false, err
	}
	next, more, err = page.next(len(rows), last) // a Raw statement returns all rows at once
	return rows, next, more, err
}

// lastKey returns the key of the last row. The statement's model says which column the key is: T may be another struct.
func lastKey[T any](result *gorm.DB, rows []T) (id snowflake.ID, err error) {
	stmt := gorm.Statement{DB: result}
	if err := stmt.Parse(&rows); err != nil {
		return 0, fmt.Errorf("gormplugin: a page of %T: %w", rows, err)
	}

	column := result.Statement.Schema.PrioritizedPrimaryField.DBName
	field := stmt.Schema.LookUpField(column)
	if field == nil {
		return 0, fmt.Errorf("%w: %T has no column %s", ErrCondition, rows[0], column)
	}

	row := reflect.ValueOf(&rows[len(rows)-1]).Elem()
	value, zero := field.ValueOf(result.Statement.Context, row)
	if !zero {
		at := reflect.Indirect(field.ReflectValueOf(result.Statement.Context, row))
		if key, ok := reflect.TypeAssert[Key](at.Addr()); ok {
			return key.SnowflakeID(), nil
		}
	}

	key, err := driver.DefaultParameterConverter.ConvertValue(value)
	number, ok := key.(int64)
	isOther := !ok && key != nil // nil is a nil pointer
	if err != nil || isOther {
		return 0, fmt.Errorf("%w: %v in %s is no key", ErrCondition, value, field.Name)
	}
	return snowflake.ID(number), nil
}
