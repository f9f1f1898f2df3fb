package gormplugin

import (
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"github.com/sqlflake/sqlflake/gormplugin/internal/model"
	"github.com/sqlflake/sqlflake/gormplugin/internal/upsert"
	"github.com/sqlflake/sqlflake/snowflake"
)

// callbacks is what the callbacks of one database share.
type callbacks struct {
	*config
	dialect   upsert.Dialect
	plans     sync.Map                   // *schema.Schema to *model.Plan
	last      atomic.Pointer[model.Plan] // the plan that was used last, usually the next one too
	warned    sync.Map                   // reflect.Type of models
	announces atomic.Bool                // a model has relations to announce
}

// fill gives IDs to the records of a statement. It sets all fields that have no value, or none after an error. A second
// call fills what a hook has cleared.
func (c *callbacks) fill(db *gorm.DB) {
	stmt := db.Statement
	if db.Error != nil || stmt.Schema == nil {
		return
	}
	if isBuilt(stmt) {
		return
	}

	p := c.planOf(stmt.Schema)
	if p.Err != nil {
		_ = db.AddError(p.Err)
		return
	}
	if len(p.Columns) == 0 {
		return
	}

	c.warnAutoIncrement(p, stmt)
	if err := c.fillRecords(p, stmt); err != nil {
		_ = db.AddError(err)
	}
}

// isBuilt reports whether callbacks.Create has built the SQL text. It runs the statement right afterwards.
func isBuilt(stmt *gorm.Statement) bool { return stmt.SQL.Len() > 0 }

func (c *callbacks) planOf(s *schema.Schema) *model.Plan {
	if p := c.last.Load(); p != nil && p.Schema == s {
		return p
	}

	found, ok := c.plans.Load(s)
	if !ok {
		found, _ = c.plans.LoadOrStore(s, c.rules.NewPlan(s))
	}

	p := found.(*model.Plan)
	if len(p.BelongsTo)+len(p.Many2Many) > 0 {
		c.announces.Store(true)
	}

	c.last.Store(p)
	return p
}

// insertKey is the name of an insert among the clauses of a statement.
const insertKey = "snowflake:insert"

// remember keeps an insert for the next callbacks, among the clauses, since GORM's own Create makes that map anyway.
// The settings are a sync.Map, and their first entry takes 2 % of a Create. A statement has one insert at most.
func (c *callbacks) remember(in *upsert.Insert) {
	in.Stmt.Clauses[insertKey] = clause.Clause{Expression: in}
}

// insertOf returns the insert of the statement, or nil. A copied statement has the clauses of the original, whose
// insert is not its own.
func (c *callbacks) insertOf(stmt *gorm.Statement) *upsert.Insert {
	if in, _ := stmt.Clauses[insertKey].Expression.(*upsert.Insert); in != nil && in.Stmt == stmt {
		return in
	}
	return nil
}

// hasClauses reports whether a type of the model's fields adds clauses to an INSERT.
func hasClauses(s *schema.Schema) bool {
	for _, c := range s.CreateClauses {
		if _, ok := c.(pluginCheck); !ok {
			return true
		}
	}
	return false
}

// fillRecords fills the fields of the records that have no value, of records of any shape.
func (c *callbacks) fillRecords(p *model.Plan, stmt *gorm.Statement) error {
	r, lacking, err := p.Lacking(stmt)
	if err != nil || lacking == 0 {
		return err
	}

	in := c.insertWithRoom(stmt, &r)
	repeated, err := r.Fill(in.IDs, lacking)
	if err == nil && repeated {
		err = c.keepOnce(in, &r)
	}
	if err != nil {
		return err
	}

	c.remember(in)
	return nil
}

// insertWithRoom returns the insert of a statement, with room for an ID in each field of its records.
func (c *callbacks) insertWithRoom(stmt *gorm.Statement, r *model.Records) *upsert.Insert {
	in := c.insertOf(stmt)
	if in == nil {
		in = &upsert.Insert{Stmt: stmt}
	}
	in.AllocIDs(r.Columns, r.N)
	return in
}

