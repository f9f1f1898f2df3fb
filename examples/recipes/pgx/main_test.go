package main

import (
	"os"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/internal/exampletest"
	"github.com/sqlflake/sqlflake/internal/testdb"
)

func TestMain(m *testing.M) { os.Exit(testdb.Main(m)) }

// The last two modes do not ask the server for the types of arguments.
func TestRepliesReferToTheirQuestionInEachModeOfPgx(t *testing.T) {
	for _, mode := range []string{"cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			var out strings.Builder
			exampletest.Must(t, run(t.Context(), testdb.Postgres(t).DSN+"&default_query_exec_mode="+mode, &out))
			const question = `{"id":"<1>","reply_to":null,"body":"Tea?"}`
			const replies = `{"id":"<2>","reply_to":"<1>","body":"Yes."},{"id":"<3>","reply_to":"<1>","body":"No."}`
			exampletest.Check(t, out.String(), "["+question+","+replies+"]\n")
		})
	}
}
