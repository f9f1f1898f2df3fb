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

// fill is the callback that gives IDs to records. It sets either all fields that the records of a statement lack or
// none. Fields that have a value stay, so a second call only fills what a hook has cleared.
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

// insert is what the callbacks of one Create tell each other. It is a clause that no statement builds.
type insert struct {
	upsert.Insert
	waited bool // wait has made it, and start has not run yet
}

func (*insert) Build(clause.Builder) {}

// remember keeps an insert for the next callbacks, among the clauses, since GORM's own Create makes that map anyway.
// The settings are a sync.Map, and their first entry takes 2 % of a Create (go test -run '^$' -bench 'Create$'
// -benchtime 10000x ./gormplugin). A statement has one insert at most.
func (h *handle) remember(in *insert) { in.Stmt.Clauses[insertKey] = clause.Clause{Expression: in} }

// insertOf returns the insert of the statement, or nil. A copy of a statement has the clauses of the original.
func (h *handle) insertOf(stmt *gorm.Statement) *insert {
	if in, _ := stmt.Clauses[insertKey].Expression.(*insert); in != nil && in.Stmt == stmt {
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
	value := stmt.ReflectValue
	switch value.Kind() {
	case reflect.Struct:
		if !value.CanSet() || value.Type() != s.ModelType {
			return false, nil
		}
		field := p.Plain.Position(value)
		if field.Int() != 0 {
			return true, nil
		}
		in := &insert{Insert: upsert.Insert{Stmt: stmt, Columns: p.Columns}}
		if err := draw(stmt.Context, h.generatorOf(p.Plain), in.One(), s.Name); err != nil {
			return true, err
		}
		field.SetInt(int64(in.IDs[0]))
		h.remember(in)
		return true, nil
	case reflect.Slice:
		switch element := value.Type().Elem(); {
		case element == s.ModelType:
			return true, h.fillPlainList(p, stmt, false)
		case element.Kind() == reflect.Pointer && element.Elem() == s.ModelType:
			return true, h.fillPlainList(p, stmt, true)
		}
	}
	return false, nil
}

func (h *handle) fillPlainList(p *model.Plan, stmt *gorm.Statement, pointers bool) error {
	list, lacking := stmt.ReflectValue, 0
	n := list.Len()
	for i := range n {
		record := list.Index(i)
		if pointers {
			if record = record.Elem(); !record.IsValid() {
				return nil // GORM returns gorm.ErrInvalidData later
			}
		}
		if p.Plain.Position(record).Int() == 0 {
			lacking++
		}
	}
	if lacking == 0 {
		return nil
	}
	both := make([]snowflake.ID, lacking+n)
	ids, generated := both[:lacking], both[lacking:]
	if err := draw(stmt.Context, h.generatorOf(p.Plain), ids, stmt.Schema.Name); err != nil {
		return err
	}
	for i := 0; i < n && len(ids) > 0; i++ {
		record := list.Index(i)
		if pointers {
			record = record.Elem()
		}
		if field := p.Plain.Position(record); field.Int() == 0 { // the same pointer may occur twice
			field.SetInt(int64(ids[0]))
			generated[i], ids = ids[0], ids[1:]
		}
	}
	in := &insert{Insert: upsert.Insert{Stmt: stmt, Columns: p.Columns, IDs: generated}}
	if len(ids) > 0 {
		return h.keepOnce(in, p)
	}
	h.remember(in)
	return nil
}

// fillAny fills records of all shapes, and all columns.
func (h *handle) fillAny(p *model.Plan, stmt *gorm.Statement) error {
	columns := p.Active(stmt)
	if len(columns) == 0 {
		return nil
	}
	r, err := p.RecordsOf(stmt, columns)
	if r == nil || err != nil {
		return err
	}
	lacking := r.Lacking()
	if !slices.ContainsFunc(lacking, func(n int) bool { return n > 0 }) {
		return nil
	}
	if !r.Settable() {
		return fmt.Errorf("gormplugin: %s by value cannot take its key, pass a pointer: %w", r.Type(), gorm.ErrInvalidValue)
	}
	batches, err := h.batches(stmt, columns, lacking)
	if err != nil {
		return err
	}
	in := h.insertOf(stmt)
	if in == nil {
		in = &insert{Insert: upsert.Insert{Stmt: stmt}}
	}
	if size := r.N * len(columns); len(in.IDs) != size {
		in.Columns, in.IDs = columns, make([]snowflake.ID, size)
	}
	for i := range r.N { // in the order of the records, and in each in that of the columns
		for j, column := range columns {
			if b := batches[j]; b != nil && r.Lacks(i, column) {
				in.IDs[i*len(columns)+j] = b.ids[0]
				r.Store(i, column, model.Value{ID: b.ids[0]})
				b.ids = b.ids[1:]
			}
		}
	}
	if slices.ContainsFunc(batches, func(b *batch) bool { return b != nil && len(b.ids) > 0 }) {
		return h.keepOnce(in, p)
	}
	h.remember(in)
	return nil
}

// keepOnce is called if IDs are left over, since a pointer without a key occurs more than once in a slice. One record
// has one key, so it cannot become several rows, which GORM makes of it with auto-increment keys. Without a conflict
// clause that is an error. With DO UPDATE the record is left in once: GORM repeats a record if several owners share it
// in a has-many relation, and PostgreSQL refuses to update a row twice in a statement (SQLSTATE 21000).
func (h *handle) keepOnce(in *insert, p *model.Plan) error {
	list := in.Stmt.ReflectValue
	fail, once := upsert.Repeated(in.Stmt, h.dialect)
	if fail {
		in.TakeBack(p)
		return fmt.Errorf("gormplugin: a pointer is more than once in a %s of %s, and one record has one key: %w",
			list.Type(), in.Stmt.Schema.Name, gorm.ErrInvalidData)
	}
	if once && list.Kind() == reflect.Slice {
		seen := make(map[uintptr]bool, list.Len())
		distinct := reflect.New(list.Type()).Elem()
		var ids []snowflake.ID
		for i := range list.Len() {
			if element := list.Index(i); !seen[element.Pointer()] {
				seen[element.Pointer()] = true
				distinct.Set(reflect.Append(distinct, element))
				ids = append(ids, in.IDs[i*len(in.Columns):(i+1)*len(in.Columns)]...)
			}
		}
		in.Stmt.ReflectValue, in.IDs = distinct, ids
	}
	h.remember(in)
	return nil
}

// batch is what one generator gives to a statement.
type batch struct {
	gen     Generator
	lacking int // how many fields take an ID of it
	ids     []snowflake.ID
}

// batches returns for each column the batch that its IDs come from. Columns of one generator share a batch, so that the
// IDs ascend in the order of the records, and within a record in that of the columns.
func (h *handle) batches(stmt *gorm.Statement, columns []*model.Column, lacking []int) ([]*batch, error) {
	ofColumn := make([]*batch, len(columns))
	for j, column := range columns {
		if lacking[j] == 0 {
			continue
		}
		gen := h.generatorOf(column)
		shared := slices.IndexFunc(ofColumn[:j], func(b *batch) bool { return b != nil && isSame(b.gen, gen) })
		if shared >= 0 {
			ofColumn[j] = ofColumn[shared]
		} else {
			ofColumn[j] = &batch{gen: gen}
		}
		ofColumn[j].lacking += lacking[j]
	}
	for _, b := range ofColumn { // no field is set before all generators have succeeded
		if b == nil || b.ids != nil {
			continue
		}
		b.ids = make([]snowflake.ID, b.lacking)
		if err := draw(stmt.Context, b.gen, b.ids, stmt.Schema.Name); err != nil {
			return nil, err
		}
	}
	return ofColumn, nil
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
