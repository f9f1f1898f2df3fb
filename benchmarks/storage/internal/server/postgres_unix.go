//go:build unix

package server

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"syscall"

	"github.com/jackc/pgx/v5"
)

type postgres struct{}

func (postgres) users() []string { return []string{"postgres"} }

// find also looks where packages install the binaries outside of PATH: Debian, Red Hat, Homebrew.
func (postgres) find() (install, serve string, err error) {
	install, serve, ok := findBeside(folders("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin",
		"/opt/homebrew/opt/postgresql@*/bin", "/usr/local/opt/postgresql@*/bin"), "initdb", "postgres")
	if !ok {
		return "", "", fmt.Errorf("%w: initdb and postgres are neither in PATH nor in the folders of packages", ErrNotInstalled)
	}
	return install, serve, nil
}

func (postgres) install(dir string) []string {
	return []string{"-D", filepath.Join(dir, "data"), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"}
}

func (postgres) serve(dir string) []string {
	return []string{
		"-D", filepath.Join(dir, "data"), "-k", dir, "-c", "listen_addresses=", "-c", "max_connections=200",
		"-c", fmt.Sprintf("shared_buffers=%dMB", CacheMiB),
	}
}

func (postgres) dsn(dir string) string {
	socket := url.Values{"host": {dir}, "sslmode": {"disable"}}
	return "postgres://postgres@/postgres?" + socket.Encode()
}

func (postgres) answers(ctx context.Context, dsn string) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

// end is the signal of PostgreSQL's immediate shutdown.
func (postgres) end() syscall.Signal { return syscall.SIGQUIT }
