package upsert

import (
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"github.com/sqlflake/sqlflake/gormplugin/internal/model"
)

// ErrRepeated is gormplugin.ErrRepeated.
var ErrRepeated = fmt.Errorf("gormplugin: a generated ID exists already: %w", gorm.ErrDuplicatedKey)

// A statement with a conflict clause has to fail if it meets a row with a generated ID. No dialect has an expression
// that raises an error, so these fail while they are computed. The error is known by the text beside it, whatever the
// language of the server and its quotes are.
const (
	raisePostgres, postgresSays = "CAST(pg_catalog.concat('repeated key ', ?) AS boolean)", "repeated key "
	raiseSQLite, sqliteSays     = "abs(-9223372036854775808)", "integer overflow"
	raiseMySQL, mysqlSays       = "EXP(34567 + LENGTH(VALUES(?)))", "34567 + "
)

// refuseRepeats makes the database refuse generated IDs that a row has already, where the conflict target is their
// column. If all records have such IDs, the clause is left out: nothing else can conflict. MySQL ignores targets, so
// its clause stays, and compute refuses them.
func (c *conflict) refuseRepeats() {
	if c.dialect.MySQL {
		return
	}
	for j, column := range c.Columns {
		ids := c.generatedValues(j)
		if len(ids) == 0 || !c.isTarget(column.Field) {
			continue
		}
		if len(ids) == c.records.N && c.clause.OnConstraint == "" {
			c.change()
			delete(c.Stmt.Clauses, "ON CONFLICT")
			c.does = fails
			return
		}
		if c.does == updates {
			c.guard(column, ids)
		}
	}
}

// guard makes DO UPDATE fail for a row that has one of the IDs.
func (c *conflict) guard(column *model.Column, ids []any) {
	current := clause.Column{Table: clause.CurrentTable, Name: column.Field.DBName}
	vars, raise := []any{current, ids}, raiseSQLite
	switch c.dialect.Name {
	case "postgres":
		vars, raise = append(vars, current), raisePostgres
	case "sqlite":
	default:
		return
	}

	var condition clause.Expression = clause.Expr{SQL: "TRUE"}
	if own := c.clause.Where; len(own.Exprs) > 0 {
		condition = own
	}
	guarded := c.clause
	guarded.Where = clause.Where{Exprs: []clause.Expression{clause.Expr{
		SQL: "CASE WHEN ? IN ? THEN " + raise + " ELSE ? END", Vars: append(vars, condition),
	}}}
	c.setConflict(guarded)
	c.guarded = true
}

// compute makes MySQL compute what refuses repeated IDs, and what keepInsertID needs, when it meets a row. It does so
// beside the value of an assignment, which stays. That is of another column than the key and the foreign keys if there
// is one: Vitess refuses to compute the column that it finds the shard by (VT12001).
func (c *conflict) compute() {
	ignores := c.does == skips && !c.clause.DoNothing
	if ignores || c.does == fails {
		return
	}
	value := clause.Expr{SQL: "0"}
	if c.shows == insertID {
		value = clause.Expr{SQL: "LAST_INSERT_ID(?)", Vars: []any{clause.Column{Name: c.plan.Key.Field.DBName}}}
	}
	for j, column := range c.Columns {
		ids, name := c.generatedValues(j), clause.Column{Name: column.Field.DBName}
		if len(ids) == 0 {
			continue
		}
		text, vars := "IF(? = VALUES(?), ", []any{name, name}
		if len(ids) < c.records.N {
			text, vars = "IF(? = VALUES(?) AND ? IN ?, ", append(vars, name, ids)
		}
		value = clause.Expr{SQL: text + raiseMySQL + ", ?)", Vars: append(vars, name, value)}
		c.guarded = true
	}
	if value.SQL == "0" {
		return
	}

	changed := c.clause
	changed.DoNothing = false
	changed.DoUpdates = slices.Clone(changed.DoUpdates)
	carrier := c.carrier()
	at := slices.IndexFunc(changed.DoUpdates, func(set clause.Assignment) bool { return set.Column.Name == carrier })
	if at < 0 {
		unchanged := clause.Column{Name: carrier}
		at, changed.DoUpdates = 0, slices.Insert(changed.DoUpdates, 0, clause.Assignment{Column: unchanged, Value: unchanged})
	}
	set, word := &changed.DoUpdates[at], "?"
	if from, ok := set.Value.(clause.Column); ok && from.Table == "excluded" {
		set.Value, word = clause.Column{Name: from.Name}, "VALUES(?)"
	}
	set.Value = clause.Expr{SQL: "IF(?, " + word + ", " + word + ")", Vars: []any{value, set.Value, set.Value}}
	c.setClause("ON CONFLICT", changed)
}

// isPlain reports whether the statement writes a column beside the key that keeps its value through IF, and when it is
// set to itself. MariaDB then ignores another assignment to a text without a size.
func (c *conflict) isPlain(name string) bool {
	field := c.Stmt.Schema.LookUpField(name)
	if field == nil || field.PrimaryKey || !field.Creatable || model.SelectionOf(c.Stmt, field) != model.Written {
		return false
	}
	switch field.DataType {
	case schema.Int, schema.Uint, schema.Bool, "bigint":
		return true
	}
	return field.DataType == schema.String && 0 < field.Size && field.Size < 1<<14
}

