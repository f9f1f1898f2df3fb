package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"

	"github.com/sqlflake/sqlflake/snowflake"
)

// Customer is known by a code.
type Customer struct{ ent.Schema }

// Mixin returns the key.
func (Customer) Mixin() []ent.Mixin { return []ent.Mixin{Key{}} }

// Fields returns the other columns.
func (Customer) Fields() []ent.Field { return []ent.Field{field.String("code").Unique()} }

// Edges returns the relations.
func (Customer) Edges() []ent.Edge { return []ent.Edge{edge.To("orders", Order.Type)} }

// Order belongs to a customer, or has customer_id NULL.
type Order struct{ ent.Schema }

// Mixin returns the key.
func (Order) Mixin() []ent.Mixin { return []ent.Mixin{Key{}} }

// Fields returns the other columns.
func (Order) Fields() []ent.Field {
	return []ent.Field{field.Int64("customer_id").GoType(snowflake.ID(0)).Optional().Nillable(), field.Int64("cents")}
}

// Edges returns the relations.
func (Order) Edges() []ent.Edge {
	return []ent.Edge{edge.From("customer", Customer.Type).Ref("orders").Unique().Field("customer_id")}
}
