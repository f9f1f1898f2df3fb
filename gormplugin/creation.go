package gormplugin

import (
	"slices"
	"sync"
	"sync/atomic"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"github.com/sqlflake/sqlflake/snowflake"
)

// handle is what the callbacks of one database share.
type handle struct {
	*config
	returning bool                 // the dialect has INSERT ... RETURNING
	mysql     bool                 // conflicts are handled by ON DUPLICATE KEY UPDATE, which has no conflict target
	plans     sync.Map             // *schema.Schema to *plan
	last      atomic.Pointer[plan] // the plan that was used last, mostly the next one too
	warned    sync.Map             // reflect.Type of models
	announces atomic.Bool          // a model has relations to announce
}

func (h *handle) planOf(s *schema.Schema) *plan {
	if p := h.last.Load(); p != nil && p.schema == s {
		return p
	}
	found, ok := h.plans.Load(s)
	if !ok {
		found, _ = h.plans.LoadOrStore(s, h.config.planOf(s))
	}
	p := found.(*plan)
	if len(p.belongsTo)+len(p.many2Many) > 0 {
		h.announces.Store(true)
	}
	h.last.Store(p)
	return p
}

// creation is what the callbacks of one Create tell each other: which IDs the records got, and what was changed in the
// statement, to be changed back.
type creation struct {
	stmt    *gorm.Statement
	columns []*column      // that the statement writes
	given   []snowflake.ID // for each record and column the ID it got, or 0; nil if none got one
	one     [1]snowflake.ID

	settled  bool      // settle has run
	failed   bool      // before settle ran: no row was written
	changes  *changes  // nil if the statement is as it was
	conflict *conflict // nil if no record can have conflicted with a row
}

// creationKey is the name of a creation among the clauses of a statement.
const creationKey = "snowflake:creation"

// Build makes a creation a clause, which no statement has in its text.
func (c *creation) Build(clause.Builder) {}

// remember keeps a creation for the next callbacks, among the clauses, since GORM's own Create makes that map anyway.
// The settings are a sync.Map, and their first entry takes 2 % of a Create (go test -run '^$' -bench 'Create$'
// -benchtime 10000x ./gormplugin). A statement has one creation at most.
func (h *handle) remember(c *creation) { c.stmt.Clauses[creationKey] = clause.Clause{Expression: c} }

// creationOf returns the creation of the statement, or nil. A copy of a statement has the clauses of the original.
func (h *handle) creationOf(stmt *gorm.Statement) *creation {
	if c, _ := stmt.Clauses[creationKey].Expression.(*creation); c != nil && c.stmt == stmt {
		return c
	}
	return nil
}

// forget returns the creation of the statement, or nil, and removes it: the statement may be used again.
func (h *handle) forget(stmt *gorm.Statement) *creation {
	c := h.creationOf(stmt)
	delete(stmt.Clauses, creationKey)
	return c
}

// start is the callback before all others of a Create. A creation that is there is left over from a Create of the same
// statement that a panic in a hook has ended, and so is the text, which GORM would run again.
func (h *handle) start(db *gorm.DB) {
	stmt := db.Statement
	if c := h.creationOf(stmt); c != nil && (c.settled || !isBuilt(stmt)) {
		h.forget(stmt)
		c.restore()
		stmt.SQL.Reset()
		stmt.Vars = nil
	}
	if db.DryRun {
		beginDryRun(stmt)
	}
	h.fill(db)
}

// gaveID returns the ID that column j of record i got, or 0.
func (c *creation) gaveID(i, j int) snowflake.ID {
	if at := i*len(c.columns) + j; at < len(c.given) {
		return c.given[at]
	}
	return 0
}

// generated returns the columns beside the key that got an ID in any record.
func (c *creation) generated() (names []string) {
	for j, column := range c.columns {
		for at := j; at < len(c.given) && !column.isKey; at += len(c.columns) {
			if c.given[at] != 0 {
				names = append(names, column.field.DBName)
				break
			}
		}
	}
	return names
}

