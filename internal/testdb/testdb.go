// Package testdb gives a test a database of its own: SQLite always, PostgreSQL, MariaDB and Redis when there is a server.
//
// A server is looked for at the address in its environment variable, else at its default address:
//
//	PostgreSQL  SNOWFLAKE_TEST_POSTGRES  postgres://postgres@127.0.0.1:5432/test
//	MariaDB     SNOWFLAKE_TEST_MYSQL     root@tcp(127.0.0.1:3306)/   (MySQL speaks the same protocol)
//	Redis       SNOWFLAKE_TEST_REDIS     127.0.0.1:6379
//
// The value "off" says that there is none. For PostgreSQL the value "throwaway" starts a cluster from the installed
// binaries, in a temporary directory; so does an unset variable when nothing usable answers at the default address.
//
// A test whose server is missing is skipped with one line that names the server, the address and the variable. It fails
// instead when the variable holds an address, since somebody asked for that server, and always when
// SNOWFLAKE_TEST_REQUIRE is "all".
//
// What a test gets has a random name, so any number of tests and processes may share the servers. It is removed when
// the test ends. That needs [Main] if the run is interrupted; a killed process leaves it behind.
package testdb

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
)

// Target is an empty database that belongs to one test. Its methods are safe for concurrent use.
type Target struct {
	Name   string // "sqlite", "postgres" or "mariadb"
	Driver string // the name for [sql.Open]: "sqlite3", "pgx" or "mysql"
	DSN    string // accepted by sql.Open and by the GORM driver

	Version string // as the server reports it, such as "11.8.2-MariaDB" or "9.7.4"; empty for SQLite
}

// IsMySQL reports whether the target is on a MySQL server. Its Name is "mariadb" even then.
func (t Target) IsMySQL() bool { return t.Name == mariadbName && isMySQL(t.Version) }

// NeedMariaDB skips the test if the target is on MySQL. Call it where a test uses a feature, such as "RETURNING", that
// MariaDB has and MySQL lacks. It skips also when SNOWFLAKE_TEST_REQUIRE is "all": no server is missing.
func (t Target) NeedMariaDB(tb testing.TB, feature string) {
	tb.Helper()
	if t.IsMySQL() {
		tb.Skipf("testdb: %s needs MariaDB, and the server is MySQL %s", feature, t.Version)
	}
}

// isMySQL reports whether the answer to SELECT VERSION() is that of MySQL. MariaDB's contains its name.
func isMySQL(version string) bool { return !strings.Contains(version, "MariaDB") }

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

// Dialector returns what gorm.Open takes. It panics when Name is not one of the three, so for a Target that did not come
// from this package.
func (t Target) Dialector() gorm.Dialector {
	switch t.Name {
	case sqliteName:
		return sqlite.Open(t.DSN)
	case postgresName:
		return postgres.Open(t.DSN)
	case mariadbName:
		return mysql.Open(t.DSN)
	}
	panic(fmt.Sprintf("testdb: no GORM driver for target %q", t.Name))
}

// Each runs f as a subtest on SQLite, PostgreSQL and MariaDB, in this order; a missing server skips its subtest alone.
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
