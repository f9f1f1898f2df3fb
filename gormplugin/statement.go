package gormplugin

import (
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"github.com/sqlflake/sqlflake/snowflake"
)

// selection says whether a statement writes the key's column.
type selection uint8

const (
	written     selection = iota
	notSelected           // Select names other columns only
	omitted               // Omit names it: the database makes the key
)

func selectionOf(stmt *gorm.Statement, field *schema.Field) selection {
	if len(stmt.Selects) == 0 && len(stmt.Omits) == 0 {
		return written
	}
	columns, restricted := stmt.SelectAndOmitColumns(true, false)
	named, ok := columns[field.DBName]
	switch {
	case ok && !named:
		return omitted
	case !ok && restricted:
		return notSelected
	default:
		return written
	}
}

// undo is what the callbacks of one statement tell each other: what they have changed, to be changed back when the rows
// are written, and which keys they gave.
type undo struct {
	statement *gorm.Statement
	given     []snowflake.ID // for each record the key it got from fill, or 0; nil if none got one

	selects        []string // of the statement, if selectsChanged
	selectsChanged bool
	clause         *savedClause // of the one that was changed
	resultMade     bool

	conflict *conflict // set by prepare if there is something to settle
	db       *gorm.DB  // set by settle
}

type savedClause struct {
	name   string
	clause clause.Clause
	there  bool
}

// undoKey is the key of an undo among the settings of a statement.
type undoKey struct{}

func remember(u *undo) { u.statement.Settings.Store(undoKey{}, u) }

// undoOf returns what fill has left for this statement, or nil. GORM hands the settings on to nested statements and to
// copies, which are not meant.
func undoOf(stmt *gorm.Statement) *undo {
	value, ok := stmt.Settings.Load(undoKey{})
	if !ok {
		return nil
	}
	if u := value.(*undo); u.statement == stmt {
		return u
	}
	return nil
}

// selectKey adds the key to the selected columns: in a copy, since sessions may share the slice.
func (u *undo) selectKey(field *schema.Field) {
	stmt := u.statement
	u.selects, u.selectsChanged = stmt.Selects, true
	stmt.Selects = append(slices.Clone(stmt.Selects), field.DBName)
}

// setClause replaces a clause of the statement, once.
func (u *undo) setClause(name string, expression clause.Expression) {
	old, there := u.statement.Clauses[name]
	u.clause = &savedClause{name, old, there}
	changed := old
	changed.Name, changed.Expression = name, expression
	u.statement.Clauses[name] = changed
}

// restore takes back all changes, so that a handle that is used again finds its statement as it was.
func (u *undo) restore() {
	stmt := u.statement
	stmt.Settings.Delete(undoKey{})
	if u.selectsChanged {
		stmt.Selects = u.selects
	}
	switch saved := u.clause; {
	case saved == nil:
	case saved.there:
		stmt.Clauses[saved.name] = saved.clause
	default:
		delete(stmt.Clauses, saved.name)
	}
	if u.resultMade {
		stmt.Result = nil
	}
}
