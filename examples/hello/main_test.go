package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/internal/exampletest"
)

func TestUserIsPrintedWithItsKey(t *testing.T) {
	t.Chdir(t.TempDir())
	var out strings.Builder
	exampletest.Must(t, run(t.Context(), &out))

	got := regexp.MustCompile(`"20[^"]*"`).ReplaceAllString(out.String(), `"<time>"`)
	exampletest.Check(t, got, `{"id":"<1>","created_at":"<time>","updated_at":"<time>","name":"Ada"}`+"\n")
}
