// Package dbserver starts temporary PostgreSQL, MariaDB and MySQL servers, and PgBouncer, for tests and benchmarks. The
// files and the socket of a server are in a temporary folder, which is removed at the end. It has no network address.
package dbserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// ErrNotInstalled is returned by Start if the programs of a server are missing.
var ErrNotInstalled = errors.New("the server is not installed")

// Config is the server to start.
type Config struct {
	// Name is "postgres", "mariadb" or "pgbouncer".
	Name string
	// Folder has the programs, or has folders such as bin that do. Empty: PATH and the folders of packages. For
	// "mariadb" it may have MySQL instead: a mysqld that reads no files of defaults and needs no option to run as this
	// user.
	Folder string
	// CacheMiB is the size of shared_buffers or innodb_buffer_pool_size. 0: the server's default.
	CacheMiB int
	// NoSync makes commits fast: nothing waits for the disk. Files are lost when the machine crashes.
	NoSync bool
	// Of is the DSN of a PostgreSQL server that runs: to make a standby of it, or to put PgBouncer before it, in
	// transaction mode. PgBouncer logs in as the user of this DSN, and accepts any client.
	Of string
	// Args are further arguments of the server's program.
	Args []string
	// Env is added to the environment of the programs.
	Env []string
}

// Server is a running server.
type Server struct {
	// DSN is for github.com/jackc/pgx or github.com/go-sql-driver/mysql.
	DSN string
	// Folder has the socket, which is part of the DSN.
	Folder string
	stop   func() error
}

// Stop ends the server as a crash does, and removes its folder.
func (s *Server) Stop() error { return s.stop() }

// Start starts a server and returns when it answers. If ctx ends before, everything is removed. Later the server ends
// with Stop, and on Linux and FreeBSD with this process, but not with ctx.
func Start(ctx context.Context, c Config) (*Server, error) {
	s, err := start(ctx, kinds[c.Name], c)
	mayBeMySQL := c.Name == "mariadb" && c.Folder != ""
	if mayBeMySQL && errors.Is(err, ErrNotInstalled) {
		return start(ctx, kinds["mysql"], c)
	}

	return s, err
}

// kind is what differs between servers.
type kind struct {
	install, serve string   // programs: the first creates the files; empty if configure does
	clone          string   // the program that creates the files of a standby
	folders        []string // where packages install the programs, besides PATH: patterns
	account        string   // runs the server if this process is root; empty: the server may run as root

	configure func(dir, of string) error      // or nil
	installed func(data string) []string      // arguments
	cloned    func(of, data string) []string  // arguments
	serves    func(dir, data string) []string // arguments
	cache     string                          // one more, a format for the size
	noSync    []string                        // more of them
	dsn       func(dir string) string
	ready     func(dir, data string) bool
	end       syscall.Signal // ends it at once, with no regard to its files
}

var kinds = map[string]kind{
	"postgres": {
		install: "initdb", serve: "postgres", account: "postgres",
		folders: []string{ // Debian, Red Hat, Homebrew
			"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql@*/bin",
			"/usr/local/opt/postgresql@*/bin",
		},
		installed: func(data string) []string {
			return []string{"-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"}
		},
		clone: "pg_basebackup",
		cloned: func(of, data string) []string {
			return []string{"-d", of, "-D", data, "-R", "-c", "fast", "--no-sync"}
		},
		serves: func(dir, data string) []string {
			return []string{"-D", data, "-k", dir, "-c", "listen_addresses=", "-c", "max_connections=200"}
		},
		cache:  "--shared-buffers=%dMB",
		noSync: []string{"-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off"},
		dsn:    postgresDSN,
		// As pg_ctl does: the last line of the file is the server's state.
		ready: func(_, data string) bool {
			text, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
			return err == nil && strings.HasSuffix(strings.TrimSpace(string(text)), "\nready")
		},
		end: syscall.SIGQUIT, // the immediate shutdown
	},
	"mariadb": {
		install: "mariadb-install-db", serve: "mariadbd", account: "mysql",
		folders: []string{
			"/usr/bin", "/usr/sbin", "/usr/local/sbin", "/usr/libexec", "/opt/homebrew/opt/mariadb/bin",
			"/usr/local/opt/mariadb/bin",
		},
		installed: func(data string) []string {
			return []string{
				"--no-defaults", "--datadir=" + data, "--auth-root-authentication-method=normal", "--skip-test-db",
				"--skip-name-resolve",
			}
		},
		serves: func(dir, data string) []string {
			return []string{
				"--no-defaults", "--datadir=" + data, "--socket=" + filepath.Join(dir, "socket"),
				"--skip-networking", "--pid-file=" + filepath.Join(dir, "pid"), "--tmpdir=" + dir,
				"--local-infile=1", "--max-connections=200",
			}
		},
		cache:  "--innodb-buffer-pool-size=%dM",
		noSync: []string{"--innodb-flush-log-at-trx-commit=0"},
		dsn:    mariadbDSN,
		ready:  mariadbReady,
		end:    syscall.SIGKILL, // after SIGTERM it would write all pages first
	},
	"mysql": {
		install: "mysqld", serve: "mysqld",
		installed: func(data string) []string { return []string{"--initialize-insecure", "--datadir=" + data} },
		serves: func(dir, data string) []string {
			return []string{
				"--datadir=" + data, "--socket=" + filepath.Join(dir, "socket"), "--skip-networking",
				"--mysqlx=OFF", "--pid-file=" + filepath.Join(dir, "pid"), "--tmpdir=" + dir, "--local-infile=1",
				"--max-connections=200", "--skip-log-bin",
			}
		},
		cache:  "--innodb-buffer-pool-size=%dM",
		noSync: []string{"--innodb-flush-log-at-trx-commit=0"},
		dsn:    mariadbDSN,
		ready:  mariadbReady,
		end:    syscall.SIGKILL,
	},
	"pgbouncer": {
		serve: "pgbouncer", account: "postgres", folders: []string{"/usr/sbin", "/usr/local/sbin"},
		configure: configurePgBouncer,
		serves:    func(dir, _ string) []string { return []string{filepath.Join(dir, "pgbouncer.ini")} },
		dsn:       postgresDSN,
		ready: func(dir, _ string) bool {
			conn, err := net.DialTimeout("unix", filepath.Join(dir, ".s.PGSQL.5432"), time.Second)
			if err == nil {
				_ = conn.Close()
			}
			return err == nil
		},
		end: syscall.SIGKILL, // it has no files
	},
}

