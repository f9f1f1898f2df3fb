// Package upsert keeps the keys of records and rows the same when an INSERT has a conflict clause.
//
// A Create with a conflict clause may conflict with an existing row instead of inserting one. By then the plugin has
// generated an ID for the record that no row has. These are the rules, and what a user would lose without each:
//
//  1. A record that updated a row, or whose update a WHERE excluded, takes the key of that row. Otherwise a read by the
//     record's key would find nothing, and its associations, which GORM saves next, would refer to no row.
//  2. If a record was skipped (DO NOTHING, INSERT IGNORE), its generated ID is cleared. Otherwise code that tests for
//     the key 0, as it does with auto-increment keys, would take the record for a new row. Keys of the caller stay.
//  3. A row that is updated keeps its values in the generated columns other than the key, and the record takes these
//     values. Otherwise an upsert with UpdateAll would replace a public ID that others have written down. What the
//     caller has set in the same column of another record is written.
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
// which rows they conflict with (lookup.go), finds repeated IDs, and rejects orphans.
package upsert

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"github.com/sqlflake/sqlflake/gormplugin/internal/model"
	"github.com/sqlflake/sqlflake/snowflake"
)

// ErrKeyUnknown is gormplugin.ErrKeyUnknown.
var ErrKeyUnknown = errors.New("gormplugin: key unknown after a conflict")

// ErrRepeated is gormplugin.ErrRepeated.
var ErrRepeated = fmt.Errorf("gormplugin: a generated ID exists already: %w", gorm.ErrDuplicatedKey)

// Dialect is what the rules need to know about a database.
type Dialect struct {
	Name      string
	Returning bool // it has INSERT ... RETURNING
	MySQL     bool // conflicts are handled by ON DUPLICATE KEY UPDATE, which ignores the conflict target
}

// Insert is one INSERT of GORM: the IDs that were generated for its records, and the changes of the statement, which
// Restore undoes. The callbacks keep it among the clauses of the statement. It builds into nothing.
type Insert struct {
	Stmt    *gorm.Statement
	Columns []*model.Column // that the statement writes
	IDs     []snowflake.ID  // the generated ID for each record and column, or 0; nil if none was generated

	Waited   bool // the callback that waits for the lease has made it, and the next one has not run yet
	Resolved bool // Resolve has run
	Failed   bool // the statement itself failed: no row was written
	Repeated bool // a row had one of the IDs already

	guarded  bool  // an expression makes the statement fail if a row has one of the IDs
	written  []int // the records whose rows the statements of their associations have written, by a way back to them
	one      [1]snowflake.ID
	was      *original // nil if the statement is unchanged
	conflict *conflict // nil if no record can have conflicted with a row
}

// Build makes it a clause.
func (*Insert) Build(clause.Builder) {}

