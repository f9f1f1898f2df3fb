package gormplugin

import (
	"errors"
	"fmt"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/sqlflake/sqlflake/snowflake"
)

// ErrPage is wrapped by the error of a statement whose [Page] cannot be right, and by that of [NextPage] and [Each] for
// rows that do not lead to a next page.
var ErrPage = errors.New("gormplugin: invalid page")

// Page selects the next rows in the order of their keys (keyset paging): no OFFSET, so a late page costs what the first
// does, and rows that come or go in the meantime neither repeat nor hide others. It is given to Clauses, or to gorm.G:
//
//	db.Clauses(gormplugin.Page{Limit: 20}).Where("state = ?", "open").Find(&orders)
//	gorm.G[Order](db, gormplugin.Page{After: cursor, Limit: 20, Desc: true}).Find(ctx)
//
// It adds `key > After` (or <), ORDER BY key and LIMIT. The key is GORM's prioritized primary field of the model, which
// must be an integer or an ID and alone tell rows apart, as generated keys do; it is qualified with its table. All other
// conditions of the statement, wherever they stand, are put in parentheses first, so an OR among them stays on the page;
// so are those that GORM adds, as for soft deletion. The columns that are selected need not have the key, but then
// After has to come from elsewhere.
//
// A statement with a Page fails, and is not executed, with an error that wraps
//
//   - [ErrPage] if Limit is not positive; if the statement has another order, limit, offset or Page (First, Last, Take and
//     FindInBatches bring some along); or if it is not a query for rows: Count before the Page is added, and do not delete
//     or update by pages, since most databases know no LIMIT there;
//   - gorm.ErrModelValueRequired or gorm.ErrPrimaryKeyRequired if there is no key, schema.ErrUnsupportedDataType if the
//     key is a column of text or bytes.
//
// A join that repeats rows of the model repeats keys, and a page may end between them: use Distinct or Group. In a group
// of conditions, as in db.Where(db.Clauses(page)), or before db.Raw, a Page has no effect: GORM takes conditions only
// from the one, and none from before the other.
//
// A Page is a plain value. Any number of statements may share one, concurrently.
type Page struct {
	After snowflake.ID // the key before the first of the page; 0 is the start, or the end if Desc
	Limit int          // the most rows of the page, at least 1
	Desc  bool         // from the greatest key to the least: the newest row first
}

var _ gorm.StatementModifier = Page{}

// Build reports a Page that is used as a condition, as in db.Where(page), as [ErrPage].
func (p Page) Build(builder clause.Builder) {
	fail(builder, fmt.Errorf("%w: a Page is no condition, give it to Clauses", ErrPage))
}

// ModifyStatement adds the page to a statement. GORM calls it.
//
// The condition and the order are written last, when GORM builds the statement, since all that matters to them may be
// added to the statement until then.
func (p Page) ModifyStatement(stmt *gorm.Statement) {
	paged := pagedStatement{page: p}
	order := stmt.Clauses["ORDER BY"]
	switch limit, ok := stmt.Clauses["LIMIT"].Expression.(clause.Limit); {
	case order.Builder != nil:
		paged.conflict = fmt.Errorf("%w: the statement has two", ErrPage)
	case ok && !isPageLimit(limit, 0):
		paged.conflict = fmt.Errorf("%w: the statement has a limit or offset of its own", ErrPage)
	}
	stmt.AddClause(clause.Limit{Limit: &p.Limit})

	order.Name, order.Builder = "ORDER BY", paged.buildOrder
	stmt.Clauses[order.Name] = order
	where := stmt.Clauses["WHERE"]
	where.Name, where.Builder = "WHERE", paged.buildWhere
	stmt.Clauses[where.Name] = where
}

// isPageLimit reports whether a clause limits to n rows, to any number if that is 0, without an offset.
func isPageLimit(limit clause.Limit, n int) bool {
	rows := 0
	if limit.Limit != nil {
		rows = max(*limit.Limit, 0) // negative is GORM's "no limit"
	}
	return rows == n && limit.Offset <= 0
}
