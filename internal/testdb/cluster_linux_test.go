package testdb_test

import (
	"bufio"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/internal/testdb"
)

// TestChildWaitsWithAThrowawayCluster logs the DSN of a cluster and waits for a signal.
func TestChildWaitsWithAThrowawayCluster(t *testing.T) {
	if !inChild() {
		return
	}
	t.Logf("dsn: %s", testdb.Postgres(t).DSN)
	<-t.Context().Done()
}

func clusterDir(t *testing.T, dsn string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	dir := u.Query().Get("host")
	if !strings.HasPrefix(filepath.Base(dir), "sqlflake-srv-") {
		t.Fatalf("no throwaway cluster: %s", dsn)
	}
	return dir
}

func needBinaries(t *testing.T) {
	t.Helper()
	if matches, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb"); len(matches) == 0 {
		t.Skip("no PostgreSQL binaries in /usr/lib/postgresql")
	}
}

func wantGone(t *testing.T, dir string) {
	t.Helper()
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", dir, err)
	}
}

func TestThrowawayClusterServesAndIsRemoved(t *testing.T) {
	needBinaries(t)
	for name, env := range map[string][2]string{
		"because it is asked for":             {asUsual, "SNOWFLAKE_TEST_POSTGRES=throwaway"},
		"because the default does not answer": {withoutDefault, "SNOWFLAKE_TEST_POSTGRES="},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, ok := runChild(t, env[0], "TestChildUsesPostgres", env[1])
			if !ok {
				t.Fatalf("want success:\n%s", out)
			}
			wantGone(t, clusterDir(t, printed(t, out, "dsn")))
		})
	}
}

func TestInterruptStopsAndRemovesTheCluster(t *testing.T) {
	needBinaries(t)
	cmd := child(t, asUsual, "TestChildWaitsWithAThrowawayCluster", "SNOWFLAKE_TEST_POSTGRES=throwaway")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var dir string
	lines := bufio.NewScanner(out)
	for dir == "" && lines.Scan() {
		if _, dsn, ok := strings.Cut(lines.Text(), "dsn: "); ok {
			dir = clusterDir(t, dsn)
		}
	}
	if dir == "" {
		t.Fatalf("the child has not started a cluster: %v", lines.Err())
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("an interrupted run succeeded")
	}
	wantGone(t, dir)
}
