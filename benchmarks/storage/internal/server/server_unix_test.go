//go:build unix

package server

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/tempdir"
)

var names = map[string]string{"postgres": "pgx", "mariadb": "mysql"} // and their drivers

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func startOrSkip(t *testing.T, name string) *Server {
	t.Helper()
	t.Setenv("TMPDIR", shortTemp(t))
	s, err := Start(t.Context(), name)
	if errors.Is(err, ErrNotInstalled) {
		t.Skip(err)
	}
	must(t, err)
	t.Cleanup(func() { _ = s.Stop() })
	return s
}

// shortTemp returns a folder that any user may enter, unlike t.TempDir, with a name short enough for a socket's path.
func shortTemp(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "srv") //nolint:usetesting // t.TempDir is too long, and closed to others
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // the server's user has to pass
		t.Fatal(err)
	}
	return dir
}

func value(t *testing.T, name, dsn, query string) string {
	t.Helper()
	db, err := sql.Open(names[name], dsn)
	must(t, err)
	defer db.Close()
	var v string
	must(t, db.QueryRowContext(t.Context(), query).Scan(&v))
	return v
}

func gone(path string) bool {
	_, err := os.Stat(path)
	return os.IsNotExist(err)
}

func TestAServerHasASmallCacheAndIsRemoved(t *testing.T) {
	cache := map[string][2]string{
		"postgres": {"SELECT setting::bigint * 8192 FROM pg_settings WHERE name = 'shared_buffers'", "16777216"},
		"mariadb":  {"SELECT @@innodb_buffer_pool_size", "16777216"},
	}
	for name := range names {
		t.Run(name, func(t *testing.T) {
			s := startOrSkip(t, name)
			if got := value(t, name, s.DSN, cache[name][0]); got != cache[name][1] {
				t.Errorf("cache of %s bytes, want %s", got, cache[name][1])
			}
			info, err := os.Stat(s.Dir)
			if err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("folder of mode %v, %v, want 0700", info.Mode(), err)
			}
			if err := s.Stop(); err != nil {
				t.Error(err)
			}
			if !gone(s.Dir) {
				t.Errorf("%s is still there", s.Dir)
			}
		})
	}
}

func TestNothingIsLeftOfAStartThatIsCancelled(t *testing.T) {
	for name := range names {
		for _, after := range []time.Duration{0, 100 * time.Millisecond, 600 * time.Millisecond} {
			t.Run(fmt.Sprint(name, after), func(t *testing.T) {
				dir := shortTemp(t)
				t.Setenv("TMPDIR", dir)
				ctx, cancel := context.WithTimeout(t.Context(), after)
				defer cancel()
				s, err := Start(ctx, name)
				switch {
				case errors.Is(err, ErrNotInstalled):
					t.Skip(err)
				case err == nil: // the server was faster
					err = s.Stop()
				case errors.Is(err, context.DeadlineExceeded):
					err = nil
				}
				if err != nil {
					t.Error(err)
				}
				if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
					t.Errorf("left behind: %v", left)
				}
			})
		}
	}
}

func TestWithoutBinariesTheErrorSaysSo(t *testing.T) {
	if _, err := Start(t.Context(), "oracle"); err == nil {
		t.Error("an unknown server was started")
	}
	if _, _, ok := findBeside([]string{t.TempDir()}, "initdb", "postgres"); ok {
		t.Error("found programs in an empty folder")
	}
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "mariadbd"), nil, 0o600))
	if path, ok := findIn([]string{dir}, "mariadbd"); ok {
		t.Errorf("%s is no program", path)
	}
}

func TestAnErrorOfTheServerIsToldAndNothingIsLeft(t *testing.T) {
	dir := shortTemp(t)
	t.Setenv("TMPDIR", dir)
	for name, k := range map[string]kind{"files": brokenInstall{}, "server": brokenServe{}} {
		t.Run(name, func(t *testing.T) {
			_, err := start(t.Context(), k)
			if err == nil || !strings.Contains(err.Error(), "the reason") {
				t.Errorf("error %v, want the reason", err)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

type broken struct{ postgres }

func (broken) find() (install, serve string, err error) { return "/bin/sh", "/bin/sh", nil }
func (broken) answers(context.Context, string) error    { return errors.New("no answer") }
func (broken) end() syscall.Signal                      { return syscall.SIGKILL }
func (broken) fail() []string                           { return []string{"-c", "echo the reason; exit 1"} }

type brokenInstall struct{ broken }

func (b brokenInstall) install(string) []string { return b.fail() }

type brokenServe struct{ broken }

func (brokenServe) install(string) []string { return []string{"-c", "exit 0"} }
func (b brokenServe) serve(string) []string { return b.fail() }

// TestChildStartsAServer is the process that TestAServerEndsWithItsProcess kills.
func TestChildStartsAServer(t *testing.T) {
	name := os.Getenv("SERVER_CHILD")
	if name == "" {
		t.Skip("it is for a child")
	}
	s, err := Start(t.Context(), name)
	must(t, err)
	fmt.Println("dir:", s.Dir)
	select {}
}

func TestAServerEndsWithItsProcessAndTheNextSweeps(t *testing.T) {
	if _, err := os.Stat("/proc/self"); err != nil {
		t.Skip("only Linux ends a child with its parent")
	}
	for name := range names {
		t.Run(name, func(t *testing.T) {
			temp := shortTemp(t)
			t.Setenv("TMPDIR", temp)
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestChildStartsAServer$",
				"-test.v") //nolint:gosec // this program
			cmd.Env = append(os.Environ(), "SERVER_CHILD="+name)
			out, err := cmd.StdoutPipe()
			must(t, err)
			must(t, cmd.Start())
			var dir string
			lines := bufio.NewScanner(out)
			for dir == "" && lines.Scan() {
				_, dir, _ = strings.Cut(lines.Text(), "dir: ")
			}
			if dir == "" {
				_ = cmd.Wait()
				t.Skip("no server")
			}
			pid := serverPID(t, dir)
			_ = cmd.Process.Kill()
			_ = cmd.Wait() // "signal: killed"
			for deadline := time.Now().Add(time.Minute); syscall.Kill(pid, 0) == nil; time.Sleep(20 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatalf("process %d has outlived the one that started it", pid)
				}
			}
			old := time.Now().Add(-time.Hour)
			must(t, os.Chtimes(dir, old, old))
			if _, err := tempdir.Clean("", tempdir.Server); err != nil {
				t.Fatal(err)
			}
			if !gone(dir) {
				t.Errorf("%s is still there", dir)
			}
		})
	}
}

func serverPID(t *testing.T, dir string) int {
	t.Helper()
	for _, path := range []string{"data/postmaster.pid", "pid"} {
		text, err := os.ReadFile(filepath.Join(dir, path))
		if err != nil {
			continue
		}
		var pid int
		if _, err := fmt.Sscan(string(text), &pid); err != nil {
			t.Fatal(err)
		}
		return pid
	}
	t.Fatal("no file with the server's number")
	return 0
}
