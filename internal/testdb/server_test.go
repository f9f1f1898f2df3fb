package testdb_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/internal/testdb"
)

const requireVariable = "SNOWFLAKE_TEST_REQUIRE"

func itoa(n int) string { return strconv.Itoa(n) }

var serverTests = []struct {
	name, test, variable, closed string // closed is an address where nothing answers
	printed                      string // closed, without the password
}{
	{
		"postgres", "TestChildUsesPostgres", "SNOWFLAKE_TEST_POSTGRES",
		"postgres://postgres:secret@127.0.0.1:1/test", "postgres://postgres:xxxxx@127.0.0.1:1/test",
	},
	{"mariadb", "TestChildUsesMariaDB", "SNOWFLAKE_TEST_MYSQL", "root:secret@tcp(127.0.0.1:1)/", "127.0.0.1:1"},
}

// checkLine checks that one line of the output contains all the words, and that no password is printed.
func checkLine(t *testing.T, output string, words ...string) {
	t.Helper()
	for line := range strings.Lines(output) {
		missing := false
		for _, word := range words {
			missing = missing || !strings.Contains(line, word)
		}
		if !missing {
			if strings.Contains(output, "secret") {
				t.Errorf("the password is printed:\n%s", output)
			}
			return
		}
	}
	t.Errorf("no line with all of %q in:\n%s", words, output)
}

func TestMissingServer(t *testing.T) {
	for _, tt := range serverTests {
		for _, outcome := range []struct {
			name, mode, env string
			result          string // SKIP or FAIL
			words           string // on one line of the output, separated by |
		}{
			{"at the default address skips", withoutServers, requireVariable + "=", "SKIP", "not found at " + tt.printed + "|(set " + tt.variable + ")"},
			{"fails if all are required", withoutServers, requireVariable + "=all", "FAIL", tt.printed + "|=all|set " + tt.variable},
			{"at a given address fails", asUsual, tt.variable + "=" + tt.closed, "FAIL", "not found at " + tt.printed},
			{"at a malformed address fails without quoting it", asUsual, tt.variable + "=no secret", "FAIL", tt.variable + ": want |such as"},
			{"that is off skips", asUsual, tt.variable + "=" + testdb.Off, "SKIP", "turned off by " + tt.variable + "=off"},
		} {
			t.Run(tt.name+" "+outcome.name, func(t *testing.T) {
				out, ok := runChild(t, outcome.mode, tt.test, outcome.env, "PATH=")
				if ok != (outcome.result == "SKIP") || !strings.Contains(out, "--- "+outcome.result+": "+tt.test) {
					t.Fatalf("want %s:\n%s", outcome.result, out)
				}
				checkLine(t, out, append(strings.Split(outcome.words, "|"), "testdb: "+tt.name)...)
			})
		}
	}
}

func TestUnknownRequirementFails(t *testing.T) {
	out, ok := runChild(t, withoutServers, "TestChildUsesMariaDB", requireVariable+"=redis")
	if ok {
		t.Fatalf("want a failure:\n%s", out)
	}
	checkLine(t, out, `testdb: SNOWFLAKE_TEST_REQUIRE is "redis", want "all" or nothing`)
}

func TestPostgresWithoutMainFails(t *testing.T) {
	out, ok := runChild(t, withoutMain, "TestChildUsesPostgres")
	if ok {
		t.Fatalf("want a failure:\n%s", out)
	}
	checkLine(t, out, "testdb: Postgres needs func TestMain")
}
