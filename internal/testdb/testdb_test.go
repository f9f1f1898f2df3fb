package testdb_test

import (
	"net/url"
	"os"
	"path/filepath"
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
			{"without servers", "SNOWFLAKE_TEST_REQUIRE=all", "FAIL", "(SNOWFLAKE_TEST_REQUIRE=all)"},
			{"without servers", "SNOWFLAKE_TEST_REQUIRE=redis", "FAIL", `SNOWFLAKE_TEST_REQUIRE is "redis", want "all" or nothing`},
			{"as usual", server.variable + "=" + server.closed, "FAIL", server.name + " not found at " + server.printed},
			{"as usual", server.variable + "=no secret", "FAIL", server.variable + ": want "},
			{"as usual", server.variable + "=" + testdb.Off, "SKIP", server.name + " turned off by " + server.variable + "=off"},
		} {
			out, err := child(t, test.task, server.name, test.env, "PATH=").CombinedOutput()
			output := string(out)
			if (err == nil) != (test.result == "SKIP") || !strings.Contains(output, "--- "+test.result+": TestChild/"+server.name) ||
				!strings.Contains(output, test.want) || strings.Contains(output, "secret") {
				t.Errorf("%s, %s: want %s with %q and no password:\n%s", test.task, test.env, test.result, test.want, output)
			}
		}
	}
}

func TestATestThatNeedsMariaDBIsSkippedOnMySQLAlone(t *testing.T) {
	for target, want := range map[testdb.Target]bool{
		{Name: "mariadb", Version: "9.7.4-2"}:                    true,
		{Name: "mariadb", Version: "10.11.14-MariaDB-0+deb12u2"}: false,
		{Name: "postgres", Version: "18.0"}:                      false,
	} {
		var skipped bool
		t.Run(target.Name+" "+target.Version, func(t *testing.T) {
			defer func() { skipped = t.Skipped() }()
			target.NeedMariaDB(t, "RETURNING")
		})
		if skipped != want {
			t.Errorf("%v: skipped is %t", target, skipped)
		}
	}
}

func TestThrowawayClusterServesAndIsRemoved(t *testing.T) {
	if matches, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb"); len(matches) == 0 {
		t.Skip("no PostgreSQL binaries in /usr/lib/postgresql")
	}
	out, err := child(t, "as usual", "postgres", "SNOWFLAKE_TEST_POSTGRES=throwaway").CombinedOutput()
	if err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	dsn, err := url.Parse(valueAfter(t, string(out), "postgres"))
	if err != nil {
		t.Fatal(err)
	}
	dir := dsn.Query().Get("host")
	if _, err := os.Stat(dir); !os.IsNotExist(err) || !strings.HasPrefix(filepath.Base(dir), "sqlflake-srv-") {
		t.Errorf("%s is still there: %v", dir, err)
	}
}