func postgresDSN(dir string) string {
	return "postgres://postgres@/postgres?" + url.Values{"host": {dir}, "sslmode": {"disable"}}.Encode()
}

func mariadbDSN(dir string) string { return "root@unix(" + filepath.Join(dir, "socket") + ")/" }

// mariadbReady reads the packet with which the server begins each connection: a header of 4 bytes, then 10 for a
// greeting or 255 for an error.
func mariadbReady(dir, _ string) bool {
	conn, err := net.DialTimeout("unix", filepath.Join(dir, "socket"), time.Second)
	if err != nil {
		return false
	}
	defer conn.Close()

	var packet [5]byte
	_ = conn.SetDeadline(time.Now().Add(time.Second)) // an error appears in Read
	_, err = conn.Read(packet[:])
	return err == nil && packet[4] == 10
}

// configurePgBouncer lets two transactions run at a time on each database, so that the statements of one client get
// different connections of the server.
func configurePgBouncer(dir, of string) error {
	to, err := pgconn.ParseConfig(of)
	if err != nil {
		return err
	}

	lines := []string{"[databases]", "* ="}
	for _, setting := range [][2]string{
		{"host", to.Host}, {"port", strconv.Itoa(int(to.Port))}, {"user", to.User}, {"password", to.Password},
	} {
		if setting[1] != "" { // which PgBouncer takes for an error
			lines[1] += " " + setting[0] + "='" + strings.ReplaceAll(setting[1], "'", "''") + "'"
		}
	}

	lines = append(lines, "[pgbouncer]", "unix_socket_dir = "+dir, "listen_port = 5432", "auth_type = any",
		"pool_mode = transaction", "default_pool_size = 2", "max_client_conn = 500", "server_round_robin = 1",
		"ignore_startup_parameters = extra_float_digits", "")
	path, text := filepath.Join(dir, "pgbouncer.ini"), strings.Join(lines, "\n")
	return os.WriteFile(path, []byte(text), 0o644) //nolint:gosec // only the server's user can read the folder
}

// find returns the paths of the two programs, from the same folder if it has both.
func (k kind) find(folder string) (install, serve string, err error) {
	list, where := filepath.SplitList(os.Getenv("PATH")), "PATH or the folders of packages"
	if folder == "" {
		for _, pattern := range k.folders {
			matches, _ := filepath.Glob(pattern) // fails for a bad pattern only
			slices.Reverse(matches)              // the newest version first
			list = append(list, matches...)
		}
	} else {
		where, _ = filepath.Abs(folder) // fails without a working folder; then nothing is found
		list = []string{where, where + "/bin", where + "/sbin", where + "/scripts"}
	}

	if serve = first(list, k.serve); serve != "" && k.install != "" {
		install = first(append([]string{filepath.Dir(serve)}, list...), k.install)
	}

	hasInstall := install != "" || k.install == ""
	if serve == "" || !hasInstall {
		programs := strings.TrimSpace(k.install + " " + k.serve)
		return "", "", fmt.Errorf("%w: %s: not found in %s", ErrNotInstalled, programs, where)
	}

	return install, serve, nil
}

// first returns the path of a program in the first folder that has it.
func first(folders []string, program string) string {
	for _, folder := range folders {
		if path, err := exec.LookPath(filepath.Join(folder, program)); err == nil && filepath.IsAbs(path) {
			return path
		}
	}
	return ""
}
