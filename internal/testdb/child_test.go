package testdb_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/internal/testdb"
)

// The tests of skips, failures and interrupts run the test binary again, with one of the TestChild functions. It is the
// value of this variable that makes the functions do something.
const childVariable = "TESTDB_CHILD"

// Values of the variable.
const (
	asUsual        = "as usual"
	withoutMain    = "without Main"
	withoutServers = "without servers" // nothing answers at the default addresses, and PostgreSQL is not installed
	withoutDefault = "without default" // nothing answers at the default addresses
)

func TestMain(m *testing.M) {
	switch os.Getenv(childVariable) {
	case withoutMain:
		os.Exit(m.Run())
	case withoutServers:
		testdb.HideBinaries()
		closePorts()
	case withoutDefault:
		closePorts()
	}
	os.Exit(testdb.Main(m))
}

func closePorts() {
	testdb.SetFallbacks("postgres://postgres:secret@127.0.0.1:1/test", "root:secret@tcp(127.0.0.1:1)/")
}

// sameServers returns the variables that make a child use the servers of this process.
func sameServers(t *testing.T) []string {
	t.Helper()
	env, err := testdb.Environment(io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(env, func(entry string) bool { return !strings.HasPrefix(entry, "SNOWFLAKE_TEST_") })
}

func inChild() bool { return os.Getenv(childVariable) != "" }

// child returns a command that runs the named test in a new process. Of the variables of this package, it gets those in
// env only.
func child(t *testing.T, mode, test string, env ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^"+test+"$", "-test.v", "-test.timeout=2m")
	cmd.Env = slices.DeleteFunc(os.Environ(), func(entry string) bool { return strings.HasPrefix(entry, "SNOWFLAKE_TEST_") })
	cmd.Env = append(append(cmd.Env, childVariable+"="+mode), env...)
	return cmd
}

// runChild runs the named test in a new process and returns its output.
func runChild(t *testing.T, mode, test string, env ...string) (output string, ok bool) {
	t.Helper()
	var out bytes.Buffer
	cmd := child(t, mode, test, env...)
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if err != nil && cmd.ProcessState == nil {
		t.Fatalf("start the child process: %v", err)
	}
	return out.String(), err == nil
}

// printed returns what a child has logged after the word and a colon.
func printed(t *testing.T, output, word string) string {
	t.Helper()
	for line := range strings.Lines(output) {
		if _, rest, ok := strings.Cut(line, word+": "); ok {
			return strings.TrimSpace(rest)
		}
	}
	t.Fatalf("no line with %q in:\n%s", word, output)
	return ""
}

func TestChildUsesPostgres(t *testing.T) {
	if inChild() {
		t.Logf("dsn: %s", testdb.Postgres(t).DSN)
	}
}

func TestChildUsesMariaDB(t *testing.T) {
	if inChild() {
		t.Logf("dsn: %s", testdb.MariaDB(t).DSN)
	}
}

// TestChildFailsWithinATransaction fails with a locked table on every kind of database.
func TestChildFailsWithinATransaction(t *testing.T) {
	if !inChild() {
		return
	}
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		db := target.Open(t)
		mustExec(t, db, "CREATE TABLE t (id bigint)")
		ctx := context.WithoutCancel(t.Context()) // the end of t.Context() would roll back the transaction
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO t VALUES (1)"); err != nil {
			t.Fatal(err)
		}
		t.Fatalf("%s: %s", target.Name, target.DSN)
	})
}
