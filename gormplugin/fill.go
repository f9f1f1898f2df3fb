package gormplugin

import (
	"fmt"
	"reflect"
	"slices"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/snowflake"
)

// fill is the callback that gives IDs to records. It sets either all fields that the records of a statement lack or
// none. Fields that have a value stay, so a second call only fills what a hook has cleared.
func (h *handle) fill(db *gorm.DB) {
	stmt := db.Statement
	if db.Error != nil || stmt.Schema == nil || isBuilt(stmt) {
		return
	}
	p := h.planOf(stmt.Schema)
	if p.err != nil {
		_ = db.AddError(p.err)
		return
	}
	if len(p.columns) == 0 {
		return
	}
	if p.key != nil && p.key.field.AutoIncrement {
		h.warn(stmt, p.key)
	}
	done, err := h.fillPlain(p, stmt)
	if !done {
		err = h.fillAny(p, stmt)
	}
	if err != nil {
		_ = db.AddError(err)
	}
}

// warn logs once for each model that GORM treats a key as auto-increment that the plugin fills.
func (h *handle) warn(stmt *gorm.Statement, key *column) {
	if _, again := h.warned.LoadOrStore(stmt.Schema.ModelType, true); again {
		return
	}
	stmt.Logger.Warn(stmt.Context, "gormplugin: GORM treats the key %s of %s (column %s) as auto-increment, "+
		"and the plugin fills it. Rows that others insert get numbers of the database, which may collide with IDs. "+
		"Call gormplugin.DisableAutoIncrement or gormplugin.AutoMigrate at the start, or add autoIncrement:false to its tag.",
		key.field.Name, stmt.Schema.Name, key.field.DBName)
}

// warnMissed is the callback that logs once for each model that a record has no key, and the plugin fills none.
func (h *handle) warnMissed(db *gorm.DB) {
	stmt := db.Statement
	if db.Error != nil || stmt.Schema == nil {
		return
	}
	p := h.planOf(stmt.Schema)
	if p.missed == nil || selectionOf(stmt, p.missed.field) == omitted {
		return
	}
	r := records{value: stmt.ReflectValue, n: 1}
	if kind := r.value.Kind(); kind == reflect.Slice || kind == reflect.Array {
		r.list, r.n = true, r.value.Len()
	}
	for i := range r.n {
		record := r.at(i)
		if !record.IsValid() || record.Type() != stmt.Schema.ModelType {
			return
		}
		if key := p.missed.position(record); !key.IsValid() || key.IsZero() {
			h.sayMissed(stmt, p.missed)
			return
		}
	}
}

func (h *handle) sayMissed(stmt *gorm.Statement, key *column) {
	if _, again := h.warned.LoadOrStore(stmt.Schema.ModelType, true); again {
		return
	}
	stmt.Logger.Warn(stmt.Context, "gormplugin: %s is created without the key %s, and the plugin does not fill the type %s. "+
		"Make it a snowflake.ID, add the tag snowflake or the option IntegerKeys, or the tag snowflake:- if the database makes it.",
		stmt.Schema.Name, key.field.Name, key.field.FieldType)
}

// generatorOf returns the generator of a column.
func (c *config) generatorOf(column *column) Generator {
	if column.gen != nil {
		return column.gen
	}
	return c.gen
}

