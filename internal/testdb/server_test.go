package testdb_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/internal/testdb"
)

func itoa(n int) string { return strconv.Itoa(n) }

// sameServers returns the environment under which a child finds the servers that this process has found.
func sameServers(t *testing.T) []string {
	t.Helper()
	servers, err := testdb.Servers()
	if err != nil {
		t.Fatal(err)
	}
	var env []string
	for _, server := range servers {
		value := server.Value
		if server.Err != nil {
			value = testdb.Off
		}
		env = append(env, server.Variable+"="+value)
	}
	return env
}

var serverTests = []struct {
	name, test, variable, closed string // closed is an address where nothing answers
	printed                      string // closed, without the password
}{
	{
		"postgres", "TestChildUsesPostgres", "SNOWFLAKE_TEST_POSTGRES",
		"postgres://postgres:secret@127.0.0.1:1/test", "postgres://postgres:xxxxx@127.0.0.1:1/test",
	},
	{"mariadb", "TestChildUsesMariaDB", "SNOWFLAKE_TEST_MYSQL", "root:secret@tcp(127.0.0.1:1)/", "127.0.0.1:1"},
	{"redis", "TestChildUsesRedis", "SNOWFLAKE_TEST_REDIS", "127.0.0.1:1", "127.0.0.1:1"},
}

// checkLine checks that one line of the output says what is missing.
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

func TestMissingServerAtTheDefaultAddressSkips(t *testing.T) {
	for _, tt := range serverTests {
		t.Run(tt.name, func(t *testing.T) {
			out, ok := runChild(t, withoutServers, tt.test, "PATH=")
			if !ok || !strings.Contains(out, "--- SKIP: "+tt.test) {
				t.Fatalf("want a skip:\n%s", out)
			}
			checkLine(t, out, "testdb: "+tt.name, "not found at "+tt.printed, "(set "+tt.variable+")")
		})
	}
}

func TestMissingServerFailsWhenAllAreRequired(t *testing.T) {
	for _, tt := range serverTests {
		t.Run(tt.name, func(t *testing.T) {
			out, ok := runChild(t, withoutServers, tt.test, "PATH=", testdb.RequireVariable+"=all")
			if ok || !strings.Contains(out, "--- FAIL: "+tt.test) {
				t.Fatalf("want a failure:\n%s", out)
			}
			checkLine(t, out, "testdb: "+tt.name, tt.printed, "SNOWFLAKE_TEST_REQUIRE=all", "set "+tt.variable)
		})
	}
}

func TestServerAtAGivenAddressMustAnswer(t *testing.T) {
	for _, tt := range serverTests {
		t.Run(tt.name, func(t *testing.T) {
			out, ok := runChild(t, asUsual, tt.test, tt.variable+"="+tt.closed)
			if ok || !strings.Contains(out, "--- FAIL: "+tt.test) {
				t.Fatalf("want a failure:\n%s", out)
			}
			checkLine(t, out, "testdb: "+tt.name, "not found at "+tt.printed)
		})
	}
}

func TestMalformedAddressFailsAndIsNotQuoted(t *testing.T) {
	for _, tt := range serverTests {
		t.Run(tt.name, func(t *testing.T) {
			out, ok := runChild(t, asUsual, tt.test, tt.variable+"=no secret")
			if ok {
				t.Fatalf("want a failure:\n%s", out)
			}
			checkLine(t, out, "testdb: "+tt.name, tt.variable+": want ", "such as")
		})
	}
}

func TestServerThatIsOffSkips(t *testing.T) {
	for _, tt := range serverTests {
		t.Run(tt.name, func(t *testing.T) {
			out, ok := runChild(t, asUsual, tt.test, tt.variable+"="+testdb.Off)
			if !ok || !strings.Contains(out, "--- SKIP: "+tt.test) {
				t.Fatalf("want a skip:\n%s", out)
			}
			checkLine(t, out, "testdb: "+tt.name, "turned off by "+tt.variable+"=off")
		})
	}
}

func TestUnknownRequirementFails(t *testing.T) {
	out, ok := runChild(t, asUsual, "TestChildUsesRedis", testdb.RequireVariable+"=redis")
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
