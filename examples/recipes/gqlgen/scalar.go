// Package gqlgen has the scalar for IDs with gqlgen. Copy this file, and name it in gqlgen.yml as the model of ID.
//
// The generated code is not in the repository. In examples/recipes: cd gqlgen && go tool gqlgen
package gqlgen

import (
	"github.com/99designs/gqlgen/graphql"

	"github.com/sqlflake/sqlflake/snowflake"
)

// MarshalID writes an ID as a string.
func MarshalID(id snowflake.ID) graphql.Marshaler { return graphql.MarshalString(id.String()) }

// UnmarshalID reads a string, or an integer that a query contains.
func UnmarshalID(value any) (id snowflake.ID, err error) {
	text, err := graphql.UnmarshalString(value)
	if err == nil {
		err = id.UnmarshalText([]byte(text))
	}
	return id, err
}