// AllocIDs makes room for the IDs of n records. If there is room for exactly as many, their IDs stay.
func (in *Insert) AllocIDs(columns []*model.Column, n int) {
	in.Columns = columns
	size := n * len(columns)
	if len(in.IDs) == size {
		return
	}

	if size == 1 { // the common case, in which Create allocates nothing else
		in.IDs = in.one[:]
		return
	}
	in.IDs = make([]snowflake.ID, size)
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

// MoveWritten renumbers the records whose rows are written already: record i has become moved[i].
func (in *Insert) MoveWritten(moved []int) {
	for k, i := range in.written {
		in.written[k] = moved[i]
	}
}

// TakeBack clears the fields that still have their generated IDs: the statement has failed, so no row has them. A
// record that kept its key would be updated by the next Save instead of created: without its create hooks, and with
// children that refer to no row.
func (in *Insert) TakeBack() {
	if r, err := model.RecordsOf(in.Stmt, in.Columns); err == nil {
		r.Clear(in.IDs)
	}
}

// original is what a statement had before it was changed.
type original struct {
	selects []string
	clauses map[string]clause.Clause
	result  bool // there was one
}

// change saves what the statement has. It must be called before each change.
func (in *Insert) change() {
	if in.was == nil {
		in.was = &original{in.Stmt.Selects, maps.Clone(in.Stmt.Clauses), in.Stmt.Result != nil}
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

// A statement with a conflict clause has to fail if a row has a generated ID already. No dialect has an expression that
// raises an error, so these fail while they are computed. Each constant says which part of the error's text shows that,
// in any language of the server.
const (
	raisePostgres, postgresSays = "CAST(pg_catalog.concat('repeated key ', ?) AS boolean)", "repeated key "
	raiseSQLite, sqliteSays     = "abs(-9223372036854775808)", "integer overflow"
	raiseMySQL, mysqlSays       = "EXP(34567 + LENGTH(VALUES(?)))", "34567 + "
)

// outcome says what a statement does with a record that conflicts with an existing row, by its key or another unique
// value.
type outcome uint8

const (
	fails   outcome = iota // no conflict clause
	skips                  // ON CONFLICT DO NOTHING, INSERT IGNORE
	updates                // ON CONFLICT DO UPDATE, ON DUPLICATE KEY UPDATE
)

// evidence is how the statement itself shows that every record has its row. Without evidence, Resolve asks by SELECT.
type evidence uint8

const (
	none     evidence = iota
	counted           // the row count equals the number of records: DO NOTHING has inserted all
	inserted          // the same, and RETURNING brings the keys of the inserted rows
	returned          // the same: RETURNING has put the columns of a row into each record
	insertID          // MySQL's LAST_INSERT_ID is 0: no record conflicted. Else it is the key of one existing row
)

// conflict is what Rewrite leaves for Resolve if a record may conflict with an existing row.
type conflict struct {
	*Insert
	clause     clause.OnConflict
	onConflict outcome
	editable   bool // the clause can be changed
	dialect    Dialect
	plan       *model.Plan
	records    model.Records
	evidence   evidence
	kept       []snowflake.ID // generated IDs that no hook has replaced and whose rows are not written yet; else 0

	// fields are set in the records by RETURNING; nil for maps. before is what the records had in them.
	fields []*schema.Field
	before []any
}

// forgetReplaced sets kept to the generated IDs, with 0 for those that a hook has replaced or whose rows exist already.
func (c *conflict) forgetReplaced() {
	c.kept = slices.Clone(c.IDs)
	c.records.Forget(c.kept)
	for _, i := range c.written {
		for j := range c.Columns {
			c.kept[i*len(c.Columns)+j] = 0
		}
	}
}

// generated returns the generated ID that column j of record i still has, or 0.
func (c *conflict) generated(i, j int) snowflake.ID {
	if at := i*len(c.Columns) + j; at < len(c.kept) {
		return c.kept[at]
	}
	return 0
}

// generatedValues returns the generated IDs that the records still have in column j, as the statement writes them.
func (c *conflict) generatedValues(j int) (ids []any) {
	for i := range c.records.N {
		if id := c.generated(i, j); id != 0 {
			ids = append(ids, c.Columns[j].GoValue(model.Value{ID: id}))
		}
	}
	return ids
}

// mixed reports whether some of the records, but not all, got an ID.
func (c *conflict) mixed() bool {
	n := 0
	for i := range c.records.N {
		if c.firstGenerated(i) >= 0 {
			n++
		}
	}
	return 0 < n && n < c.records.N
}

// firstGenerated returns the first column in which record i has a generated ID, or -1.
func (c *conflict) firstGenerated(i int) int {
	for j := range c.Columns {
		if c.generated(i, j) != 0 {
			return j
		}
	}
	return -1
}

// targetsKey reports whether only rows with the record's key, which the plugin fills, conflict with it.
func (c *conflict) targetsKey() bool {
	if c.plan.Key == nil || c.clause.OnConstraint != "" {
		return false
	}
	return c.isTarget(c.plan.Key.Field)
}

// isTarget reports whether the conflict target may include the column of a field.
func (c *conflict) isTarget(field *schema.Field) bool {
	switch {
	case c.clause.OnConstraint != "":
		return true
	case len(c.clause.Columns) == 0:
		return c.clause.UpdateAll && field.PrimaryKey // GORM makes the primary key the target
	}
	return slices.ContainsFunc(c.clause.Columns, func(column clause.Column) bool {
		prioritized := column.Name == clause.PrimaryKey && field == c.Stmt.Schema.PrioritizedPrimaryField
		return column.Name == field.DBName || prioritized
	})
}

// values returns the values of the returned fields in the first n records. Pointers are not followed.
func (c *conflict) values(n int) (values []any) {
	for i := range n {
		for _, field := range c.fields {
			values = append(values, c.records.Field(i, field))
		}
	}
	return values
}

// parent is what a statement announces for rule 4: the relations by which its rows, or rows of a join table, are about
// to refer to the associations that GORM saves next.
type parent struct {
	stmt      *gorm.Statement
	in        *Insert // its own, if it is still to come
	relations []*schema.Relationship
	above     *parent // of the statement itself
}

// parentKey is the key of a parent in the settings of a statement. GORM copies the settings to the statements of
// associations.
type parentKey struct{}

func announced(stmt *gorm.Statement) *parent {
	found, _ := stmt.Settings.Load(parentKey{})
	p, _ := found.(*parent)
	return p
}

// parentOf returns the announcement for the statement, nil if no other statement saves its records as associations.
func parentOf(stmt *gorm.Statement) *parent {
	found := announced(stmt)
	if found != nil && found.stmt == stmt {
		return found.above
	}
	return found
}

// Announce stores the relations, and the insert of the statement if it is still to come. It stores that there are none
// if the statement's own parent has announced some, which would otherwise seem to be about the associations of the
// statement.
func Announce(stmt *gorm.Statement, in *Insert, relations []*schema.Relationship) {
	hasNews := in != nil || len(relations) > 0
	if hasNews || announced(stmt) != nil {
		stmt.Settings.Store(parentKey{}, &parent{stmt, in, relations, parentOf(stmt)})
	}
}

// Withdraw undoes Announce after all associations are saved: the statement may be used again, or copied.
func Withdraw(stmt *gorm.Statement) {
	if p := announced(stmt); p != nil && p.stmt == stmt {
		stmt.Settings.Delete(parentKey{})
	}
}

// returningOf returns the columns that the statement will return, nil if none, as callbacks.Create decides. If all is
// true it returns all of them.
func returningOf(stmt *gorm.Statement, d Dialect) (columns []clause.Column, all bool) {
	if !d.Returning {
		return nil, false
	}

	if c, ok := stmt.Clauses["RETURNING"]; ok {
		own, _ := c.Expression.(clause.Returning)
		isStar := len(own.Columns) == 1 && own.Columns[0].Name == "*"
		return own.Columns, isStar || len(own.Columns) == 0
	}

	for _, field := range stmt.Schema.FieldsWithDefaultDBValue {
		if field.Readable {
			columns = append(columns, clause.Column{Name: field.DBName})
		}
	}
	return columns, false
}

// returnedFields returns the fields that RETURNING will set in records of a schema, as gorm.Scan does: all of them if
// it names an expression, whose alias may be any field.
func returnedFields(stmt *gorm.Statement, d Dialect, s *schema.Schema) (fields []*schema.Field) {
	columns, all := returningOf(stmt, d)
	for _, column := range columns {
		field := s.LookUpField(column.Name)
		fields, all = append(fields, field), all || field == nil
	}
	if all {
		fields = slices.Clone(s.Fields)
	}
	return slices.DeleteFunc(fields, func(field *schema.Field) bool { return field.DBName == "" || !field.Readable })
}

// Fails reports whether a record may not be in a slice twice: it would have to become two rows with one key.
func Fails(stmt *gorm.Statement, d Dialect) bool {
	_, does, _ := conflictOf(stmt, d.MySQL)
	return does == fails
}
