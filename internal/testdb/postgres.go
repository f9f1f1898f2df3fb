package testdb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"sync"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"github.com/sqlflake/sqlflake/internal/dbserver"
	"github.com/sqlflake/sqlflake/internal/skip"
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
}

var postgres18Server = &server{
	name:     "postgres18",
	variable: "SNOWFLAKE_TEST_POSTGRES18",
	parse:    parsePostgres,
	driver:   "pgx",
	version:  "SHOW server_version",
	program:  postgresName,
}

// Postgres returns an empty database with a new schema, the only one in the search_path of the DSN. The schema's name
// is random, so a test can name roles after it. When the test ends, sessions that still use the database are terminated
// and it is dropped, or emptied for another test of the process.
func Postgres(tb testing.TB) Target {
	tb.Helper()
	return newDatabase(tb, postgresServer.need(tb))
}

// Postgres18 is Postgres on the server of SNOWFLAKE_TEST_POSTGRES18, which is PostgreSQL 18 or newer.
func Postgres18(tb testing.TB) Target {
	tb.Helper()
	return newDatabase(tb, postgres18Server.need(tb))
}

// newDatabase makes a database, not only a schema: a lease table in another schema of the database counts.
func newDatabase(tb testing.TB, server location) Target {
	tb.Helper()
	database, isNew := takeSpare(server.dsn)
	schema, dsn := newName(), withPath(server.dsn, database)
	removeAtEnd(tb, "database "+database, func(ctx context.Context) error {
		return giveBack(ctx, server.dsn, database, schema)
	})

	if isNew {
		create(tb, postgresName, "pgx", server.dsn, "CREATE DATABASE "+database)
	}

	create(tb, postgresName, "pgx", dsn, "CREATE SCHEMA "+schema)

	return Target{
		Name:    postgresName,
		Version: server.version,
		Driver:  "pgx",
		// Without waiting for the disk: nothing is read after a crash of the server.
		DSN: withQuery(dsn, map[string]string{
			"search_path": schema, "application_name": schema, "synchronous_commit": "off",
		}),
	}
}

// spare has the databases of a server, by its DSN, that tests have left as they were made. On a busy machine it takes
// more than a second to make and drop one.
var (
	spareMu sync.Mutex
	spare   = map[string][]string{}
)

// takeSpare returns a spare database, or a name for a new one.
func takeSpare(server string) (database string, isNew bool) {
	spareMu.Lock()
	defer spareMu.Unlock()
	if all := spare[server]; len(all) > 0 {
		spare[server] = all[1:]
		return all[0], false
	}
	return newName(), true
}

// giveBack removes what a test has made. The database is spared if nothing is left in it, and Main drops it at the end.
func giveBack(ctx context.Context, server, database, schema string) error {
	var empty bool
	err := admin(ctx, "pgx", withPath(server, database), func(ctx context.Context, db *sql.DB) error {
		// DROP SCHEMA would wait for an open transaction of a failed test.
		err := execAll(
			`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid()`,
			"DROP SCHEMA IF EXISTS "+schema+" CASCADE")(ctx, db)
		if err != nil {
			return err
		}

		// What initdb makes has a smaller OID.
		return db.QueryRowContext(ctx, `SELECT NOT EXISTS (
			SELECT FROM pg_namespace WHERE oid >= 16384 AND nspname NOT LIKE 'pg\_%'
			UNION ALL SELECT FROM pg_class WHERE oid >= 16384 AND relnamespace = 'public'::regnamespace
			UNION ALL SELECT FROM pg_proc WHERE oid >= 16384
			UNION ALL SELECT FROM pg_extension WHERE oid >= 16384
			UNION ALL SELECT FROM pg_publication)`).Scan(&empty)
	})
	canSpare := empty && mainRuns.Load()
	if err != nil || !canSpare {
		return dropDatabase(ctx, server, database)
	}

	spareMu.Lock()
	defer spareMu.Unlock()

	spare[server] = append(spare[server], database)
	return nil
}

func dropDatabase(ctx context.Context, server, database string) error {
	return admin(ctx, "pgx", server, execAll("DROP DATABASE IF EXISTS "+database+" WITH (FORCE)"))
}

// dropSpare drops the spare databases, at the end of a run.
func dropSpare() {
	ctx, cancel := context.WithTimeout(context.Background(), adminTimeout)
	defer cancel()

	spareMu.Lock()
	defer spareMu.Unlock()

	for server, databases := range spare {
		for _, database := range databases {
			if err := dropDatabase(ctx, server, database); err != nil {
				fmt.Fprintf(os.Stderr, "testdb: the database %s is left behind: %v\n", database, err)
			}
		}
	}

	clear(spare)
}

// parsePostgres accepts a URL, and adds sslmode=disable if the URL has no sslmode.
func parsePostgres(value string) (dsn, printed string, err error) {
	u, err := url.Parse(value)
	if err != nil || !slices.Contains([]string{"postgres", "postgresql"}, u.Scheme) {
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
	u, _ := url.Parse(dsn) // parsePostgres has done so
	u.Path = "/" + database
	return u.String()
}

// withQuery sets parameters in a URL.
func withQuery(dsn string, parameters map[string]string) string {
	u, _ := url.Parse(dsn) // as in withPath
	query := u.Query()
	for key, value := range parameters {
		query.Set(key, value)
	}

	u.RawQuery = query.Encode()
	return u.String()
}

// PgBouncer returns a new PostgreSQL database behind its own PgBouncer, in transaction mode: statements of one
// connection run on different connections of the server. The modes of pgx that work depend on the version, so add
// default_query_exec_mode to the DSN.
func PgBouncer(tb testing.TB) Target {
	tb.Helper()
	server := postgresServer.need(tb)
	bouncer, err := dbserver.Start(tb.Context(), dbserver.Config{Name: "pgbouncer", Of: server.dsn})
	if errors.Is(err, dbserver.ErrNotInstalled) {
		skip.Missing(tb, postgresServer.variable, "%v", err)
	}
	if err != nil {
		tb.Fatalf("testdb: %v", err)
	}

	name := newName() // no schema for this test: PgBouncer refuses search_path in a DSN
	removeAtEnd(tb, "database "+name, func(ctx context.Context) error {
		return errors.Join(bouncer.Stop(), dropDatabase(ctx, server.dsn, name))
	})
	create(tb, postgresName, "pgx", server.dsn, "CREATE DATABASE "+name)

	return Target{Name: postgresName, Version: server.version, Driver: "pgx", DSN: withPath(bouncer.DSN, name)}
}
