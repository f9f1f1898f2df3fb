package gormplugin

import (
	"context"
	"reflect"
	"strings"

	"gorm.io/gorm/schema"

	"github.com/sqlflake/sqlflake/snowflake"
)

// plan is what the plugin has found out about a model. It is computed once for a handle and never changes; the schema,
// which all users of the handle share, is only read.
type plan struct {
	field *schema.Field // the key to fill; nil if the model is none of the plugin's business
	kind  keyKind
	// direct is the index of a field that is not embedded, else -1: the common case, and worth its own path in batches.
	direct int
}

// leftAlone is the plan of all models that the plugin leaves alone.
var leftAlone = &plan{}

func (h *handle) planOf(s *schema.Schema) *plan {
	if p, ok := h.plans.Load(s); ok {
		return p.(*plan)
	}
	p, _ := h.plans.LoadOrStore(s, newPlan(s))
	return p.(*plan)
}

func newPlan(s *schema.Schema) *plan {
	field := s.PrioritizedPrimaryField // nil for a key of several fields none of which is called ID
	switch {
	case field == nil, field.DBName == "", !field.Creatable:
		return leftAlone
	case field.HasDefaultValue: // default:, autoIncrement: the database makes it
		return leftAlone
	case optedOut(field), isReference(s, field):
		return leftAlone
	}
	kind := kindOf(field.FieldType)
	if kind == notAKey {
		return leftAlone
	}
	direct := -1
	if index := field.StructField.Index; len(index) == 1 && index[0] >= 0 {
		direct = index[0]
	}
	return &plan{field: field, kind: kind, direct: direct}
}

// optedOut reports whether the field's own tag has snowflake:-. The settings that GORM has parsed cannot tell: it copies
// those of an embedded struct into each of its fields.
func optedOut(field *schema.Field) bool {
	settings := schema.ParseTagSetting(field.StructField.Tag.Get("gorm"), ";")
	return strings.TrimSpace(settings["SNOWFLAKE"]) == "-"
}

// isReference reports whether the field is the foreign key of a belongs-to relation, or half of a join table: another
// row's key, that GORM sets when it saves the association.
func isReference(s *schema.Schema, field *schema.Field) bool {
	s.Relationships.Mux.RLock()
	defer s.Relationships.Mux.RUnlock()
	for name, rel := range s.Relationships.Relations {
		// Models that have this one add relations of such names, and may still be writing to them.
		if strings.HasPrefix(name, "_") || rel.Type != schema.BelongsTo {
			continue
		}
		for _, ref := range rel.References {
			if !ref.OwnPrimaryKey && ref.ForeignKey == field {
				return true
			}
		}
	}
	return false
}

// position finds the key's field in a struct, by the position that it has in the model, without making the embedded
// structs on the way. It returns the zero Value if one of these is a nil pointer.
func (p *plan) position(record reflect.Value) reflect.Value {
	if p.direct >= 0 {
		return record.Field(p.direct)
	}
	for _, index := range p.field.StructField.Index {
		if index >= 0 {
			record = record.Field(index)
			continue
		}
		if record = record.Field(-index - 1); record.IsNil() { // GORM's mark for an embedded pointer
			return reflect.Value{}
		}
		record = record.Elem()
	}
	return record
}

// load returns the key of a record, which is a struct.
func (p *plan) load(record reflect.Value) snowflake.ID {
	if field := p.position(record); field.IsValid() {
		return p.kind.load(field)
	}
	return 0
}

// store sets the key of a record, which is an addressable struct.
func (p *plan) store(ctx context.Context, record reflect.Value, id snowflake.ID) {
	field := p.position(record)
	if !field.IsValid() {
		field = p.field.ReflectValueOf(ctx, record) // makes the embedded structs on the way
	}
	p.kind.store(field, id)
}

// storeIfLacking sets the key of a record that has none and reports whether it did.
func (p *plan) storeIfLacking(ctx context.Context, record reflect.Value, id snowflake.ID) bool {
	field := p.position(record)
	if !field.IsValid() {
		field = p.field.ReflectValueOf(ctx, record)
	} else if p.kind.load(field) != 0 {
		return false
	}
	p.kind.store(field, id)
	return true
}

// clear takes the key of a record, which is an addressable struct.
func (p *plan) clear(record reflect.Value) {
	if field := p.position(record); field.IsValid() {
		p.kind.clear(field)
	}
}

// typeAt returns the type that a struct of type t has at the position of the model's key, nil if there is nothing that
// position could return. GORM addresses all values by the positions of the model, also those of another type:
// db.Model(&User{}).Create(&dto).
func (p *plan) typeAt(t reflect.Type) reflect.Type {
	for _, index := range p.field.StructField.Index {
		pointer := index < 0
		if pointer {
			index = -index - 1
		}
		if t.Kind() != reflect.Struct || index >= t.NumField() {
			return nil
		}
		structField := t.Field(index)
		if !structField.IsExported() {
			return nil
		}
		t = structField.Type
		if pointer {
			if t.Kind() != reflect.Pointer {
				return nil
			}
			t = t.Elem()
		}
	}
	return t
}
