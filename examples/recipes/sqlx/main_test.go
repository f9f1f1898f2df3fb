package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/internal/exampletest"
)

func TestRepliesReferToTheirQuestion(t *testing.T) {
	var out strings.Builder
	exampletest.Must(t, run(t.Context(), filepath.Join(t.TempDir(), "messages.db"), &out))
	const question = `{"id":"<1>","reply_to":null,"body":"Tea?"}`
	const replies = `{"id":"<2>","reply_to":"<1>","body":"Yes."},{"id":"<3>","reply_to":"<1>","body":"No."}`
	exampletest.Check(t, out.String(), "["+question+","+replies+"]\n")
}
