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

// handle is what the callbacks of one database share.
type handle struct {
	*config
	dialect   upsert.Dialect
	plans     sync.Map                   // *schema.Schema to *model.Plan
	last      atomic.Pointer[model.Plan] // the plan that was used last, usually the next one too
	warned    sync.Map                   // reflect.Type of models
	announces atomic.Bool                // a model has relations to announce
}

// fill gives IDs to the records of a statement. It sets either all fields that they lack or none. Fields that have a
// value stay, so a second call only fills what a hook has cleared.
func (h *handle) fill(db *gorm.DB) {
	stmt := db.Statement
	if db.Error != nil || stmt.Schema == nil || isBuilt(stmt) {
		return
	}
	p := h.planOf(stmt.Schema)
	if p.Err != nil {
		_ = db.AddError(p.Err)
		return
	}
	if len(p.Columns) == 0 {
		return
	}
	if p.Key != nil && p.Key.Field.AutoIncrement {
		h.warn(stmt, "gormplugin: GORM treats the key %s of %s (column %s) as auto-increment, "+
			"and the plugin fills it. Rows that others insert get numbers of the database, which may collide with IDs. "+
			"Call gormplugin.DisableAutoIncrement at the start, or add autoIncrement:false to its tag.",
			p.Key.Field.Name, stmt.Schema.Name, p.Key.Field.DBName)
	}
	done, err := h.fillPlain(p, stmt)
	if !done {
		err = h.fillAny(p, stmt)
	}
	if err != nil {
		_ = db.AddError(err)
	}
}

// isBuilt reports whether callbacks.Create has built the statement, which it does right before it runs it.
func isBuilt(stmt *gorm.Statement) bool { return stmt.SQL.Len() > 0 }

func (h *handle) planOf(s *schema.Schema) *model.Plan {
	if p := h.last.Load(); p != nil && p.Schema == s {
		return p
	}
	found, ok := h.plans.Load(s)
	if !ok {
		found, _ = h.plans.LoadOrStore(s, h.rules.NewPlan(s))
	}
	p := found.(*model.Plan)
	if len(p.BelongsTo)+len(p.Many2Many) > 0 {
		h.announces.Store(true)
	}
	h.last.Store(p)
	return p
}

// insertKey is the name of an insert among the clauses of a statement.
const insertKey = "snowflake:insert"

// remember keeps an insert for the next callbacks, among the clauses, since GORM's own Create makes that map anyway.
// The settings are a sync.Map, and their first entry takes 2 % of a Create. A statement has one insert at most.
func (h *handle) remember(in *upsert.Insert) {
	in.Stmt.Clauses[insertKey] = clause.Clause{Expression: in}
}

