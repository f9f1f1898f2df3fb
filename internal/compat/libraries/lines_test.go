//go:build !race

package libraries

import (
	"github.com/99designs/gqlgen/graphql"

	"github.com/sqlflake/sqlflake/snowflake"
)

// MarshalID and UnmarshalID are a scalar of gqlgen: in gqlgen.yml, "model: your/package.ID". Those of other types differ
// in the type only.
func MarshalID(id snowflake.ID) graphql.Marshaler { return graphql.MarshalString(id.String()) }

func UnmarshalID(value any) (id snowflake.ID, err error) {
	text, err := graphql.UnmarshalString(value)
	if err == nil {
		err = id.UnmarshalText([]byte(text))
	}
	return id, err
}
