package gormplugin

import (
	"fmt"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// pagedStatement builds the clauses of a statement with a Page. Every statement that is cloned from it has the same one.
type pagedStatement struct {
	page     Page
	conflict error // with what the statement had before the page
}

// buildWhere writes the WHERE clause. GORM calls it, in place of what would write c.
func (p pagedStatement) buildWhere(c clause.Clause, builder clause.Builder) {
	c.Builder = nil
	key, err := p.key(builder)
	if err != nil {
		c.Expression = failure{err}
		c.Build(builder)
		return
	}
	if where, ok := c.Expression.(clause.Where); ok && len(where.Exprs) == 0 {
		c.Expression = nil
	}
	if p.page.After != 0 {
		c.Expression = beyond{others: c.Expression, key: key, page: p.page}
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

// key returns the column of the key, if the statement is one that a page can be of.
func (p pagedStatement) key(builder clause.Builder) (clause.Column, error) {
	t, err := targetOf(builder, "")
	if err != nil {
		return t.column, err
	}
	return t.column, p.check(t.stmt)
}

// check returns what keeps the statement from being a page. It is the last moment at which GORM may have changed it.
func (p pagedStatement) check(stmt *gorm.Statement) error {
	limit, _ := stmt.Clauses["LIMIT"].Expression.(clause.Limit)
	order, ordered := stmt.Clauses["ORDER BY"]
	_, grouped := stmt.Clauses["GROUP BY"]
	_, one := stmt.Dest.(*int64)
	switch {
	case p.page.Limit <= 0:
		return fmt.Errorf("%w: Limit is %d, want at least 1", ErrPage, p.page.Limit)
	case p.conflict != nil:
		return p.conflict
	case !slices.Contains(stmt.BuildClauses, "SELECT"):
		return fmt.Errorf("%w: the statement is no query", ErrPage)
	case !ordered, grouped && one: // Count takes the order away, but not beside a Group
		return fmt.Errorf("%w: the statement counts rows, do so without the Page", ErrPage)
	case order.Expression != nil:
		return fmt.Errorf("%w: the statement has an order of its own", ErrPage)
	case !isPageLimit(limit, p.page.Limit):
		return fmt.Errorf("%w: the statement has a limit or offset of its own", ErrPage)
	}
	return nil
}

// beyond is the condition that all others are met and the key is beyond the last one of the page before.
type beyond struct {
	others clause.Expression // nil if there are none
	key    clause.Column
	page   Page
}

func (b beyond) Build(builder clause.Builder) {
	if b.others != nil {
		write(builder, "(")
		b.others.Build(builder)
		write(builder, ") AND ")
	}
	builder.WriteQuoted(b.key)
	if b.page.Desc {
		write(builder, " < ")
	} else {
		write(builder, " > ")
	}
	builder.AddVar(builder, b.page.After)
}
