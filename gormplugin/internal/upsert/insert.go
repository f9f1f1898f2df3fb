// Package upsert keeps the keys of records and rows the same when an INSERT has a conflict clause.
//
// A Create with a conflict clause may conflict with an existing row instead of inserting one. By then the plugin has
// generated an ID for the record that no row has. These are the rules, and what a user would lose without each:
//
//  1. A record that updated a row, or whose update a WHERE excluded, takes the key of that row. Otherwise a read by
//     the record's key would find nothing, and its associations, which GORM saves next, would refer to no row.
//  2. If a record was skipped (DO NOTHING, INSERT IGNORE), its generated ID is cleared. Otherwise code that tests for
//     the key 0, as it does with auto-increment keys, would take the record for a new row. Keys of the caller stay.
//  3. A row that is updated keeps what it has in the columns beside the key that the plugin generated for its record,
//     and the record takes that over. Otherwise an upsert with UpdateAll would replace a public ID that others have
//     written down. What the caller has set in the same column of another record is written.
//  4. If the key of the row cannot be found, a generated key becomes 0, and a key of the caller stays. If other rows
//     are about to refer to the record, Create fails with ErrKeyUnknown instead: these rows would be orphans.
//  5. No record has values of another record's row, whatever RETURNING brings and whichever rows it leaves out. GORM
//     assigns the rows to the records by their order.
//  6. A generated ID that a row has already is an error, ErrRepeated, and that row stays as it is. Otherwise the
//     clauses that GORM gives to associations would move a stranger's row to another parent, or drop the new record.
//  7. A plain Create, and an upsert of records with keys whose conflict target is the key, runs the same statement as
//     without the plugin. No rule takes a query if all records are inserted.
//
// [Insert.Rewrite] runs right before the statement. It changes the clauses for rules 3 and 6, and decides whether a
// record may conflict with an existing row, and how that will show. [Insert.Resolve] runs right after the statement. If
// the statement itself does not show that all is well, it asks by SELECT which records have no row under their ID and
// which rows they conflict with (lookup.go), finds repeated IDs (repeat.go), and rejects orphans (relations.go).
package upsert

import (
	"errors"
	"maps"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/sqlflake/sqlflake/gormplugin/internal/model"
	"github.com/sqlflake/sqlflake/snowflake"
)

// ErrKeyUnknown is gormplugin.ErrKeyUnknown.
var ErrKeyUnknown = errors.New("gormplugin: key unknown after a conflict")

// Dialect is what the rules need to know about a database.
type Dialect struct {
	Name      string
	Returning bool // it has INSERT ... RETURNING
	MySQL     bool // conflicts are handled by ON DUPLICATE KEY UPDATE, which ignores the conflict target
}

// Insert is one INSERT of GORM: the IDs that were generated for its records, and the changes of the statement, to be
// undone after it. The callbacks keep it among the clauses of the statement, which builds it into nothing.
type Insert struct {
	Stmt    *gorm.Statement
	Columns []*model.Column // that the statement writes
	IDs     []snowflake.ID  // the generated ID for each record and column, or 0; nil if none was generated

	Waited   bool // the callback that waits for the lease has made it, and the next one has not run yet
	Resolved bool // Resolve has run
	Failed   bool // before Resolve ran: no row was written
	Repeated bool // a row had one of the IDs already

	guarded  bool  // the statement fails by an expression if it meets a row with one of the IDs
	written  []int // the records whose rows the statements of their associations have written, by a way back to them
	one      [1]snowflake.ID
	was      *original // nil if the statement is unchanged
	conflict *conflict // nil if no record can have conflicted with a row
}

// Build makes it a clause.
func (*Insert) Build(clause.Builder) {}

// Reserve makes room for the IDs of n records, and keeps those that it has for as many.
func (in *Insert) Reserve(columns []*model.Column, n int) {
	in.Columns = columns
	size := n * len(columns)
	switch {
	case len(in.IDs) == size:
	case size == 1: // the common case, in which Create allocates nothing else
		in.IDs = in.one[:]
	default:
		in.IDs = make([]snowflake.ID, size)
	}
}

// generatedBesideKey reports whether an ID was generated for another column than the key, in any record.
func (in *Insert) generatedBesideKey() bool {
	for at, id := range in.IDs {
		if id != 0 && !in.Columns[at%len(in.Columns)].IsKey {
			return true
		}
	}
	return false
}

// TakeBack clears the fields that still have their generated IDs: the statement has failed, so no row has them. A
// record that kept its key would be updated by the next Save instead of created: without its create hooks, and with
// children that refer to no row.
func (in *Insert) TakeBack(p *model.Plan) {
	r, err := p.RecordsOf(in.Stmt, in.Columns)
	if err != nil {
		return
	}
	for j, column := range in.Columns {
		ids := make(map[snowflake.ID]bool, r.N) // keyed by ID, not by index: GORM may put other records into the slice
		for at := j; at < len(in.IDs); at += len(in.Columns) {
			ids[in.IDs[at]] = in.IDs[at] != 0
		}
		for i := range r.N {
			if ids[r.Load(i, column).ID] {
				r.Store(i, column, model.Value{})
			}
		}
	}
}

// original is what a statement had before it was changed.
type original struct {
	selects []string
	clauses map[string]clause.Clause
	result  bool // there was one
}

// change notes what the statement has. It must be called before each change.
func (in *Insert) change() {
	if in.was == nil {
		in.was = &original{in.Stmt.Selects, maps.Clone(in.Stmt.Clauses), in.Stmt.Result != nil}
	}
}

// selectColumns adds the columns that Select does not name to the selected ones, in a copy, since sessions may share
// the slice. Without it Select("Name") would store a row without a key.
func (in *Insert) selectColumns() {
	if len(in.Stmt.Selects) == 0 {
		return
	}
	var missing []string
	for _, column := range in.Columns {
		if model.SelectionOf(in.Stmt, column.Field) == model.NotSelected {
			missing = append(missing, column.Field.DBName)
		}
	}
	if missing != nil {
		in.change()
		in.Stmt.Selects = slices.Concat(in.Stmt.Selects, missing)
	}
}

// setClause replaces the expression of a clause of the statement.
func (in *Insert) setClause(name string, expression clause.Expression) {
	in.change()
	c := in.Stmt.Clauses[name]
	c.Name, c.Expression = name, expression
	in.Stmt.Clauses[name] = c
}

// Restore undoes all changes, so that a handle that is used again finds its statement as it was.
func (in *Insert) Restore() {
	was := in.was
	if was == nil {
		return
	}
	in.was, in.Stmt.Selects = nil, was.selects
	if !was.result {
		in.Stmt.Result = nil
	}
	for _, name := range [...]string{"ON CONFLICT", "RETURNING"} { // the others are GORM's and of hooks
		if c, exists := was.clauses[name]; exists {
			in.Stmt.Clauses[name] = c
		} else {
			delete(in.Stmt.Clauses, name)
		}
	}
}
