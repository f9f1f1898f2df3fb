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
	DSN    string // understood by sql.Open and by the GORM driver alike
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
