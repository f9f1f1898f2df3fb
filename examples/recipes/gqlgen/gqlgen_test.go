package gqlgen

import (
	"bytes"
	"encoding/json"
	"testing"

	_ "github.com/99designs/gqlgen/graphql/handler" // so that go.mod has what the server in testdata needs

	"github.com/sqlflake/sqlflake/examples/recipes/internal/generated"
	"github.com/sqlflake/sqlflake/snowflake"
)

func TestTheServerWorksWithGeneratedCode(t *testing.T) {
	generated.Test(t, "gqlgen", "./testdata/server", "tool", "gqlgen")
}

func TestEachIDIsReadBackAndNothingElse(t *testing.T) {
	for _, id := range []snowflake.ID{0, 1, 250263666560077824, -1 << 63} {
		var out bytes.Buffer
		MarshalID(id).MarshalGQL(&out)
		if want := `"` + id.String() + `"`; out.String() != want {
			t.Errorf("%d is written as %s, want %s", id, &out, want)
		}

		for _, in := range []any{id.String(), json.Number(id.String()), int64(id)} {
			if back, err := UnmarshalID(in); back != id || err != nil {
				t.Errorf("%T %v is read as %d, %v", in, in, back, err)
			}
		}
	}

	for _, in := range []any{nil, "", "x", 1.5, true, []any{}} {
		if id, err := UnmarshalID(in); err == nil {
			t.Errorf("%v is read as %d", in, id)
		}
	}
}
