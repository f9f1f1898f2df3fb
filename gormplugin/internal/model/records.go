package model

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/sqlflake/sqlflake/snowflake"
)

// Records gives access to the columns of what a statement creates: a struct, a slice or array of structs or of pointers
// to them, or one of the four kinds of maps that GORM takes.
type Records struct {
	Columns []*Column // of the plan, those that the statement writes
	N       int       // 0 if the plugin leaves them alone: GORM rejects the shape or does not know it
	List    bool      // a slice or array of structs
	Maps    bool
	Many    bool // a slice of maps

	ctx     context.Context
	batches int // of the plan
	schema  *schema.Schema
	value   reflect.Value    // a struct, or a slice or array if List is true, or
	maps    []map[string]any // if Maps is true
}

// Lacking returns the records that a statement creates, and how many of their fields that it writes have no value.
func (p *Plan) Lacking(stmt *gorm.Statement) (r Records, n int, err error) {
	columns := p.Active(stmt)
	if len(columns) == 0 {
		return r, 0, nil
	}
	if r, err = RecordsOf(stmt, columns); err != nil {
		return r, 0, err
	}

	// GORM would overwrite the keys with numbers of the database's counter, and append maps (callbacks.Create,
	// gorm.Scan).
	if isCounted := p.Key != nil && p.Key.Field.HasDefaultValue; isCounted && r.Many {
		return r, 0, fmt.Errorf("gormplugin: GORM treats the key %s of %s as auto-increment and cannot create several "+
			"maps; call DisableAutoIncrement at the start: %w", p.Key.Field.Name, stmt.Schema.Name, gorm.ErrInvalidData)
	}

	r.batches, n = p.Batches, r.lacking()
	if n > 0 && !r.Settable() {
		return r, n, fmt.Errorf("gormplugin: %s by value cannot take its key, pass a pointer: %w",
			r.Type(), gorm.ErrInvalidValue)
	}
	return r, n, nil
}

// Active returns the columns without those that Omit names: the database makes these.
func (p *Plan) Active(stmt *gorm.Statement) []*Column {
	if len(stmt.Selects) == 0 && len(stmt.Omits) == 0 {
		return p.Columns
	}
	return slices.DeleteFunc(slices.Clone(p.Columns), func(c *Column) bool {
		return SelectionOf(stmt, c.Field) == Omitted
	})
}

// Selection says whether a statement writes a column.
type Selection uint8

// What Select and Omit say about a column.
const (
	Written     Selection = iota
	NotSelected           // Select names other columns only
	Omitted               // Omit names it: the database makes the value
)

// SelectionOf decides as callbacks.ConvertToCreateValues does.
func SelectionOf(stmt *gorm.Statement, field *schema.Field) Selection {
	if len(stmt.Selects) == 0 && len(stmt.Omits) == 0 {
		return Written
	}

	columns, restricted := stmt.SelectAndOmitColumns(true, false)
	named, ok := columns[field.DBName]
	switch {
	case ok && !named:
		return Omitted
	case !ok && restricted:
		return NotSelected
	default:
		return Written
	}
}

// RecordsOf returns the records of a statement, none with an error.
func RecordsOf(stmt *gorm.Statement, columns []*Column) (r Records, err error) {
	r = Records{Columns: columns, ctx: stmt.Context, schema: stmt.Schema, Maps: true}

	switch dest := stmt.Dest.(type) {
	case map[string]any:
		if dest == nil {
			return r, fmt.Errorf("gormplugin: a nil map cannot take the key of %s: %w",
				stmt.Schema.Name, gorm.ErrInvalidValue)
		}
		r.maps = []map[string]any{dest}
	case *map[string]any:
		if *dest == nil {
			*dest = make(map[string]any, len(columns))
		}
		r.maps = []map[string]any{*dest}
	case []map[string]any:
		r.maps, r.Many = dest, true
	case *[]map[string]any:
		r.maps, r.Many = *dest, true
	default:
		r.Maps = false
		r.N, err = r.setStructs(stmt)
		return r, err
	}

	r.N = len(r.maps)
	return r, nil
}

