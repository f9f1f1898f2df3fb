package testdb_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"slices"
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

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// The tests of skips and interrupts run the test binary again, as a child that does what the value of this variable
// says.
const childVariable = "TESTDB_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) == "without servers" {
		testdb.HideServers()
	}
	os.Exit(testdb.Main(m))
}

// TestChild opens a transaction on every kind of database. Then it may wait for an interrupt.
func TestChild(t *testing.T) {
	task := os.Getenv(childVariable)
	if task == "" {
		return // a program of the other tests
	}

	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		db := target.Open(t)
		t.Logf("%s: %s", target.Name, target.DSN)
		_, err := db.ExecContext(t.Context(), "CREATE TABLE t (id bigint)")
		must(t, err)
		tx, err := db.Begin() //nolint:noctx // the end of t.Context() would roll back the transaction
		must(t, err)
		_, err = tx.Exec("INSERT INTO t VALUES (1)") //nolint:noctx // as above
		must(t, err)

		if task == "wait" && target.Name == "mariadb" {
			t.Log("ready")
			select {}
		}
	})
}

// child returns a command that runs a subtest of TestChild in a new process. Of the variables of this package, it gets
// those in env only.
func child(t *testing.T, task, subtest string, env ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	must(t, err)

	cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestChild$/"+subtest, "-test.v", "-test.timeout=2m")
	cmd.Env = slices.DeleteFunc(os.Environ(), func(entry string) bool {
		return strings.HasPrefix(entry, "SNOWFLAKE_TEST_") || strings.HasPrefix(entry, "CI=")
	})
	cmd.Env = append(append(cmd.Env, childVariable+"="+task), env...)
	return cmd
}

func TestNothingIsLeftAfterAnInterruptWithinATransaction(t *testing.T) {
	servers := map[string]testdb.Target{"postgres": testdb.Postgres(t), "mariadb": testdb.MariaDB(t)}
	// The child uses the servers of this process, wherever they were found.
	env, err := testdb.Environment(io.Discard)
	must(t, err)

	cmd := child(t, "wait", "", slices.DeleteFunc(env, func(entry string) bool {
		return !strings.HasPrefix(entry, "SNOWFLAKE_TEST_")
	})...)
	pipe, err := cmd.StdoutPipe()
	must(t, err)

	must(t, cmd.Start())

	t.Cleanup(func() { _ = cmd.Process.Kill() })
	var out strings.Builder
	for lines := bufio.NewScanner(pipe); lines.Scan(); {
		out.WriteString(lines.Text() + "\n")
		if strings.HasSuffix(lines.Text(), "ready") {
			must(t, cmd.Process.Signal(os.Interrupt))
		}
	}

	if err := cmd.Wait(); err == nil || strings.Contains(out.String(), "testdb: ") {
		t.Errorf("the child should have failed, and its cleanup not: %v\n%s", err, &out)
	}

	for name, server := range servers {
		_, dsn, found := strings.Cut(out.String(), " "+name+": ")
		at := strings.Index(dsn, "sqlflake_test_")
		if !found || at < 0 {
			t.Fatalf("no %s in:\n%s", name, &out)
		}

		var n int
		database := dsn[at:][:len("sqlflake_test_")+20]
		query := map[string]string{
			"postgres": "SELECT count(*) FROM pg_database WHERE datname = '" + database + "'",
			"mariadb":  "SELECT count(*) FROM information_schema.schemata WHERE schema_name = '" + database + "'",
		}[name]

		if err := server.Open(t).QueryRowContext(t.Context(), query).Scan(&n); err != nil || n > 0 {
			t.Errorf("%s: %s is still there, %v", name, database, err)
		}
	}
}

func TestATrapRunsForEachNameThatAStrangerCanTake(t *testing.T) {
	const (
		never  = iota
		second // if public is first
		always
	)
	testdb.EachTrapped(t, func(t *testing.T, victim testdb.Trapped) {
		publicFirst := strings.HasSuffix(t.Name(), "public_first")
		db := victim.Open(t)
		for query, want := range map[string]int{
			"SELECT quote_ident(nspname) FROM pg_catalog.pg_namespace":   always,
			"SELECT EXTRACT(epoch FROM pg_catalog.now()) * 1000":         always,
			"SELECT format('%I', oid, relname) FROM pg_catalog.pg_class": always,
			"SELECT 5::bigint & 1":                                 always,
			"SELECT 'a'::pg_catalog.text || 5::bigint":             always,
			"SELECT EXTRACT(epoch FROM now())":                     second,
			"SELECT 'a'::text":                                     second,
			"SELECT 5::bigint IN (1, 2)":                           second,
			"SELECT CASE 'a'::pg_catalog.text WHEN 'b' THEN 1 END": second,
			"SELECT NULLIF('a'::pg_catalog.text, 'b')":             second,
			"SELECT relname FROM pg_class":                         second,
			"SELECT substr('abc'::pg_catalog.text, 1, 2)":          second,
			"SELECT pg_catalog.quote_ident(nspname) FROM pg_catalog.pg_namespace ORDER BY nspname":   never,
			"SELECT EXTRACT(epoch FROM pg_catalog.now()) OPERATOR(pg_catalog.*) 1000":                never,
			"SELECT GREATEST(1, 5::bigint), COALESCE(NULL, 'a'::pg_catalog.text), CAST(5 AS bigint)": never,
			"SELECT DISTINCT 5 OPERATOR(pg_catalog.=) ANY (ARRAY[1, 2])":                             never,
		} {
			wanted := want == always || want == second && publicFirst
			_, err := db.ExecContext(t.Context(), query)
			trapped := err != nil && strings.Contains(err.Error(), "the trap ")
			if trapped != wanted || trapped != (err != nil) {
				t.Errorf("%s: %v, want a trap: %v", query, err, wanted)
			}
		}

		if _, err := victim.Safe.ExecContext(t.Context(), "SELECT setval('public.sprung', 1, false)"); err != nil {
			t.Error(err) // those that were wanted
		}
	})
}