// keepOnce leaves a pointer that occurs more than once in a slice in it once, with its IDs. One record has one key, so
// it cannot become several rows, which GORM makes of it with auto-increment keys. Without a conflict clause that is an
// error. With one GORM repeats a record if several owners share it, and the database would take the second one for a
// row that exists.
func (c *callbacks) keepOnce(in *upsert.Insert, r *model.Records) error {
	list, columns := in.Stmt.ReflectValue, len(in.Columns)
	if upsert.Fails(in.Stmt, c.dialect) {
		r.Clear(in.IDs)
		return fmt.Errorf("gormplugin: a pointer is more than once in a %s of %s, and one record has one key: %w",
			list.Type(), in.Stmt.Schema.Name, gorm.ErrInvalidData)
	}
	if list.Kind() != reflect.Slice {
		return nil
	}

	distinct := reflect.New(list.Type()).Elem()
	first := make(map[uintptr]int, list.Len()) // where a pointer is in distinct
	moved := make([]int, list.Len())
	var ids []snowflake.ID
	for i := range list.Len() {
		element := list.Index(i)
		at, isSeen := first[element.Pointer()]
		if !isSeen {
			at = distinct.Len()
			first[element.Pointer()] = at
			distinct.Set(reflect.Append(distinct, element))
			ids = append(ids, in.IDs[i*columns:(i+1)*columns]...)
		}
		moved[i] = at
	}

	in.Stmt.ReflectValue, in.IDs = distinct, ids
	in.MoveWritten(moved)
	return nil
}

// warnMissed runs right before the statement. It logs, once for each model, that a record has no key and the plugin
// fills none.
func (c *callbacks) warnMissed(db *gorm.DB) {
	stmt := db.Statement
	if db.Error != nil || stmt.Schema == nil {
		return
	}

	p := c.planOf(stmt.Schema)
	key := p.Missed
	if key == nil || c.hasWarned(stmt) {
		return
	}
	if model.SelectionOf(stmt, key.Field) == model.Omitted {
		return
	}

	records, err := model.RecordsOf(stmt, nil)
	if err != nil || records.N == 0 {
		return
	}
	if !records.OfModel() {
		return
	}

	for i := range records.N {
		if field := key.Position(records.At(i)); field.IsValid() && !field.IsZero() {
			continue
		}
		c.warn(stmt, "gormplugin: %s is created without the key %s, and the plugin does not fill the type %s. "+
			"Make it a snowflake.ID, add the tag snowflake or the option WithIntegerKeys, "+
			"or the tag snowflake:- if the database makes it.", stmt.Schema.Name, key.Field.Name, key.Field.FieldType)
		return
	}
}

// warnAutoIncrement logs once for each model that GORM treats its key as auto-increment.
func (c *callbacks) warnAutoIncrement(p *model.Plan, stmt *gorm.Statement) {
	if p.Key == nil || !p.Key.Field.AutoIncrement {
		return
	}
	if c.hasWarned(stmt) {
		return
	}

	c.warn(stmt, "gormplugin: GORM treats the key %s of %s (column %s) as auto-increment, "+
		"and the plugin fills it. Rows that others insert get numbers of the database, which may collide with IDs. "+
		"Call gormplugin.DisableAutoIncrement at the start, or add autoIncrement:false to its tag.",
		p.Key.Field.Name, stmt.Schema.Name, p.Key.Field.DBName)
}

// hasWarned reports whether the plugin has logged a warning for the model.
func (c *callbacks) hasWarned(stmt *gorm.Statement) bool {
	_, warned := c.warned.Load(stmt.Schema.ModelType)
	return warned
}

// warn logs once for each model.
func (c *callbacks) warn(stmt *gorm.Statement, format string, args ...any) {
	if _, again := c.warned.LoadOrStore(stmt.Schema.ModelType, true); !again {
		stmt.Logger.Warn(stmt.Context, format, args...)
	}
}