// carrier returns the column whose assignment computes: one that the clause sets if there is one, and no ID if there is
// another, since Vitess may find the shard by that. What is computed reads IDs, so none may be set before.
func (c *conflict) carrier() string {
	s := c.Stmt.Schema
	isID := func(name string) bool {
		field := s.LookUpField(name)
		return field != nil && model.IsKeyType(field.FieldType)
	}

	var set []string
	for _, assignment := range c.clause.DoUpdates {
		set = append(set, assignment.Column.Name)
	}
	unset := slices.DeleteFunc(slices.Clone(s.DBNames), func(name string) bool { return slices.Contains(set, name) })
	early := set
	if at := slices.IndexFunc(set, isID); at >= 0 {
		early = set[:at]
	}

	for _, name := range slices.Concat(early, unset) {
		if c.isPlain(name) && !isID(name) {
			return name
		}
	}
	if at := slices.IndexFunc(set, c.isPlain); at >= 0 {
		return set[at]
	}
	return c.plainColumn()
}

// plainColumn returns the first plain column, or else the key.
func (c *conflict) plainColumn() string {
	s := c.Stmt.Schema
	if at := slices.IndexFunc(s.DBNames, c.isPlain); at >= 0 {
		return s.DBNames[at]
	}
	if s.PrioritizedPrimaryField != nil {
		return s.PrioritizedPrimaryField.DBName
	}
	return s.DBNames[0]
}

// announceWritten tells the statements above that this one writes the rows of some of their records: an association
// may lead back to the record, whose own statement is still to come.
func (in *Insert) announceWritten(r *model.Records) {
	for above := parentOf(in.Stmt); above != nil; above = above.above {
		other := above.in
		if other == nil || other.Stmt.Schema.ModelType != in.Stmt.Schema.ModelType {
			continue
		}
		for i := range r.N {
			for _, column := range in.Columns {
				if at := slices.Index(other.IDs, r.Load(i, column).ID); at >= 0 {
					other.written = append(other.written, at/len(other.Columns))
				}
			}
		}
	}
}

// explain wraps the error of a statement that met a row with a generated ID.
func (c *conflict) explain(db *gorm.DB) {
	cause := db.Error
	says := map[string]string{"postgres": postgresSays, "sqlite": sqliteSays, "mysql": mysqlSays}[c.dialect.Name]
	raised := c.guarded && strings.Contains(cause.Error(), says)
	switch {
	case !raised && !isDuplicate(db):
		return
	case c.dialect.Name == "postgres": // which runs no query after the error
		raised = raised || c.isDetailOf(cause)
	default:
		_, rows, err := c.findGenerated(db, true)
		raised = raised || rows > 0 && err == nil
	}
	if raised {
		db.Error = c.repeated(cause)
	}
}

// isDuplicate reports whether the dialect takes the error for one of a unique index.
func isDuplicate(db *gorm.DB) bool {
	if errors.Is(db.Error, gorm.ErrDuplicatedKey) {
		return true
	}
	translator, ok := db.Dialector.(gorm.ErrorTranslator)
	return ok && errors.Is(translator.Translate(db.Error), gorm.ErrDuplicatedKey)
}

// isDetailOf reports whether PostgreSQL names a generated ID in the detail of an error, which reads "Key (tenant_id,
// id)=(7, 42) already exists." in English.
func (c *conflict) isDetailOf(err error) bool {
	var ofServer interface {
		error
		SQLState() string
	}
	var shown struct{ Detail string }
	if !errors.As(err, &ofServer) {
		return false
	}
	text, _ := json.Marshal(ofServer)
	if json.Unmarshal(text, &shown) != nil {
		return false
	}

	names, values, _ := strings.Cut(shown.Detail, ")=(")
	for j, column := range c.Columns {
		if !slices.Contains(words(names), column.Field.DBName) {
			continue
		}
		isShown := func(id any) bool { return slices.Contains(words(values), inDatabase(id)) }
		if slices.ContainsFunc(c.generatedValues(j), isShown) {
			return true
		}
	}
	return false
}

// words returns the parts of a list of names or values.
func words(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune(` ,()"`, r) })
}

// inDatabase returns the text of a value in the database.
func inDatabase(x any) string {
	if valuer, ok := x.(driver.Valuer); ok {
		x, _ = valuer.Value()
	}
	return fmt.Sprint(x)
}

// repeated returns ErrRepeated. cause is the database's error, nil if it has skipped the record.
func (c *conflict) repeated(cause error) error {
	c.Repeated = true
	var ids []any
	for j := range c.Columns {
		ids = append(ids, c.generatedValues(j)...)
	}
	what := fmt.Sprintf("%v", ids[0])
	if len(ids) > 1 {
		what = fmt.Sprintf("one of %v to %v", ids[0], ids[len(ids)-1])
	}
	err := fmt.Errorf("%w: a row of %s has %s, which was generated for a new record; look for a second generator with "+
		"the same worker, or a database that was set back", ErrRepeated, c.Stmt.Table, what)
	if cause != nil {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	return err
}

// countsRows reports whether the row count of an INSERT is that of the rows which it has inserted. On PostgreSQL a
// trigger of a table with children, or of a view, may insert the rows elsewhere, and count none.
func (c *conflict) countsRows(db *gorm.DB) bool {
	if c.dialect.Name != "postgres" {
		return true
	}
	n, table := 0, clause.Table{Name: clause.CurrentTable}
	named := db.Session(&gorm.Session{NewDB: true, Initialized: true}).Statement
	named.Table, named.TableExpr = c.Stmt.Table, c.Stmt.TableExpr
	err := c.query(db, func() error { return nil }, []any{&n}, "SELECT count(*) FROM pg_catalog.pg_class "+
		"WHERE oid = pg_catalog.to_regclass(?) AND (relkind = 'v' OR relkind = 'r' AND relhassubclass)", named.Quote(table))
	return err != nil || n == 0
}
