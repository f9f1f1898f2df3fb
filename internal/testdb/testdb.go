// Package testdb gives each test its own database: on SQLite always, and on PostgreSQL and MariaDB or MySQL if the
// server runs.
//
//	func TestMain(m *testing.M) { os.Exit(testdb.Main(m)) }
//
//	func TestInsert(t *testing.T) {
//		testdb.Each(t, func(t *testing.T, target testdb.Target) {
//			db := target.Open(t)
//			...
//		})
//	}
//
// The address of a server is the value of its environment variable, or the default:
//
//	PostgreSQL      SNOWFLAKE_TEST_POSTGRES  postgres://postgres@127.0.0.1:5432/test
//	MariaDB, MySQL  SNOWFLAKE_TEST_MYSQL     root@tcp(127.0.0.1:3306)/
//
//	PostgreSQL 18+  SNOWFLAKE_TEST_POSTGRES18
//
// The value "off" turns a server off, and SQLite if SNOWFLAKE_TEST_SQLITE has it. The value "throwaway" starts a server
// from the installed binaries in a temporary folder, and "throwaway:FOLDER" from the binaries of a folder, which may
// be MySQL's. An unset variable does the same if no server answers at the default address.
//
// The test of a missing server is skipped, with one line that names the server, the address and the variable. It fails
// instead if the variable contains an address, or in a strict run, see package skip. A test of a feature that MySQL
// lacks calls [Target.NeedMariaDB].
//
// Databases have random names, so tests and processes can share a server. They are removed
// when the test ends, and after an interrupt if TestMain calls [Main]. A killed process leaves them behind.
package testdb

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/sqlflake/sqlflake/internal/skip"
)

// Target is an empty database for one test. Its methods are safe for concurrent use.
type Target struct {
	Name   string // "sqlite", "postgres" or "mariadb"
	Driver string // the name for [sql.Open]: "sqlite3", "pgx" or "mysql"
	DSN    string // accepted by sql.Open and the GORM driver

	Version string // as the server reports it, such as "11.8.2-MariaDB" or "9.7.4"; empty for SQLite
}

// IsMySQL reports whether the target is on a MySQL server. Its Name is "mariadb" even then.
func (t Target) IsMySQL() bool {
	return t.Name == mariadbName && !strings.Contains(t.Version, "MariaDB")
}

// NeedMariaDB skips the test if the target is on MySQL. Call it where a test uses a feature, such as "RETURNING", that
// MariaDB has and MySQL lacks.
func (t Target) NeedMariaDB(tb testing.TB, feature string) {
	tb.Helper()
	if t.IsMySQL() {
		skip.Inapplicable(tb, feature+" needs MariaDB, and the server is MySQL "+t.Version)
	}
}

// Open returns a pool of connections to the target and closes it when the test ends. The pool connects lazily.
func (t Target) Open(tb testing.TB) *sql.DB {
	tb.Helper()
	db, err := sql.Open(t.Driver, t.DSN)
	if err != nil {
		tb.Fatalf("testdb: open %s: %v", t.Name, err)
	}

	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Errorf("testdb: close %s: %v", t.Name, err)
		}
	})

	return db
}

// Each runs f as a subtest on SQLite, PostgreSQL and MariaDB or MySQL, in this order. A missing server skips its
// subtest.
func Each(t *testing.T, f func(t *testing.T, target Target)) {
	t.Helper()
	for _, kind := range []struct {
		name string
		open func(testing.TB) Target
	}{
		{sqliteName, SQLite},
		{postgresName, Postgres},
		{mariadbName, MariaDB},
	} {
		t.Run(kind.name, func(t *testing.T) { f(t, kind.open(t)) })
	}
}

// mainRuns is true from the first call of Main on.
var mainRuns atomic.Bool

// Main runs the tests of a package and returns the exit code. Call it in TestMain: os.Exit(testdb.Main(m)). At the end
// it stops the throwaway servers that tests have started. After an interrupt it also removes what the tests have
// created.
func Main(m *testing.M) int {
	mainRuns.Store(true)
	defer Stop()

	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()

	done := make(chan int, 1)
	go func() { done <- m.Run() }()
	select {
	case code := <-done:
		return code
	case <-ctx.Done():
		removeOutstanding()
		return 130 // 128 + SIGINT, as shells count
	}
}

// removal deletes what a test was given. It runs once: when the test ends, or when the run is interrupted.
type removal struct {
	what   string
	remove func(ctx context.Context) error
	once   sync.Once
}

// outstanding holds the removals that have not run yet.
var outstanding sync.Map // *removal to nothing

// removeAtEnd calls remove when the test ends, or earlier if the run is interrupted. Call it before the resource is
// created, so that an interrupt in between leaves nothing; remove must accept that the resource does not exist.
func removeAtEnd(tb testing.TB, what string, remove func(ctx context.Context) error) {
	tb.Helper()
	r := &removal{what: what, remove: remove}
	outstanding.Store(r, nil)
	tb.Cleanup(func() {
		if err := r.run(); err != nil {
			tb.Errorf("testdb: %s: %v", what, err)
		}
	})
}

// removeOutstanding runs the removals that have not run, after an interrupt.
func removeOutstanding() {
	outstanding.Range(func(key, _ any) bool {
		if r := key.(*removal); r.run() != nil {
			fmt.Fprintf(os.Stderr, "testdb: %s is left behind\n", r.what)
		}
		return true
	})
}

// run calls remove, the first time only.
func (r *removal) run() (err error) {
	r.once.Do(func() {
		// Not tb.Context(), which is already canceled when a cleanup runs.
		ctx, cancel := context.WithTimeout(context.Background(), adminTimeout)
		defer cancel()
		err = r.remove(ctx)
		outstanding.Delete(r)
	})
	return err
}
