// Package schema describes the tables of a shop.
package schema

import (
	"context"
	"fmt"

	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/mixin"

	"github.com/sqlflake/sqlflake/snowflake"
)

// Key gives a schema a Snowflake ID as its primary key.
//
// The default is 0, "no ID yet", and Keys replaces it: a default function has no context and no error result, and could
// use a global generator only. Without Keys, Positive rejects the row; SQLite would store it under its own number.
type Key struct{ mixin.Schema }

// Fields returns the key.
func (Key) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id").GoType(snowflake.ID(0)).Immutable().
			DefaultFunc(func() snowflake.ID { return 0 }).Positive().
			Annotations(entsql.Annotation{Incremental: new(bool)}), // false: no identity, no AUTOINCREMENT
	}
}

// Keys returns a hook that gives every new row an ID of gen, unless the program has set one. Client.Use registers it
// for the client and its transactions. It draws with the context of the call and returns the generator's error.
//
// Ent runs hooks row by row, even in CreateBulk. To know the keys of a batch before the rows, for references, draw them
// with Fill and pass them to SetID.
func Keys(gen *snowflake.Generator) ent.Hook {
	return func(next ent.Mutator) ent.Mutator {
		return ent.MutateFunc(func(ctx context.Context, m ent.Mutation) (ent.Value, error) {
			row, ok := m.(interface {
				ID() (snowflake.ID, bool)
				SetID(snowflake.ID)
			})
			if !ok || !m.Op().Is(ent.OpCreate) { // not ok: a schema with a key of another type
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
	}
}