// insertOf returns the insert of the statement, or nil. A copy of a statement has the clauses of the original.
func (h *handle) insertOf(stmt *gorm.Statement) *upsert.Insert {
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

// fillPlain is fillAny for structs of the model with one integer field, in a statement without clauses, selections and
// hooks. Most statements are such, and it keeps them within 5 % of the time that they take with preset keys (go test
// -run '^$' -bench 'Create$' -benchtime 10000x ./gormplugin). done is false for other statements.
func (h *handle) fillPlain(p *model.Plan, stmt *gorm.Statement) (done bool, err error) {
	s := stmt.Schema
	if p.Plain == nil || len(stmt.Clauses) > 0 || len(stmt.Selects) > 0 || len(stmt.Omits) > 0 || hasClauses(s) ||
		(s.BeforeCreate || s.BeforeSave) && !stmt.SkipHooks {
		return false, nil
	}
	records := model.PlainRecordsOf(stmt)
	n, lacking := records.N, 0
	for i := range n {
		record := records.At(i)
		if !record.IsValid() {
			return true, nil // GORM returns gorm.ErrInvalidData later
		}
		if p.Plain.Position(record).Int() == 0 {
			lacking++
		}
	}
	if lacking == 0 {
		return n > 0, nil
	}
	in := &upsert.Insert{Stmt: stmt, Columns: p.Columns}
	ids := in.Room(lacking, n)
	if err := draw(stmt.Context, h.generatorOf(p.Plain), ids, s.Name); err != nil {
		return true, err
	}
	for i := 0; i < n && len(ids) > 0; i++ {
		if field := p.Plain.Position(records.At(i)); field.Int() == 0 { // the same pointer may occur twice
			field.SetInt(int64(ids[0]))
			in.IDs[i], ids = ids[0], ids[1:]
		}
	}
	if len(ids) > 0 {
		return true, h.keepOnce(in, p)
	}
	h.remember(in)
	return true, nil
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

// fillAny fills records of all shapes, and all columns.
func (h *handle) fillAny(p *model.Plan, stmt *gorm.Statement) error {
	columns := p.Active(stmt)
	if len(columns) == 0 {
		return nil
	}
	r, err := p.RecordsOf(stmt, columns)
	if err != nil {
		return err
	}
	batches, lacking := make([]*batch, len(columns)), 0
	for j, column := range columns {
		gen := h.generatorOf(column)
		if shared := slices.IndexFunc(batches[:j], func(b *batch) bool { return isSame(b.gen, gen) }); shared >= 0 {
			batches[j] = batches[shared]
		} else {
			batches[j] = &batch{gen: gen}
		}
		for i := range r.N {
			if r.Lacks(i, column) {
				batches[j].lacking++
				lacking++
			}
		}
	}
	switch {
	case lacking == 0:
		return nil
	case !r.Settable():
		return fmt.Errorf("gormplugin: %s by value cannot take its key, pass a pointer: %w", r.Type(), gorm.ErrInvalidValue)
	}
	for _, b := range batches { // no field is set before all generators have succeeded
		if b.ids == nil && b.lacking > 0 {
			b.ids = make([]snowflake.ID, b.lacking)
			if err := draw(stmt.Context, b.gen, b.ids, stmt.Schema.Name); err != nil {
				return err
			}
		}
	}
	in := h.insertOf(stmt)
	if in == nil {
		in = &upsert.Insert{Stmt: stmt}
	}
	if size := r.N * len(columns); len(in.IDs) != size {
		in.Columns, in.IDs = columns, make([]snowflake.ID, size)
	}
	for i := range r.N { // in the order of the records, and in each in that of the columns
		for j, column := range columns {
			if b := batches[j]; b.lacking > 0 && r.Lacks(i, column) {
				if len(b.ids) == 0 {
					in.TakeBack(p)
					return fmt.Errorf("gormplugin: the records of %s changed while they got their keys: %w",
						stmt.Schema.Name, gorm.ErrInvalidData)
				}
				in.IDs[i*len(columns)+j] = b.ids[0]
				r.Store(i, column, model.Value{ID: b.ids[0]})
				b.ids = b.ids[1:]
				lacking--
			}
		}
	}
	if lacking > 0 {
		return h.keepOnce(in, p)
	}
	h.remember(in)
	return nil
}

// batch is what one generator gives to a statement: IDs for all columns that it fills, so that they ascend in the order
// of the records, and within a record in that of the columns.
type batch struct {
	gen     Generator
	lacking int // how many fields take an ID of it
	ids     []snowflake.ID
}

// keepOnce is called if IDs are left over, since a pointer without a key occurs more than once in a slice. One record
// has one key, so it cannot become several rows, which GORM makes of it with auto-increment keys. Without a conflict
// clause that is an error. With one the record is left in once: GORM repeats a record if several owners share it, and the
// database would take the second one for a row that exists.
func (h *handle) keepOnce(in *upsert.Insert, p *model.Plan) error {
	list, columns := in.Stmt.ReflectValue, len(in.Columns)
	if upsert.Fails(in.Stmt, h.dialect) {
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
	h.remember(in)
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
