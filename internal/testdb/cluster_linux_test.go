package testdb_test

import (
	"bufio"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

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
	if !strings.HasPrefix(filepath.Base(dir), "sqlflake-pg-") {
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
			if dir := clusterDir(t, printed(t, out, "dsn")); !gone(dir) {
				t.Errorf("%s is still there", dir)
			}
		})
	}
}

func gone(path string) bool {
	_, err := os.Stat(path)
	return os.IsNotExist(err)
}

// waitingChild starts a process that starts a cluster. It returns the process and the directory of the cluster.
func waitingChild(t *testing.T) (process *os.Process, wait func() error, dir string) {
	t.Helper()
	cmd := child(t, asUsual, "TestChildWaitsWithAThrowawayCluster", "SNOWFLAKE_TEST_POSTGRES=throwaway")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if _, dsn, ok := strings.Cut(lines.Text(), "dsn: "); ok {
			return cmd.Process, cmd.Wait, clusterDir(t, dsn)
		}
	}
	t.Fatalf("the child has not started a cluster: %v", lines.Err())
	return nil, nil, ""
}

func serverPID(t *testing.T, dir string) int {
	t.Helper()
	content, err := fs.ReadFile(os.DirFS(dir), "data/postmaster.pid")
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(content), "\n")
	pid, err := strconv.Atoi(line)
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func TestInterruptStopsAndRemovesTheCluster(t *testing.T) {
	needBinaries(t)
	process, wait, dir := waitingChild(t)
	pid := serverPID(t, dir)
	if err := process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := wait(); err == nil {
		t.Error("an interrupted run succeeded")
	}
	if !gone(dir) {
		t.Errorf("%s is still there", dir)
	}
	if syscall.Kill(pid, 0) == nil {
		t.Errorf("postgres, process %d, is still running", pid)
	}
}

func TestClusterEndsWithAKilledProcessAndTheNextOneCleansUp(t *testing.T) {
	needBinaries(t)
	process, wait, dir := waitingChild(t)
	pid := serverPID(t, dir)
	if err := process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = wait() // "signal: killed"
	for deadline := time.Now().Add(time.Minute); syscall.Kill(pid, 0) == nil; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("postgres, process %d, has outlived the process that started it", pid)
		}
	}
	if out, ok := runChild(t, asUsual, "TestChildUsesPostgres", "SNOWFLAKE_TEST_POSTGRES=throwaway"); !ok {
		t.Fatalf("the next run failed:\n%s", out)
	}
	if !gone(dir) {
		t.Errorf("%s is still there after the next run", dir)
	}
}
