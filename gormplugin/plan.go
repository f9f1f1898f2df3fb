package gormplugin

import (
	"slices"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"
)

// plan is what the plugin has found out about a model. It is computed once for a handle and never changes; the schema,
// which all users of the handle share, is only read.
type plan struct {
	schema  *schema.Schema
	columns []*column // to fill, the key first; empty if the model is none of the plugin's business
	key     *column   // the prioritized key, nil if the plugin does not fill it
	gen     Generator // for columns whose tags name none
	err     error     // of a tag: every Create fails with it

	plain *column // the only column, if it is one for the short way in fill
}

func (h *handle) planOf(s *schema.Schema) *plan {
	if p := h.last.Load(); p != nil && p.schema == s {
		return p
	}
	found, ok := h.plans.Load(s)
	if !ok {
		found, _ = h.plans.LoadOrStore(s, h.plugin.planOf(s))
	}
	p := found.(*plan)
	h.last.Store(p)
	return p
}

func (p *Plugin) planOf(s *schema.Schema) *plan {
	made := &plan{schema: s, gen: p.generatorFor(s.ModelType)}
	for _, field := range s.Fields {
		c, err := p.columnOf(s, field)
		switch {
		case err != nil:
			return &plan{schema: s, err: err}
		case c == nil:
		case c.isKey:
			made.key = c
			made.columns = slices.Insert(made.columns, 0, c)
		default:
			made.columns = append(made.columns, c)
		}
	}
	if len(made.columns) == 1 {
		if c := made.columns[0]; c.kind == signed && !c.pointer && c.path != nil {
			made.plain = c
		}
	}
	return made
}

// columnOf returns how a field is filled, nil if it is not.
func (p *Plugin) columnOf(s *schema.Schema, field *schema.Field) (*column, error) {
	if shadowing, ok := s.FieldsByDBName[field.DBName]; ok && shadowing != field {
		return nil, nil // of an embedded struct, and GORM takes the one that is nearer
	}
	t, isKey := tagOf(field), field == s.PrioritizedPrimaryField
	switch {
	case t.out:
		return nil, nil
	case t.in:
		return p.taggedColumn(s, field, t)
	case t.inherited(field):
		return nil, tagError(s, field, "is on an embedded struct, and belongs to one of its fields")
	case !isKey, field.DBName == "", !field.Creatable, isReference(s, field):
		return nil, nil
	}
	if kind := kindOfKey(indirect(field.FieldType)); kind != notAKey {
		if field.HasDefaultValue { // default:, autoIncrement: the database makes it
			return nil, nil
		}
		return newColumn(field, kind, isKey), nil
	}
	if p.integerKeys && !t.databaseMakes() && isLargeInteger(field) {
		return newColumn(field, kindOfAny(indirect(field.FieldType)), isKey), nil
	}
	return nil, nil
}

// isLargeInteger reports whether field is an integer of 64 bits, in Go and as far as GORM knows in the database.
func isLargeInteger(field *schema.Field) bool {
	kind := kindOfAny(indirect(field.FieldType))
	return (kind == signed || kind == unsigned) && field.Serializer == nil && (field.Size == 0 || field.Size >= 64)
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

// active returns the columns without those that Omit names: the database makes these.
func (p *plan) active(stmt *gorm.Statement) []*column {
	if len(stmt.Selects) == 0 && len(stmt.Omits) == 0 {
		return p.columns
	}
	return slices.DeleteFunc(slices.Clone(p.columns), func(c *column) bool {
		return selectionOf(stmt, c.field) == omitted
	})
}
