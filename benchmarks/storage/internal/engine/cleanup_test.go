package engine

import (
	"fmt"
	"os"
	osexec "os/exec"
	"slices"
	"strings"
	"testing"
)

// deadProcess returns the ID of a process that has ended.
func deadProcess(t *testing.T) int {
	t.Helper()
	cmd := osexec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	must(t, cmd.Run())
	return cmd.Process.Pid
}

// TestCleanupRemovesOnlyWhatWasLeft has a place in use, one of a killed run, and some with similar names.
func TestCleanupRemovesOnlyWhatWasLeft(t *testing.T) {
	host, err := os.Hostname()
	must(t, err)
	dead := commentOf(deadProcess(t), host)
	eachServer(t, func(t *testing.T, e Engine) {
		mk := func(name, comment string) {
			if e.Name() == "postgres" {
				exec1(t, e, `CREATE SCHEMA "`+name+`"`)
				t.Cleanup(func() { exec1(t, e, `DROP SCHEMA IF EXISTS "`+name+`"`) })
				if comment != "" {
					exec1(t, e, fmt.Sprintf(`COMMENT ON SCHEMA "%s" IS '%s'`, name, comment))
				}
				return
			}
			exec1(t, e, "CREATE DATABASE "+name)
			t.Cleanup(func() { exec1(t, e, "DROP DATABASE IF EXISTS "+name) })
			if comment != "" {
				exec1(t, e, fmt.Sprintf("CREATE TABLE %s.%s (id INT PRIMARY KEY) COMMENT='%s'", name, OwnerTable, comment))
			}
		}
		left, silent, alive, elsewhere, busy, other := newPlace(), newPlace(), newPlace(), newPlace(), newPlace(), newPlace()+"_precious"
		mk(left, dead)
		mk(silent, "")
		mk(alive, commentOf(os.Getpid(), host))
		mk(elsewhere, commentOf(deadProcess(t), "another-"+host))
		mk(other, dead)
		mk(busy, dead)
		enter := map[string]string{"postgres": "SET application_name = '" + busy + "'", "mariadb": "USE " + busy}[e.Name()]
		_, err := conn(t, e).ExecContext(t.Context(), enter)
		must(t, err)
		removed, kept, err := Cleanup(t.Context(), e.Name(), config(t, e.Name()))
		must(t, err)
		for i := range removed {
			removed[i] = strings.Trim(removed[i], "\"`")
		}
		if !slices.Contains(removed, left) || exists(t, e.Name(), left) {
			t.Errorf("%s is still there; removed: %v, kept: %v", left, removed, kept)
		}
		for _, name := range []string{silent, alive, elsewhere, busy, other, place(e)} {
			if slices.Contains(removed, name) || !exists(t, e.Name(), name) {
				t.Errorf("%s was removed", name)
			}
			if !strings.HasSuffix(name, "_precious") && !strings.Contains(fmt.Sprint(kept), name) {
				t.Errorf("%s is not named: %v", name, kept)
			}
		}
	})
}

func exec1(t *testing.T, e Engine, statement string) {
	t.Helper()
	// Not t.Context, which has ended when tests clean up.
	if _, err := e.DB().Exec(statement); err != nil { //nolint:noctx // see above
		t.Error(err)
	}
}

func TestReturningByVersion(t *testing.T) {
	for version, want := range map[string]bool{
		"10.11.6-MariaDB-0+deb12u1": true, "10.4.30-MariaDB": false, "11.4.2-MariaDB": true, "5.5.5-10.6.1-MariaDB-log": true,
		"8.4.0": false, "9.1.0-commercial": false, "5.7.44-log": false,
	} {
		e := &mariadb{version: version}
		if e.Returning() != want {
			t.Errorf("%s: %v", version, !want)
		}
		if want && e.product() != "MariaDB" || strings.HasPrefix(version, "8") && e.product() != "MySQL" {
			t.Errorf("%s is called %s", version, e.product())
		}
	}
}
