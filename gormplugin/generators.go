package gormplugin

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/snowflake"
)

// generator returns the generator of a column for a statement.
func (p *plan) generator(stmt *gorm.Statement, c *column) (Generator, error) {
	if c.gen != nil {
		return c.gen, nil
	}
	setting, ok := stmt.Settings.Load(SessionGenerator)
	if !ok {
		return p.gen, nil
	}
	gen, ok := setting.(Generator)
	switch {
	case !ok && setting != nil:
		return nil, fmt.Errorf("%w: the setting %s is a %T and no Generator", ErrOption, SessionGenerator, setting)
	case isNil(gen):
		return nil, fmt.Errorf("%w in the setting %s", ErrNilGenerator, SessionGenerator)
	default:
		return gen, nil
	}
}

// draw fills ids, in one call of the generator.
func draw(ctx context.Context, gen Generator, ids []snowflake.ID) error {
	if err := gen.Fill(ctx, ids); err != nil {
		return err
	}
	if slices.Contains(ids, 0) {
		return ErrZeroID
	}
	return nil
}

// batch is what one generator gives to a statement.
type batch struct {
	gen     Generator
	lacking int // how many fields take an ID of it
	ids     []snowflake.ID
}

// batches returns for each column the batch that its IDs come from. Columns of one generator share one, so that the IDs
// ascend in the order of the records, and within a record in that of the columns.
func (r *records) batches(stmt *gorm.Statement, lacking []int) (ofColumn []*batch, err error) {
	ofColumn = make([]*batch, len(r.columns))
	for j, c := range r.columns {
		if lacking[j] == 0 {
			continue
		}
		gen, err := r.plan.generator(stmt, c)
		if err != nil {
			return nil, err
		}
		shared := slices.IndexFunc(ofColumn[:j], func(b *batch) bool { return b != nil && same(b.gen, gen) })
		if shared >= 0 {
			ofColumn[j] = ofColumn[shared]
		} else {
			ofColumn[j] = &batch{gen: gen}
		}
		ofColumn[j].lacking += lacking[j]
	}
	// Nothing is stored before all have succeeded.
	for _, b := range ofColumn {
		if b == nil || b.ids != nil {
			continue
		}
		b.ids = make([]snowflake.ID, b.lacking)
		if err := draw(stmt.Context, b.gen, b.ids); err != nil {
			return nil, fmt.Errorf("gormplugin: IDs for %s: %w", stmt.Schema.Name, err)
		}
	}
	return ofColumn, nil
}

// same reports whether two generators are one. Those that Go cannot compare, functions among them, never are.
func same(a, b Generator) bool {
	return reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable() && a == b
}
