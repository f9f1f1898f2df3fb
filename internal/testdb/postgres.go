package testdb

import (
	"context"
	"fmt"
	"net/url"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
)

const (
	postgresName     = "postgres"
	postgresFallback = "postgres://postgres@127.0.0.1:5432/test"
)

var postgresServer = &server{
	name:     postgresName,
	variable: "SNOWFLAKE_TEST_POSTGRES",
	fallback: postgresFallback,
	parse:    parsePostgres,
	driver:   "pgx",
	version:  "SHOW server_version",
	program:  postgresName,
	start:    startServer,
}

var postgres18Server = &server{
	name:     "postgres18",
	variable: "SNOWFLAKE_TEST_POSTGRES18",
	parse:    parsePostgres,
	driver:   "pgx",
	version:  "SHOW server_version",
	program:  postgresName,
	start:    startServer,
}

// Postgres returns a new database. Its only table schema has the same name and is the only one in the search_path of the
// DSN, so that a test can name roles after it. When the test ends, sessions that still use the database are terminated
// and it is dropped.
func Postgres(tb testing.TB) Target {
	tb.Helper()
	return newDatabase(tb, postgresServer.need(tb))
}

// Postgres18 is Postgres on the server of SNOWFLAKE_TEST_POSTGRES18, which is PostgreSQL 18 or newer with pg_partman.
func Postgres18(tb testing.TB) Target {
	tb.Helper()
	return newDatabase(tb, postgres18Server.need(tb))
}

// newDatabase makes a database, not only a schema: a lease table in another schema of the database counts.
func newDatabase(tb testing.TB, server location) Target {
	tb.Helper()
	name := newName()
	removeAtEnd(tb, "database "+name, func(ctx context.Context) error {
		return admin(ctx, "pgx", server.dsn, execAll("DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"))
	})
	create(tb, postgresName, "pgx", server.dsn, "CREATE DATABASE "+name)
	dsn := withPath(server.dsn, name)
	create(tb, postgresName, "pgx", dsn, "CREATE SCHEMA "+name)

	return Target{
		Name:    postgresName,
		Version: server.version,
		Driver:  "pgx",
		// Without waiting for the disk: nothing is read after a crash of the server.
		DSN: withQuery(dsn, map[string]string{"search_path": name, "application_name": name, "synchronous_commit": "off"}),
	}
}

// parsePostgres accepts a URL, and adds sslmode=disable if the URL has no sslmode.
func parsePostgres(value string) (dsn, printed string, err error) {
	u, err := url.Parse(value)
	if err != nil || (u.Scheme != "postgres" && u.Scheme != "postgresql") {
		// Without the value, which may contain a password.
		return "", "", fmt.Errorf("want a URL such as %s", postgresFallback)
	}
	if !u.Query().Has("sslmode") {
		value = withQuery(value, map[string]string{"sslmode": "disable"})
	}
	return value, u.Redacted(), nil
}

// withPath replaces the database in a URL.
func withPath(dsn, database string) string {
	u, err := url.Parse(dsn)
	if err != nil {
		return dsn
	}
	u.Path = "/" + database
	return u.String()
}

// withQuery sets parameters in a URL.
func withQuery(dsn string, parameters map[string]string) string {
	u, err := url.Parse(dsn)
	if err != nil {
		return dsn
	}
	query := u.Query()
	for key, value := range parameters {
		query.Set(key, value)
	}
	u.RawQuery = query.Encode()
	return u.String()
}
