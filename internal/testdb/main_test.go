package testdb_test

import (
	"bufio"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/internal/testdb"
)

// TestChildWaitsWithTargets opens a transaction on every kind of database and waits for an interrupt.
func TestChildWaitsWithTargets(t *testing.T) {
	if !inChild() {
		return
	}
	for _, open := range []func(testing.TB) testdb.Target{testdb.SQLite, testdb.Postgres, testdb.MariaDB} {
		target := open(t)
		db := target.Open(t)
		mustExec(t, db, "CREATE TABLE t (id bigint)")
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.ExecContext(t.Context(), "INSERT INTO t VALUES (1)"); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %s", target.Name, target.DSN)
	}
	t.Log("ready: yes")
	<-t.Context().Done()
}

func TestInterruptRemovesWhatTheTestsHave(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be interrupted on Windows")
	}
	servers := map[string]testdb.Target{"postgres": testdb.Postgres(t), "mariadb": testdb.MariaDB(t)}
	cmd := child(t, asUsual, "TestChildWaitsWithTargets", sameServers(t)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	var output strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		output.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), "ready: ") {
			break
		}
	}
	printed(t, output.String(), "ready")

	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("an interrupted run succeeded")
	}
	for name, server := range servers {
		if schema := schemaName(t, printed(t, output.String(), name)); exists(t, server, schema) {
			t.Errorf("%s: %s is still there", name, schema)
		}
	}
	file, _, _ := strings.Cut(printed(t, output.String(), "sqlite"), "?")
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("sqlite: %s is still there: %v", file, err)
	}
}
