package main

import (
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/examples/internal/exampletest"
)

func TestUserIsPrintedWithItsKey(t *testing.T) {
	t.Chdir(t.TempDir())
	var out strings.Builder
	exampletest.Must(t, run(t.Context(), &out))
	exampletest.Check(t, out.String(), `{"id":"<1>","name":"Ada"}`+"\n")
}
