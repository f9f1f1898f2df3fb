//go:build unix

package server

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"syscall"

	"github.com/go-sql-driver/mysql"
)

type mariadb struct{}

func (mariadb) users() []string { return []string{"mysql"} }

func (mariadb) find() (install, serve string, err error) {
	all := folders("/usr/bin", "/usr/sbin", "/usr/local/sbin", "/usr/libexec", "/opt/homebrew/opt/mariadb/bin",
		"/usr/local/opt/mariadb/bin")
	install, ok := findIn(all, "mariadb-install-db")
	serve, found := findIn(all, "mariadbd")
	if !ok || !found {
		return "", "", fmt.Errorf("%w: mariadb-install-db and mariadbd are neither in PATH nor in the folders of packages",
			ErrNotInstalled)
	}
	return install, serve, nil
}

func (mariadb) install(dir string) []string {
	return []string{
		"--no-defaults", "--datadir=" + filepath.Join(dir, "data"), "--auth-root-authentication-method=normal",
		"--skip-test-db", "--skip-name-resolve",
	}
}

func (m mariadb) serve(dir string) []string {
	return []string{
		"--no-defaults", "--datadir=" + filepath.Join(dir, "data"), "--socket=" + m.socket(dir), "--skip-networking",
		"--pid-file=" + filepath.Join(dir, "pid"), "--tmpdir=" + dir, "--local-infile=1", "--max-connections=200",
		fmt.Sprintf("--innodb-buffer-pool-size=%dM", CacheMiB),
	}
}

func (mariadb) socket(dir string) string { return filepath.Join(dir, "socket") }

func (m mariadb) dsn(dir string) string { return "root@unix(" + m.socket(dir) + ")/" }

func (mariadb) answers(ctx context.Context, dsn string) error {
	config, err := mysql.ParseDSN(dsn)
	if err != nil {
		return err
	}
	config.Logger = &mysql.NopLogger{}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	return db.PingContext(ctx)
}

// end is SIGKILL: after SIGTERM mariadbd would write all pages first.
func (mariadb) end() syscall.Signal { return syscall.SIGKILL }