// fillPlain is fillAny for structs of the model with one integer field, in a statement without clauses, selections and
// hooks. Most statements are such, and it keeps them within 5 % of the time that they take with keys set before (go
// test -run '^$' -bench 'Create$' -benchtime 10000x ./gormplugin). done is false for other statements.
func (h *handle) fillPlain(p *plan, stmt *gorm.Statement) (done bool, err error) {
	s := stmt.Schema
	if p.plain == nil || len(stmt.Clauses) > 0 || len(stmt.Selects) > 0 || len(stmt.Omits) > 0 || hasClauses(s) ||
		(s.BeforeCreate || s.BeforeSave) && !stmt.SkipHooks {
		return false, nil
	}
	value := stmt.ReflectValue
	switch value.Kind() {
	case reflect.Struct:
		if !value.CanSet() || value.Type() != s.ModelType {
			return false, nil
		}
		field := p.plain.position(value)
		if field.Int() != 0 {
			return true, nil
		}
		c := &creation{stmt: stmt, columns: p.columns}
		c.given = c.one[:]
		if err := draw(stmt.Context, h.generatorOf(p.plain), c.given, s.Name); err != nil {
			return true, err
		}
		field.SetInt(int64(c.given[0]))
		h.remember(c)
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

func (h *handle) fillPlainList(p *plan, stmt *gorm.Statement, pointers bool) error {
	list, lacking := stmt.ReflectValue, 0
	n := list.Len()
	for i := range n {
		record := list.Index(i)
		if pointers {
			if record = record.Elem(); !record.IsValid() {
				return nil // GORM returns gorm.ErrInvalidData later
			}
		}
		if p.plain.position(record).Int() == 0 {
			lacking++
		}
	}
	if lacking == 0 {
		return nil
	}
	both := make([]snowflake.ID, lacking+n)
	ids, given := both[:lacking], both[lacking:]
	if err := draw(stmt.Context, h.generatorOf(p.plain), ids, stmt.Schema.Name); err != nil {
		return err
	}
	for i := 0; i < n && len(ids) > 0; i++ {
		record := list.Index(i)
		if pointers {
			record = record.Elem()
		}
		if field := p.plain.position(record); field.Int() == 0 { // a pointer may be there twice
			field.SetInt(int64(ids[0]))
			given[i], ids = ids[0], ids[1:]
		}
	}
	c := &creation{stmt: stmt, columns: p.columns, given: given}
	if len(ids) > 0 {
		return h.settleRepeated(c, p)
	}
	h.remember(c)
	return nil
}

// fillAny fills records of all shapes, and all columns.
func (h *handle) fillAny(p *plan, stmt *gorm.Statement) error {
	r := &records{plan: p, columns: p.active(stmt)}
	if len(r.columns) == 0 {
		return nil
	}
	if ok, err := r.of(stmt); !ok {
		return err
	}
	lacking := r.lacking()
	if !slices.ContainsFunc(lacking, func(n int) bool { return n > 0 }) {
		return nil
	}
	if !r.settable() {
		return fmt.Errorf("gormplugin: %s by value cannot take its key, pass a pointer: %w", r.at(0).Type(), gorm.ErrInvalidValue)
	}
	batches, err := h.batches(r, lacking)
	if err != nil {
		return err
	}
	c := h.creationOf(stmt)
	if c == nil {
		c = &creation{stmt: stmt}
	}
	if size := r.n * len(r.columns); len(c.given) != size {
		c.columns, c.given = r.columns, make([]snowflake.ID, size)
	}
	if unused := r.fill(batches, c.given); unused {
		if err := h.settleRepeated(c, p); err != nil {
			return err
		}
	}
	h.remember(c)
	return nil
}

// settleRepeated is called if a pointer without a key is more than once in a slice. One record has one key, so it
// cannot become several rows, which GORM makes of it with auto-increment keys. Without a conflict clause that is an
// error. With DO UPDATE the record is left in once: GORM puts a record there twice if several owners share it in a
// has-many relation, and PostgreSQL refuses to update a row twice in a statement (SQLSTATE 21000).
func (h *handle) settleRepeated(c *creation, p *plan) error {
	list := c.stmt.ReflectValue
	switch _, does := conflictOf(c.stmt, h.mysql); {
	case does == fails:
		c.takeBack(p)
		return fmt.Errorf("gormplugin: a pointer is more than once in a %s of %s, and one record has one key: %w",
			list.Type(), c.stmt.Schema.Name, gorm.ErrInvalidData)
	case does == skips, list.Kind() != reflect.Slice:
		return nil
	}
	seen := make(map[uintptr]struct{}, list.Len())
	distinct := reflect.New(list.Type()).Elem()
	var given []snowflake.ID
	for i := range list.Len() {
		element := list.Index(i)
		if _, again := seen[element.Pointer()]; again {
			continue
		}
		seen[element.Pointer()] = struct{}{}
		distinct.Set(reflect.Append(distinct, element))
		given = append(given, c.given[i*len(c.columns):(i+1)*len(c.columns)]...)
	}
	c.stmt.ReflectValue, c.given = distinct, given
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
func (h *handle) batches(r *records, lacking []int) (ofColumn []*batch, err error) {
	ofColumn = make([]*batch, len(r.columns))
	for j, column := range r.columns {
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
	// No field is set before all generators have succeeded.
	for _, b := range ofColumn {
		if b == nil || b.ids != nil {
			continue
		}
		b.ids = make([]snowflake.ID, b.lacking)
		if err := draw(r.ctx, b.gen, b.ids, r.plan.schema.Name); err != nil {
			return nil, err
		}
	}
	return ofColumn, nil
}

// fill gives IDs to the columns without one, in the order of the records, and notes in given which record got which.
// unused reports whether IDs are left over, which happens if a pointer is there twice.
func (r *records) fill(batches []*batch, given []snowflake.ID) (unused bool) {
	for i := range r.n {
		for j, c := range r.columns {
			b := batches[j]
			if b == nil || !r.lacks(i, c) {
				continue
			}
			id := b.ids[0]
			b.ids = b.ids[1:]
			r.store(i, c, value{id: id})
			given[i*len(r.columns)+j] = id
		}
	}
	return slices.ContainsFunc(batches, func(b *batch) bool { return b != nil && len(b.ids) > 0 })
}
