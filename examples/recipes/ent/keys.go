package main

import (
	"context"
	"fmt"

	"github.com/sqlflake/sqlflake/examples/recipes/ent/ent"
	"github.com/sqlflake/sqlflake/examples/recipes/ent/ent/hook"
	"github.com/sqlflake/sqlflake/snowflake"
)

// keys returns a hook that gives every new row an ID of gen, unless the program has set one. Client.Use registers it
// for the client and its transactions. It draws with the context of the call and returns the generator's error. The
// default function of a schema can do neither; it would need a global generator and MustNext.
//
// Ent runs hooks row by row, also in CreateBulk. To know the keys of a batch before the rows, for references, draw them
// with Fill and pass them to SetID.
func keys(gen *snowflake.Generator) ent.Hook {
	return hook.On(func(next ent.Mutator) ent.Mutator {
		return ent.MutateFunc(func(ctx context.Context, m ent.Mutation) (ent.Value, error) {
			row, ok := m.(interface {
				ID() (snowflake.ID, bool)
				SetID(snowflake.ID)
			})
			if !ok { // a schema with a key of another type
				return next.Mutate(ctx, m)
			}
			if id, _ := row.ID(); id.IsZero() {
				id, err := gen.NextContext(ctx)
				if err != nil {
					return nil, fmt.Errorf("key of %s: %w", m.Type(), err)
				}
				row.SetID(id)
			}
			return next.Mutate(ctx, m)
		})
	}, ent.OpCreate)
}
