package testdb

import (
	"context"
	"errors"
	"testing"

	"github.com/sqlflake/sqlflake/internal/dbserver"
	"github.com/sqlflake/sqlflake/internal/skip"
)

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