// takeBack clears the fields that still have the IDs they got: the statement has failed, so no row has them. A record
// that kept its key would be updated by the next Save instead of created: without its create hooks, and with children
// that refer to no row.
func (c *creation) takeBack(p *plan) {
	r := &records{plan: p, columns: c.columns}
	if ok, err := r.of(c.stmt); !ok || err != nil {
		return
	}
	for j, column := range c.columns {
		given := make(map[snowflake.ID]bool, r.n) // by no record's place: GORM may put other records into the slice
		for at := j; at < len(c.given); at += len(c.columns) {
			given[c.given[at]] = c.given[at] != 0
		}
		for i := range r.n {
			if given[r.load(i, column).id] {
				r.store(i, column, value{})
			}
		}
	}
}

// changes is how a statement was before it was changed.
type changes struct {
	selects    []string
	clauses    []savedClause // in the order of the changes
	resultMade bool
}

type savedClause struct {
	name   string
	clause clause.Clause
	there  bool
}

// change returns where changes of the statement are noted. It must be called before the first change.
func (c *creation) change() *changes {
	if c.changes == nil {
		c.changes = &changes{selects: c.stmt.Selects}
	}
	return c.changes
}

// selectColumns adds the columns that Select does not name to the selected ones, in a copy, since sessions may share
// the slice. Without it Select("Name") would store a row without a key.
func (c *creation) selectColumns() {
	if len(c.stmt.Selects) == 0 {
		return
	}
	var missing []string
	for _, column := range c.columns {
		if selectionOf(c.stmt, column.field) == notSelected {
			missing = append(missing, column.field.DBName)
		}
	}
	if missing != nil {
		c.change()
		c.stmt.Selects = slices.Concat(c.stmt.Selects, missing)
	}
}

// saveClause keeps a clause of the statement, to be restored, and returns it.
func (c *creation) saveClause(name string) clause.Clause {
	old, there := c.stmt.Clauses[name]
	changes := c.change()
	changes.clauses = append(changes.clauses, savedClause{name, old, there})
	return old
}

// setClause replaces a clause of the statement.
func (c *creation) setClause(name string, expression clause.Expression) {
	changed := c.saveClause(name)
	changed.Name, changed.Expression = name, expression
	c.stmt.Clauses[name] = changed
}

// restore takes all changes back, so that a handle that is used again finds its statement as it was.
func (c *creation) restore() {
	changed := c.changes
	if changed == nil {
		return
	}
	c.changes = nil
	c.stmt.Selects = changed.selects
	for _, saved := range slices.Backward(changed.clauses) {
		if saved.there {
			c.stmt.Clauses[saved.name] = saved.clause
		} else {
			delete(c.stmt.Clauses, saved.name)
		}
	}
	if changed.resultMade {
		c.stmt.Result = nil
	}
}

// source says how settle learns what became of the records.
type source uint8

const (
	rowCount   source = iota // the number of rows, for DO NOTHING on other databases than MySQL
	returned                 // RETURNING key, where the dialect has it; not for slices of maps, into which GORM does not scan
	lastInsert               // LAST_INSERT_ID(key) on MySQL; for integer keys only, since it is a number
	ask                      // a query for the rows by their IDs, and others by the columns of the conflict target
)

// conflict is what rewrite leaves for settle.
type conflict struct {
	clause.OnConflict
	does    outcome
	source  source
	records *records
	before  []value // what the records had before the statement, for each record and column

	// fields are those of the columns and the others that RETURNING brings; nil for maps. GORM assigns the rows to the
	// records by their order, so values end up in wrong records if rows are missing.
	fields, others []*schema.Field
	held           []any // what the records had in the fields, pointers themselves
}

// settlement is the work of settle on one statement.
type settlement struct {
	*creation
	*conflict
	db     *gorm.DB
	reread bool // the queries for the rows read the other fields again
}

// had returns what record i had in column j when the statement was built.
func (s *settlement) had(i, j int) value { return s.before[i*len(s.columns)+j] }

// gave returns the columns that record i had in the statement as fill left them; a hook may have replaced an ID.
func (s *settlement) gave(i int) []int {
	var columns []int
	for j := range s.columns {
		if id := s.gaveID(i, j); id != 0 && s.had(i, j).id == id {
			columns = append(columns, j)
		}
	}
	return columns
}
