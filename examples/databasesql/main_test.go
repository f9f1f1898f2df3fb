package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/examples/internal/exampletest"
)

func TestRepliesReferToTheirQuestion(t *testing.T) {
	var out strings.Builder
	exampletest.Must(t, run(t.Context(), filepath.Join(t.TempDir(), "messages.db"), &out))
	exampletest.Check(t, out.String(), `{"id":"<1>","reply_to":null,"body":"Tea?"}
{"id":"<2>","reply_to":"<1>","body":"Yes."}
{"id":"<3>","reply_to":"<1>","body":"No."}
`)
}
