package testdb_test

import (
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/internal/testdb"
)

func TestAMissingServerSkipsOrFailsAndNoPasswordIsPrinted(t *testing.T) {
	for _, server := range []struct{ name, variable, closed, printed string }{
		{
			"postgres", "SNOWFLAKE_TEST_POSTGRES",
			"postgres://postgres:secret@127.0.0.1:1/test", "postgres://postgres:xxxxx@127.0.0.1:1/test",
		},
		{"mariadb", "SNOWFLAKE_TEST_MYSQL", "root:secret@tcp(127.0.0.1:1)/", "127.0.0.1:1"},
	} {
		for _, test := range []struct{ task, env, result, want string }{
			{"without servers", "SNOWFLAKE_TEST_REQUIRE=", "SKIP", server.name + " not found at " + server.printed},
			{"without servers", "SNOWFLAKE_TEST_REQUIRE=", "SKIP", "(set " + server.variable + ")"},
			{"without servers", "SNOWFLAKE_TEST_REQUIRE=all", "FAIL", "(SNOWFLAKE_TEST_REQUIRE or CI is set)"},
			{"without servers", "CI=true", "FAIL", server.name + " not found at " + server.printed},
			{
				"as usual", server.variable + "=" + server.closed, "FAIL",
				server.name + " not found at " + server.printed,
			},
			{"as usual", server.variable + "=no secret", "FAIL", server.variable + ": want "},
			{"as usual", server.variable + "=" + testdb.Off, "SKIP", "turned off by " + server.variable + "=off"},
		} {
			out, err := child(t, test.task, server.name, test.env, "PATH=").CombinedOutput()
			output := string(out)
			if (err == nil) != (test.result == "SKIP") ||
				!strings.Contains(output, "--- "+test.result+": TestChild/"+server.name) ||
				!strings.Contains(output, test.want) || strings.Contains(output, "secret") {
				t.Errorf("%s, %s: want %s with %q and no password:\n%s",
					test.task, test.env, test.result, test.want, output)
			}
		}
	}
}
