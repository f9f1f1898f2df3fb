package ent_test

import (
	"testing"

	_ "github.com/sqlflake/sqlflake/examples/recipes/ent/schema" // so that go test runs again after a change
	"github.com/sqlflake/sqlflake/examples/recipes/internal/generated"
)

func TestTheShopWorksWithGeneratedCode(t *testing.T) {
	generated.Test(t, "ent", "./testdata/shop", "generate", ".")
}