// setStructs takes the structs of a statement, and returns how many the plugin fills.
func (r *Records) setStructs(stmt *gorm.Statement) (n int, err error) {
	var element reflect.Type
	r.value = stmt.ReflectValue
	switch r.value.Kind() {
	case reflect.Struct:
		n, element = 1, r.value.Type()
	case reflect.Slice, reflect.Array:
		r.List, n = true, r.value.Len()
		element = r.value.Type().Elem()
	}
	if n == 0 {
		return 0, nil
	}

	if element.Kind() == reflect.Pointer {
		element = element.Elem()
	}
	if element.Kind() != reflect.Struct { // where GORM panics, with the transaction open
		return 0, fmt.Errorf("gormplugin: %s is not a slice of records of %s: %w",
			r.value.Type(), stmt.Schema.Name, gorm.ErrInvalidData)
	}
	for i := range n {
		if !r.At(i).IsValid() {
			return 0, nil // a nil pointer, for which GORM returns gorm.ErrInvalidData later
		}
	}

	if element == stmt.Schema.ModelType {
		return n, nil
	}
	kinds := kindsIn(element, r.Columns)
	if kinds == nil {
		return n, nil
	}
	return 0, r.checkIDs(n, kinds)
}

// checkIDs returns an error if one of n records of another type than the model has no ID at the position of a column's
// field. GORM would store whatever is there, a title for example, as the key.
func (r *Records) checkIDs(n int, kinds []kind) error {
	for j, c := range r.Columns {
		for i := range n {
			if kinds[j] != notAKey && kinds[j].loadIndirect(c.Position(r.At(i))) != (Value{}) {
				continue
			}
			return fmt.Errorf("gormplugin: %s has no %s where the model %s has %s: %w",
				r.Type(), c.Field.FieldType, r.schema.Name, c.Field.Name, gorm.ErrInvalidValue)
		}
	}
	return nil
}

// kindsIn returns how structs of a type hold the IDs of the columns, nil if each has its field as in the model.
func kindsIn(record reflect.Type, columns []*Column) []kind {
	differs := func(c *Column) bool { return typeAt(c.Field, record) != c.Field.FieldType }
	if !slices.ContainsFunc(columns, differs) {
		return nil
	}

	kinds := make([]kind, len(columns))
	for j, c := range columns {
		kinds[j] = c.kindIn(record)
	}
	return kinds
}

// kindIn returns how a struct of another type than the model holds the ID that GORM stores from the column's position:
// notAKey if it holds none in the column's form. GORM finds fields by their positions in the model.
func (c *Column) kindIn(record reflect.Type) kind {
	t := typeAt(c.Field, record)
	if t == nil {
		return notAKey
	}

	t = indirect(t)
	k := kindOfAny(t)
	bothNumbers := holdsNumbers(t) && IsNumber(c.Field)
	switch {
	case t == c.elem:
		return k
	case (k == text) != (c.kind == text):
		return notAKey
	case k != text && !bothNumbers:
		return notAKey
	}
	return k
}

// typeAt returns the type of the field at the field's position in a struct of type t, nil if there is none. GORM finds
// fields by their positions in the model, even in values of another type, as in db.Model(&User{}).Create(&dto).
func typeAt(field *schema.Field, t reflect.Type) reflect.Type {
	for _, index := range field.StructField.Index {
		at := max(index, -index-1)
		if t.Kind() != reflect.Struct || at >= t.NumField() {
			return nil
		}
		if !t.Field(at).IsExported() {
			return nil
		}

		t = t.Field(at).Type
		if index < 0 {
			if t.Kind() != reflect.Pointer {
				return nil
			}
			t = t.Elem()
		}
	}
	return t
}

// At returns record i, which is a struct.
func (r *Records) At(i int) reflect.Value {
	if !r.List {
		return r.value
	}
	record := r.value.Index(i)
	if record.Kind() == reflect.Pointer {
		record = record.Elem()
	}
	return record
}

// lacking counts the fields that have no value.
func (r *Records) lacking() (n int) {
	for _, c := range r.Columns {
		for i := range r.N {
			if r.lacks(i, c) {
				n++
			}
		}
	}
	return n
}

// Fill draws new IDs for the fields that lack one, lacking in number. It stores them in the fields and at their places
// in ids: record i and column j have the place i*len(r.Columns)+j. IDs of an earlier call stay in ids, but become 0 if
// a hook has replaced them. No field is set before all generators have succeeded.
//
// It reports whether a pointer to a record occurs more than once. The field then has the ID of its first place, and
// there is a 0 at the others.
func (r *Records) Fill(ids []snowflake.ID, lacking int) (repeated bool, err error) {
	r.Forget(ids)
	if err := r.draw(ids, lacking); err != nil {
		return false, err
	}
	return r.assign(ids), nil
}

