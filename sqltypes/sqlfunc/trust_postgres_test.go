package sqlfunc_test

import (
	"context"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
	"github.com/sqlflake/sqlflake/sqltypes/sqlfunc"
)

// role creates a role that may create objects in the schema, as everybody may in the schema public of PostgreSQL 14.
func (s server) role(t *testing.T) string {
	t.Helper()
	role := s.schema + "_role"
	s.exec(t, "CREATE ROLE "+role)
	t.Cleanup(func() { s.cleanRole(t, role) })
	s.exec(t, "GRANT USAGE, CREATE ON SCHEMA "+s.schema+" TO "+role)
	return role
}

// Objects of another role in the schema are neither called nor replaced.
func TestPostgresInstallRefusesObjectsOfOthers(t *testing.T) {
	db := openPostgres(t)
	role := db.role(t)
	f := db.functions(t, snowflake.Default(), sqlfunc.WithWorker(1))
	layout := snowflake.Default().String()
	for name, trap := range map[string]struct{ create, drop, state string }{
		"a layout that acts": {"CREATE FUNCTION snowflake_layout() RETURNS text LANGUAGE plpgsql AS $$ " +
			"BEGIN CREATE TABLE sprung (); RETURN '" + layout + "'; END $$", "FUNCTION snowflake_layout()", "42723"},
		"the right layout": {"CREATE FUNCTION snowflake_layout() RETURNS text LANGUAGE sql IMMUTABLE AS " +
			"$$ SELECT '" + layout + "'::text $$", "FUNCTION snowflake_layout()", "42501"},
		"a function of keys": {
			"CREATE FUNCTION snowflake_text_time(text) RETURNS timestamptz LANGUAGE sql AS 'SELECT now()'",
			"FUNCTION snowflake_text_time(text)", "42723",
		},
		"a state":          {"CREATE SEQUENCE snowflake_state", "SEQUENCE snowflake_state", "42501"},
		"a table as state": {"CREATE TABLE snowflake_state ()", "TABLE snowflake_state", "42501"},
	} {
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, query := range []string{"SET LOCAL ROLE " + role, trap.create} {
			if _, err := tx.ExecContext(t.Context(), query); err != nil {
				t.Fatal(err)
			}
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if err := f.Install(t.Context(), db, sqldb.Postgres); sqlState(err) != trap.state {
			t.Errorf("%s: %v, want %s", name, err, trap.state)
		}
		if scan[bool](t, db, "SELECT to_regclass('sprung') IS NOT NULL OR to_regprocedure('snowflake_next()') IS NOT NULL") {
			t.Fatalf("%s: a step was taken all the same", name)
		}
		db.exec(t, "DROP "+trap.drop)
	}
	for _, query := range []string{
		"CREATE SEQUENCE snowflake_state CACHE 10", "CREATE SEQUENCE snowflake_state INCREMENT 2",
		"CREATE SEQUENCE snowflake_state AS int", "CREATE SEQUENCE snowflake_state MINVALUE 2",
		"CREATE SEQUENCE snowflake_state CYCLE", "CREATE VIEW snowflake_state AS SELECT 1 AS last_value",
	} {
		db.exec(t, query)
		if err := f.Install(t.Context(), db, sqldb.Postgres); sqlState(err) != "42710" {
			t.Errorf("%s: %v, want 42710, duplicate_object", query, err)
		}
		db.exec(t, "DROP "+strings.Fields(query)[1]+" snowflake_state")
	}
	db.install(t, snowflake.Default(), sqlfunc.WithWorker(1))
}

// A role with few rights installs twice; other roles may not replace its functions.
func TestPostgresInstallBelongsToItsRole(t *testing.T) {
	db := openPostgres(t)
	role := db.role(t)
	f := db.functions(t, snowflake.Default(), sqlfunc.WithWorker(1), sqlfunc.WithLeaseTable("", "shop"))
	conn := db.settings(t)
	as := func(role string) {
		if _, err := conn.ExecContext(t.Context(), "SET ROLE "+role); err != nil {
			t.Fatal(err)
		}
	}
	as(role)
	for range 2 {
		if err := f.Install(t.Context(), conn, sqldb.Postgres); err != nil {
			t.Fatal(err)
		}
	}
	var id snowflake.ID
	if err := conn.QueryRowContext(t.Context(), "SELECT snowflake_next()").Scan(&id); err != nil || id <= 0 {
		t.Fatal(id, err)
	}
	as("NONE")
	err := f.Install(t.Context(), conn, sqldb.Postgres)
	if sqlState(err) != "42501" || !strings.Contains(err.Error(), "belong to the role "+role) {
		t.Errorf("as a superuser: %v, want 42501", err)
	}
	db.exec(t, "ALTER SCHEMA "+db.schema+" OWNER TO "+role)
	defer db.clean(t, "ALTER SCHEMA "+db.schema+" OWNER TO CURRENT_USER")
	if err := f.Install(context.WithoutCancel(t.Context()), conn, sqldb.Postgres); err != nil {
		t.Errorf("as a superuser in the role's own schema: %v", err)
	}
}

// The state stays where a clock was far ahead for a moment. With another worker it can start again.
func TestPostgresNextStartsAgainWithAnotherWorker(t *testing.T) {
	db := openPostgres(t)
	layout := snowflake.Default()
	db.install(t, layout, sqlfunc.WithWorker(1))
	db.exec(t, "SELECT setval('snowflake_state', snowflake_min('2090-01-01') >> 22 << 19)")
	if _, err := db.ExecContext(t.Context(), "SELECT snowflake_next()"); sqlState(err) != "55000" {
		t.Errorf("error %v, want 55000", err)
	}
	db.install(t, layout, sqlfunc.WithWorker(2))
	db.exec(t, "SELECT setval('snowflake_state', 1)")
	if !scan[bool](t, db, "SELECT abs(extract(epoch FROM snowflake_time(snowflake_next()) - now())) < 60") {
		t.Error("the time is not now")
	}
}
