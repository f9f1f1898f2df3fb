package gormplugin

import (
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"github.com/sqlflake/sqlflake/snowflake"
)

// selection says whether a statement writes a column.
type selection uint8

const (
	written     selection = iota
	notSelected           // Select names other columns only
	omitted               // Omit names it: the database makes the value
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
// are written, and which IDs they gave.
type undo struct {
	statement *gorm.Statement
	columns   []*column      // that the statement writes
	given     []snowflake.ID // for each record and column the ID it got from fill, or 0; nil if none got one

	selects        []string // of the statement, if selectsChanged
	selectsChanged bool
	clauses        []savedClause // before they were changed, in the order of the changes
	resultMade     bool

	backFilled *records // maps that GORM may write the database's numbers into, and
	before     []value  // what they had before

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

// gaveID returns the ID that fill gave to a column of record i, or 0.
func (u *undo) gaveID(i, j int) snowflake.ID {
	if at := i*len(u.columns) + j; at < len(u.given) {
		return u.given[at]
	}
	return 0
}

// gaveTo reports whether fill gave an ID to a column in any record.
func (u *undo) gaveTo(j int) bool {
	for at := j; at < len(u.given); at += len(u.columns) {
		if u.given[at] != 0 {
			return true
		}
	}
	return false
}

// gaveToOthers reports whether fill gave an ID to another column than the key.
func (u *undo) gaveToOthers() bool {
	for j, c := range u.columns {
		if !c.isKey && u.gaveTo(j) {
			return true
		}
	}
	return false
}

// selectColumns adds those of the columns to the selected ones that are not among them: in a copy, since sessions may
// share the slice.
func (u *undo) selectColumns() {
	stmt := u.statement
	var missing []string
	for _, c := range u.columns {
		if selectionOf(stmt, c.field) == notSelected {
			missing = append(missing, c.field.DBName)
		}
	}
	if missing == nil {
		return
	}
	u.selects, u.selectsChanged = stmt.Selects, true
	stmt.Selects = slices.Concat(stmt.Selects, missing)
}

// save keeps a clause of the statement, to be restored.
func (u *undo) save(name string) clause.Clause {
	old, there := u.statement.Clauses[name]
	u.clauses = append(u.clauses, savedClause{name, old, there})
	return old
}

// setClause replaces a clause of the statement.
func (u *undo) setClause(name string, expression clause.Expression) {
	changed := u.save(name)
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
	for _, saved := range slices.Backward(u.clauses) {
		if saved.there {
			stmt.Clauses[saved.name] = saved.clause
		} else {
			delete(stmt.Clauses, saved.name)
		}
	}
	if u.resultMade {
		stmt.Result = nil
	}
}
