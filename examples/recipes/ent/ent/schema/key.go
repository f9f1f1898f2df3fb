// Package schema describes the tables. Run go generate . in the module after a change.
package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/mixin"

	"github.com/sqlflake/sqlflake/snowflake"
)

// Key gives a schema a Snowflake ID as its primary key.
//
// The default is 0, "no ID yet", and the hook of the client replaces it: a default function of the schema has no
// context and no error result, and could use a global generator only. Without the hook Positive rejects the row.
// Otherwise SQLite would store it under a number of its own.
type Key struct{ mixin.Schema }

// Fields returns the key.
func (Key) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id").GoType(snowflake.ID(0)).Immutable().
			DefaultFunc(func() snowflake.ID { return 0 }).Positive().
			Annotations(entsql.Annotation{Incremental: new(bool)}), // false: no identity, no AUTOINCREMENT
	}
}
