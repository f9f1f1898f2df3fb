package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
)

// Customer is known by a code.
type Customer struct{ ent.Schema }

// Mixin returns the key.
func (Customer) Mixin() []ent.Mixin { return []ent.Mixin{Key{}} }

// Fields returns the other columns.
func (Customer) Fields() []ent.Field {
	return []ent.Field{
		field.String("code").Unique(),
	}
}

// Edges returns the relations.
func (Customer) Edges() []ent.Edge {
	return []ent.Edge{edge.To("orders", Order.Type)}
}
