package gormplugin

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
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

// fill gives IDs to the records of a statement. It sets either all fields that they lack or none. Fields that have a
// value stay, so a second call only fills what a hook has cleared.
func (c *callbacks) fill(db *gorm.DB) {
	stmt := db.Statement
	if db.Error != nil || stmt.Schema == nil || isBuilt(stmt) {
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
	if p.Key != nil && p.Key.Field.AutoIncrement && !c.hasWarned(stmt) {
		c.warn(stmt, "gormplugin: GORM treats the key %s of %s (column %s) as auto-increment, "+
			"and the plugin fills it. Rows that others insert get numbers of the database, which may collide with IDs. "+
			"Call gormplugin.DisableAutoIncrement at the start, or add autoIncrement:false to its tag.",
			p.Key.Field.Name, stmt.Schema.Name, p.Key.Field.DBName)
	}
	if err := c.fillRecords(p, stmt); err != nil {
		_ = db.AddError(err)
	}
}

// isBuilt reports whether callbacks.Create has built the statement, which it does right before it runs it.
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

// insertOf returns the insert of the statement, or nil. A copy of a statement has the clauses of the original.
func (c *callbacks) insertOf(stmt *gorm.Statement) *upsert.Insert {
	if in, _ := stmt.Clauses[insertKey].Expression.(*upsert.Insert); in != nil && in.Stmt == stmt {
		return in
	}
	return nil
}

// generatorOf returns the generator of a column.
func (c *config) generatorOf(column *model.Column) Generator {
	if column.Gen != nil {
		return column.Gen
	}
	return c.gen
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

// fillRecords fills all columns of records of any shape.
func (c *callbacks) fillRecords(p *model.Plan, stmt *gorm.Statement) error {
	columns := p.Active(stmt)
	if len(columns) == 0 {
		return nil
	}
	r, err := p.RecordsOf(stmt, columns)
	if err != nil {
		return err
	}
	lacking := 0
	for _, column := range columns {
		lacking += r.Lacking(column)
	}
	switch {
	case lacking == 0:
		return nil
	case !r.Settable():
		return fmt.Errorf("gormplugin: %s by value cannot take its key, pass a pointer: %w", r.Type(), gorm.ErrInvalidValue)
	}

	in := c.insertOf(stmt)
	if in == nil {
		in = &upsert.Insert{Stmt: stmt}
	}
	in.AllocIDs(columns, r.N)
	for j := range columns { // no field is set before all generators have succeeded
		if c.group(columns, j) == j {
			if err := c.drawGroup(stmt, in, &r, j, lacking); err != nil {
				return err
			}
		}
	}

	repeated := false
	for at, id := range in.IDs {
		i, column := at/len(columns), columns[at%len(columns)]
		switch {
		case id == 0:
		case r.Lacks(i, column):
			r.Store(i, column, model.Value{ID: id})
		case r.Load(i, column).ID != id: // the same pointer occurs again
			repeated, in.IDs[at] = true, 0
		}
	}
	if repeated {
		return c.keepOnce(in, p)
	}
	c.remember(in)
	return nil
}

// group returns the first of the columns whose generator is that of column j.
func (c *callbacks) group(columns []*model.Column, j int) int {
	for k := range j {
		if isSame(c.generatorOf(columns[k]), c.generatorOf(columns[j])) {
			return k
		}
	}
	return j
}

// drawGroup puts new IDs into the insert where records lack them in a column of a group, by one call of its generator.
// They ascend in the order of the records, and within a record in that of the columns.
func (c *callbacks) drawGroup(stmt *gorm.Statement, in *upsert.Insert, r *model.Records, group, lacking int) error {
	n, columns := lacking, r.Columns
	for j, column := range columns {
		if c.group(columns, j) != group {
			n -= r.Lacking(column)
		}
	}
	ids := in.IDs
	if n < len(ids) {
		ids = make([]snowflake.ID, n)
	}
	if n == 0 {
		return nil
	}
	if err := draw(stmt.Context, c.generatorOf(columns[group]), ids, stmt.Schema.Name); err != nil {
		return err
	}
	if n == len(in.IDs) {
		return nil // they are in their places
	}

	for at := range in.IDs {
		j := at % len(columns)
		if len(ids) > 0 && c.group(columns, j) == group && r.Lacks(at/len(columns), columns[j]) {
			in.IDs[at], ids = ids[0], ids[1:]
		}
	}
	return nil
}

// keepOnce is called if IDs are left over, since a pointer without a key occurs more than once in a slice. One record
// has one key, so it cannot become several rows, which GORM makes of it with auto-increment keys. Without a conflict
// clause that is an error. With one the record is left in once: GORM repeats a record if several owners share it, and
// the database would take the second one for a row that exists.
func (c *callbacks) keepOnce(in *upsert.Insert, p *model.Plan) error {
	list, columns := in.Stmt.ReflectValue, len(in.Columns)
	if upsert.Fails(in.Stmt, c.dialect) {
		in.TakeBack(p)
		return fmt.Errorf("gormplugin: a pointer is more than once in a %s of %s, and one record has one key: %w",
			list.Type(), in.Stmt.Schema.Name, gorm.ErrInvalidData)
	}

	if list.Kind() == reflect.Slice {
		seen := make(map[uintptr]bool, list.Len())
		distinct := reflect.New(list.Type()).Elem()
		var ids []snowflake.ID
		for i := range list.Len() {
			if element := list.Index(i); !seen[element.Pointer()] {
				seen[element.Pointer()] = true
				distinct.Set(reflect.Append(distinct, element))
				ids = append(ids, in.IDs[i*columns:(i+1)*columns]...)
			}
		}
		in.Stmt.ReflectValue, in.IDs = distinct, ids
	}
	c.remember(in)
	return nil
}

// isSame reports whether two generators are one. Generators that Go cannot compare, such as functions, never are.
func isSame(a, b Generator) bool {
	return reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable() && a == b
}

// draw fills ids in one call of the generator.
func draw(ctx context.Context, gen Generator, ids []snowflake.ID, model string) error {
	err := gen.Fill(ctx, ids)
	if err == nil && slices.Contains(ids, 0) {
		err = errors.New("the generator returned the ID 0")
	}
	if err != nil {
		return fmt.Errorf("gormplugin: IDs for %s: %w", model, err)
	}
	return nil
}
