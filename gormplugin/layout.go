package gormplugin

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/sqlflake/sqlflake/snowflake"
)

// layouter is a [Generator] whose IDs can be read.
type layouter interface{ Layout() snowflake.Layout }

// layout returns the layout of the IDs in the column, from the plugin of the handle.
func (t target) layout() (snowflake.Layout, error) {
	p := of(t.stmt.DB)
	if p == nil {
		return snowflake.Layout{}, fmt.Errorf("%w for %s: %w", ErrNoLayout, t, ErrNoPlugin)
	}
	field := referred(t.field)
	if field != nil {
		switch column, err := p.columnOf(field.Schema, field); {
		case err != nil:
			return snowflake.Layout{}, err
		case column != nil:
			gen, err := (&plan{gen: p.generatorFor(field.Schema.ModelType)}).generator(t.stmt, column)
			if err != nil {
				return snowflake.Layout{}, err
			}
			return commonLayout(t, []Generator{gen})
		case !isKeyType(field.FieldType):
			return snowflake.Layout{}, fmt.Errorf("%w for %s: the plugin does not fill it (%s)", ErrNoLayout, t, field.FieldType)
		}
	}
	generators, err := p.allGenerators(t.stmt)
	if err != nil {
		return snowflake.Layout{}, err
	}
	return commonLayout(t, generators)
}

// commonLayout returns the layout of all the generators.
func commonLayout(t target, generators []Generator) (snowflake.Layout, error) {
	var common snowflake.Layout
	for i, gen := range generators {
		l, ok := gen.(layouter)
		if !ok {
			return snowflake.Layout{}, fmt.Errorf("%w for %s: a %T has no method Layout", ErrNoLayout, t, gen)
		}
		switch layout := l.Layout(); {
		case i == 0:
			common = layout
		case layout != common:
			return snowflake.Layout{}, fmt.Errorf("%w for %s: the generators have %s and %s", ErrNoLayout, t, common, layout)
		}
	}
	return common, nil
}

// allGenerators returns every generator that may have made an ID of the database.
func (p *Plugin) allGenerators(stmt *gorm.Statement) ([]Generator, error) {
	all := []Generator{p.gen}
	session, err := (&plan{}).generator(stmt, &column{})
	switch {
	case err != nil:
		return nil, err
	case session != nil:
		all = append(all, session)
	}
	all = slices.AppendSeq(all, maps.Values(p.models))
	return slices.AppendSeq(all, maps.Values(p.named)), nil
}

// referred returns the field that a foreign key of a belongs-to relation refers to, at the end of a chain of such keys,
// and the field itself if it is none.
func referred(field *schema.Field) *schema.Field {
	for range 8 { // keys that refer to each other in a ring are nobody's
		next := reference(field)
		if next == nil || next == field {
			break
		}
		field = next
	}
	return field
}

func reference(field *schema.Field) *schema.Field {
	if field == nil {
		return nil
	}
	relationships := &field.Schema.Relationships
	relationships.Mux.RLock()
	defer relationships.Mux.RUnlock()
	for name, rel := range relationships.Relations {
		if strings.HasPrefix(name, "_") || rel.Type != schema.BelongsTo { // see isReference
			continue
		}
		for _, ref := range rel.References {
			if !ref.OwnPrimaryKey && ref.ForeignKey == field && ref.PrimaryKey != nil {
				return ref.PrimaryKey
			}
		}
	}
	return nil
}
