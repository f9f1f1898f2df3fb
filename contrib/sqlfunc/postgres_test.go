package sqlfunc_test

import (
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/contrib/sqlfunc"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// role creates a role that may create objects in the schema, as everybody may in the schema public of PostgreSQL 14.
func (s server) role(t *testing.T) string {
	t.Helper()
	role := s.schema + "_role"
	s.exec(t, "CREATE ROLE "+role)
	t.Cleanup(func() { s.exec(t, "DROP OWNED BY "+role, "DROP ROLE "+role) })
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
		"a time that acts": {
			"CREATE FUNCTION snowflake_time(bigint) RETURNS timestamptz LANGUAGE sql AS 'SELECT now()'",
			"FUNCTION snowflake_time(bigint)", "42723",
		},
		"a state":          {"CREATE SEQUENCE snowflake_state", "SEQUENCE snowflake_state", "42501"},
		"a table as state": {"CREATE TABLE snowflake_state ()", "TABLE snowflake_state", "42501"},
	} {
		execOn(t, db.conn(t), "SET ROLE "+role, trap.create, "RESET ROLE")
		db.failed(t, name, f.Install(t.Context(), db, sqldb.Postgres), trap.state, "")
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
		db.failed(t, query, f.Install(t.Context(), db, sqldb.Postgres), "42710", "")
		db.exec(t, "DROP "+strings.Fields(query)[1]+" snowflake_state")
	}
	db.install(t, snowflake.Default(), sqlfunc.WithWorker(1))
}

// A role with few rights installs twice; other roles may not replace its functions.
func TestPostgresInstallBelongsToItsRole(t *testing.T) {
	db := openPostgres(t)
	role := db.role(t)
	f := db.functions(t, snowflake.Default(), sqlfunc.WithWorker(1), sqlfunc.WithLeaseTables("", "shop"))
	conn := db.conn(t)
	execOn(t, conn, "SET ROLE "+role)
	for range 2 {
		if err := f.Install(t.Context(), conn, sqldb.Postgres); err != nil {
			t.Fatal(err)
		}
	}
	next(t, conn)
	execOn(t, conn, "RESET ROLE")
	db.failed(t, "as a superuser", f.Install(t.Context(), conn, sqldb.Postgres), "42501", "belong to the role "+role)
	db.exec(t, "ALTER SCHEMA "+db.schema+" OWNER TO "+role)
	defer db.exec(t, "ALTER SCHEMA "+db.schema+" OWNER TO CURRENT_USER")
	if err := f.Install(t.Context(), conn, sqldb.Postgres); err != nil {
		t.Errorf("as a superuser in the role's own schema: %v", err)
	}
}