// draw puts new IDs at the places of the fields that lack one, by one call of each generator. They ascend in the order
// of the records, and within a record in the order of the columns.
func (r *Records) draw(ids []snowflake.ID, lacking int) error {
	if lacking == len(ids) && r.batches == 1 {
		return r.drawBatch(0, ids)
	}

	for batch := range r.batches {
		n := 0
		for range r.empty(batch) {
			n++
		}
		if n == 0 {
			continue
		}

		drawn := make([]snowflake.ID, n)
		if err := r.drawBatch(batch, drawn); err != nil {
			return err
		}
		for at := range r.empty(batch) {
			ids[at], drawn = drawn[0], drawn[1:]
		}
	}
	return nil
}

// empty returns the places of the fields of a batch that have no value.
func (r *Records) empty(batch int) iter.Seq[int] {
	return func(yield func(at int) bool) {
		for at := range r.N * len(r.Columns) {
			i, c := at/len(r.Columns), r.Columns[at%len(r.Columns)]
			if c.Batch != batch {
				continue
			}
			if r.lacks(i, c) && !yield(at) {
				return
			}
		}
	}
}

// drawBatch fills ids in one call of the generator that the columns of a batch share.
func (r *Records) drawBatch(batch int, ids []snowflake.ID) error {
	at := slices.IndexFunc(r.Columns, func(c *Column) bool { return c.Batch == batch })
	err := r.Columns[at].Gen.Fill(r.ctx, ids)
	if err == nil && slices.Contains(ids, 0) {
		err = errors.New("the generator returned the ID 0")
	}
	if err != nil {
		return fmt.Errorf("gormplugin: IDs for %s: %w", r.schema.Name, err)
	}
	return nil
}

// assign stores the IDs in the fields at their places. A field that already has another ID was reached through a second
// pointer to the same record: assign sets that place in ids to 0, and reports repeated.
func (r *Records) assign(ids []snowflake.ID) (repeated bool) {
	for at, id := range ids {
		if id == 0 {
			continue
		}

		i, c := at/len(r.Columns), r.Columns[at%len(r.Columns)]
		switch {
		case r.lacks(i, c):
			r.SetValue(i, c, Value{ID: id})
		case r.Value(i, c).ID != id:
			ids[at] = 0
			repeated = true
		}
	}
	return repeated
}

// Forget sets to 0 the IDs that the fields at their places no longer hold.
func (r *Records) Forget(ids []snowflake.ID) {
	for at, id := range ids[:min(len(ids), r.N*len(r.Columns))] {
		if id == 0 {
			continue
		}
		i, c := at/len(r.Columns), r.Columns[at%len(r.Columns)]
		if r.Value(i, c).ID != id {
			ids[at] = 0
		}
	}
}

// Clear clears the fields that have one of the IDs of their columns. It goes by the IDs, not by their places: GORM may
// have put other records into the slice.
func (r *Records) Clear(ids []snowflake.ID) {
	for j, c := range r.Columns {
		assigned := make(map[snowflake.ID]bool, r.N)
		for at := j; at < len(ids); at += len(r.Columns) {
			assigned[ids[at]] = ids[at] != 0
		}

		for i := range r.N {
			if assigned[r.Value(i, c).ID] {
				r.SetValue(i, c, Value{})
			}
		}
	}
}

// Value returns what record i has in a column, the zero value if nothing.
func (r *Records) Value(i int, c *Column) Value {
	if r.Maps {
		x, _ := c.loadMap(r.maps[i])
		return x
	}
	return c.load(r.At(i))
}

// lacks reports whether record i has nothing in a column. A map may have something other than an ID, such as an SQL
// expression.
func (r *Records) lacks(i int, c *Column) bool {
	if r.Maps {
		_, taken := c.loadMap(r.maps[i])
		return !taken
	}
	return c.load(r.At(i)) == Value{}
}

// SetValue sets a column of record i; the zero value clears it.
func (r *Records) SetValue(i int, c *Column, x Value) {
	switch {
	case !r.Maps:
		c.store(r.ctx, r.At(i), x)
	case x == Value{}:
		delete(r.maps[i], c.Field.DBName)
	default:
		if r.maps[i] == nil {
			r.maps[i] = make(map[string]any, len(r.Columns))
		}
		c.storeMap(r.maps[i], x)
	}
}

// Settable reports whether columns can be stored, which is impossible in structs that were passed by value.
func (r *Records) Settable() bool { return r.Maps || r.At(0).CanAddr() }

// OfModel reports whether the records are structs of the model itself.
func (r *Records) OfModel() bool { return !r.Maps && r.Type() == r.schema.ModelType }

// Type returns the type of the records, which are structs.
func (r *Records) Type() reflect.Type { return r.At(0).Type() }
