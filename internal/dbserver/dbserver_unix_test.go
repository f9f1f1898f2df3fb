//go:build unix

package dbserver

import (
	"bufio"
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

	"github.com/sqlflake/sqlflake/internal/skip"
)

var (
	drivers   = map[string]string{"postgres": "pgx", "mariadb": "mysql"} // of each server
	variables = map[string]string{"postgres": "SNOWFLAKE_TEST_POSTGRES", "mariadb": "SNOWFLAKE_TEST_MYSQL"}
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// shortTemp makes a folder for temporary files that any user may enter, unlike t.TempDir, with a name short enough for
// the path of a socket.
func shortTemp(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "srv") //nolint:usetesting // t.TempDir is too long, and closed to others
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755))
	t.Setenv("TMPDIR", dir)
	return dir
}

// folderIn returns the folder of the only server.
func folderIn(t *testing.T, temp string) string {
	t.Helper()
	list, _ := filepath.Glob(filepath.Join(temp, "sqlflake-srv-*"))
	if len(list) != 1 {
		t.Fatalf("the folders are %v, want one", list)
	}
	return list[0]
}

func wantEmpty(t *testing.T, dir string) {
	t.Helper()
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestAServerHasItsCacheAndIsRemoved(t *testing.T) {
	settings := map[string]string{ // the cache in MiB, and what waits for the disk
		"postgres": "SELECT setting::bigint / 128, current_setting('fsync') FROM pg_settings WHERE name = 'shared_buffers'",
		"mariadb":  "SELECT @@innodb_buffer_pool_size DIV 1048576, @@innodb_flush_log_at_trx_commit",
	}
	for name, driver := range drivers {
		t.Run(name, func(t *testing.T) {
			temp := shortTemp(t)
			s, err := Start(t.Context(), Config{Name: name, CacheMiB: 16, NoSync: true})
			if errors.Is(err, ErrNotInstalled) {
				skip.Missing(t, variables[name], "%v", err)
			}

			must(t, err)
			db, err := sql.Open(driver, s.DSN)
			must(t, err)
			defer db.Close()

			var cache, sync string
			// the first attempt: Start has waited
			must(t, db.QueryRowContext(t.Context(), settings[name]).Scan(&cache, &sync))
			if cache != "16" || sync != "off" && sync != "0" {
				t.Errorf("a cache of %s, sync %s", cache, sync)
			}

			info, err := os.Stat(folderIn(t, temp))
			must(t, err)
			if info.Mode().Perm() != 0o700 {
				t.Errorf("folder of mode %v, want 0700", info.Mode())
			}

			must(t, s.Stop())
			wantEmpty(t, temp)
		})
	}
}

func TestAnErrorSaysWhyAndNothingIsLeft(t *testing.T) {
	const fail = "echo the reason; exit 1"
	// lines of shell, and TMPDIR below their folder
	for want, c := range map[string]struct{ initdb, postgres, temp string }{
		"initdb: exit status 1: the reason": {fail, "exit 0", ""},
		"postgres has ended: the reason":    {"exit 0", fail, ""},
		"initdb postgres: not found in ":    {"", fail, ""},
		"103 and no comma: set TMPDIR":      {"exit 0", "exit 0", strings.Repeat("long", 30)},
		// a socket of PostgreSQL would be in the folder "a"
		"may have 103 and no comma": {"exit 0", "exit 0", "a,comma"},
	} {
		t.Run(want, func(t *testing.T) {
			folder := shortTemp(t)
			must(t, os.Mkdir(filepath.Join(folder, "bin"), 0o755))
			for name, line := range map[string]string{"initdb": c.initdb, "postgres": c.postgres} {
				if line != "" {
					path, text := filepath.Join(folder, "bin", name), "#!/bin/sh\n"+line+"\n"
					must(t, os.WriteFile(path, []byte(text), 0o755)) //nolint:gosec // programs
				}
			}

			temp := filepath.Join(folder, c.temp)
			must(t, os.MkdirAll(temp, 0o755)) //nolint:gosec // other users run the server
			t.Setenv("TMPDIR", temp)

			if _, err := Start(t.Context(), Config{Name: "postgres", Folder: folder}); err == nil ||
				!strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %q", err, want)
			}

			must(t, os.RemoveAll(filepath.Join(folder, "bin")))
			wantEmpty(t, temp)
		})
	}
}

func TestAServerEndsWithItsProcess(t *testing.T) {
	if name := os.Getenv("SERVER_CHILD"); name != "" { // the process that the test kills
		_, err := Start(t.Context(), Config{Name: name})
		must(t, err)
		fmt.Println("started")
		select {}
	}

	if _, err := os.Stat("/proc/self"); err != nil {
		t.Skip("a child ends with its parent only on Linux")
	}

	for name, pidFile := range map[string]string{"postgres": "data/postmaster.pid", "mariadb": "pid"} {
		t.Run(name, func(t *testing.T) {
			temp := shortTemp(t)
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAServerEndsWithItsProcess$", "-test.v")
			cmd.Env = append(os.Environ(), "SERVER_CHILD="+name)
			out, err := cmd.StdoutPipe()
			must(t, err)
			must(t, cmd.Start())
			lines := bufio.NewScanner(out)
			for lines.Scan() && lines.Text() != "started" {
			}

			if lines.Text() != "started" {
				_ = cmd.Wait()
				skip.Missing(t, variables[name], "no server")
			}

			text, err := os.ReadFile(filepath.Join(folderIn(t, temp), pidFile))
			must(t, err)
			var pid int
			_, err = fmt.Sscan(string(text), &pid)
			must(t, err)
			_ = cmd.Process.Kill()
			_ = cmd.Wait() // "signal: killed"

			isAlive := func() bool { return syscall.Kill(pid, 0) == nil }
			for deadline := time.Now().Add(time.Minute); isAlive(); time.Sleep(20 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatalf("process %d has outlived the one that started it", pid)
				}
			}
		})
	}
}
