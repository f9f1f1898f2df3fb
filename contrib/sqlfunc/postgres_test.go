package sqlfunc_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/contrib/sqlfunc"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
	"github.com/sqlflake/sqlflake/sqltypes"
	"github.com/sqlflake/sqlflake/sqltypes/uuidkey"
)

// compareKeys compares bounds and times of keys with those of their IDs. They are called as pg_partman calls its encoder
// and decoder: the key is text, a literal of no type or a column.
func compareKeys(t *testing.T, db server, layout snowflake.Layout, name string) {
	t.Helper()
	ordered := layout.Fields()[0].Name == snowflake.FieldTime
	want := 0
	if ordered {
		want = 4
	}
	if got := scan[int](t, db, `SELECT count(*) FROM pg_proc WHERE pronamespace = current_schema()::regnamespace
		AND proname ~ ('^' || $1 || '_(uuid|text)_(min|time)$')`, name); got != want {
		t.Fatalf("%d functions for keys, want %d", got, want)
	}
	if !ordered {
		return
	}
	for _, kind := range []string{"uuid", "text"} {
		for _, at := range timesOf(layout, 20) {
			bound, err := layout.MinAt(at)
			query := fmt.Sprintf("SELECT %s_%s_min('%s')::text", name, kind, at.Format("2006-01-02 15:04:05.999999+00"))
			switch {
			case !db.holds(layout, at):
			case err != nil:
				db.fails(t, db, query, "22008", "")
			default:
				if got := scan[string](t, db, query); got != keyText(t, kind, bound) {
					t.Errorf("%s: %s, want %s", query, got, keyText(t, kind, bound))
				}
			}
		}
		for _, id := range idsOf(layout, 20) {
			id := snowflake.ID(id)
			if at := layout.Time(id); db.holds(layout, at) && (kind == "text" || id >= 0) {
				got := scan[time.Time](t, db, "SELECT "+name+"_"+kind+"_time('"+keyText(t, kind, id)+"')")
				if !got.Equal(floor(at)) {
					t.Errorf("%s of %d: %v, want %v", kind, id, got, at)
				}
			}
		}
	}
}

// keyText returns what sqltypes writes into the column.
func keyText(t *testing.T, kind string, id snowflake.ID) string {
	t.Helper()
	value, err := sqltypes.Text(id).Value()
	if kind == "uuid" {
		value, err = uuidkey.ID(id).Value()
	}
	if err != nil {
		t.Fatal(err)
	}
	return value.(string)
}

// A key that holds no ID has no time, as it has no ID in Go.
func TestPostgresKeysOfAnyCollationHaveTimesAndOthersAreErrors(t *testing.T) {
	db := openPostgres(t)
	db.install(t, snowflake.Default())
	const id = 153652455014400000
	uuid, text := keyText(t, "uuid", id), keyText(t, "text", id)
	for kind, keys := range map[string][]string{
		"uuid": {
			"", "x", text, "00000000-0000-0000-0000-000000000000", "0222e0dc-6bc0-7000-8200-000000000000",
			"0222e0dc-6bc0-8000-0200-000000000000", "0222e0dc-6bc0-8000-8000-000000000000",
			"0222e0dc-6bc0-8000-8300-000000000000", "0222e0dc-6bc0-8000-8201-000000000000",
			"0222e0dc-6bc0-8000-8200-000000000001", uuid + "0", "8222e0dc-6bc0-8000-8200-000000000000",
		},
		"text": {
			"", "x", uuid, text[:12], text + "0", text + "\n", " " + text, "G000000000000", "000000000000I", "000000000000O",
			"000000000000L", "000000000000U", "000000000000a", "-000000000001", "000000000000é",
		},
	} {
		for _, key := range keys {
			db.fails(t, db, "SELECT snowflake_"+kind+"_time('"+key+"')", "22P02", "")
			var target sql.Scanner = new(sqltypes.Text)
			if kind == "uuid" {
				target = new(uuidkey.ID)
			}
			if target.Scan(key) == nil {
				t.Errorf("%s %q: Go reads it", kind, key)
			}
		}
	}
	db.exec(t, "CREATE COLLATION fuzzy (provider = icu, locale = 'und', deterministic = false)")
	want := snowflake.Default().Time(id)
	for _, call := range []string{
		"uuid_time('" + strings.ToUpper(uuid) + "')", "uuid_time('" + uuid + "' COLLATE fuzzy)", "text_time('" + text + "' COLLATE fuzzy)",
	} {
		if at := scan[time.Time](t, db, "SELECT snowflake_"+call); !at.Equal(want) {
			t.Errorf("%s: %v, want %v", call, at, want)
		}
	}
}

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
		"a function of keys": {
			"CREATE FUNCTION snowflake_text_time(text) RETURNS timestamptz LANGUAGE sql AS 'SELECT now()'",
			"FUNCTION snowflake_text_time(text)", "42723",
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

// pg_partman calls encoder(literal) and decoder(text). The pull request for bigint columns
// (https://github.com/pgpartman/pg_partman/pull/730) requires immutable functions with exactly the column's type, NULL
// for NULL, and the same time for the first bound.
func TestPostgresTimeFunctionsAreWhatPartmanTakes(t *testing.T) {
	db := openPostgres(t)
	db.install(t, snowflake.Default())
	for kind, functions := range map[string][2]string{
		"bigint": {"snowflake_min", "snowflake_time"},
		"uuid":   {"snowflake_uuid_min", "snowflake_uuid_time"},
		"text":   {"snowflake_text_min", "snowflake_text_time"},
	} {
		encoder, decoder := db.schema+"."+functions[0], db.schema+"."+functions[1]
		key := map[string]string{"bigint": "bigint", "uuid": "text", "text": "text"}[kind]
		if got := scan[int](t, db, `SELECT count(*) FROM pg_proc WHERE provolatile = 'i' AND proparallel = 's'
			AND (oid, prorettype) IN (($1::regprocedure, $2::regtype), ($3::regprocedure, 'timestamptz'::regtype))`,
			encoder+"(timestamptz)", kind, decoder+"("+key+")"); got != 2 {
			t.Errorf("%s: %d functions are right, want 2", kind, got)
		}
		if !scan[bool](t, db, fmt.Sprintf("SELECT %s(NULL) IS NULL AND %s(NULL) IS NULL", encoder, decoder)) {
			t.Errorf("%s: NULL has a key or a time", kind)
		}
		if !scan[bool](t, db, fmt.Sprintf("SELECT %s(%s('2026-07-01 00:00:00+02')::%s) = '2026-06-30 22:00:00Z'",
			decoder, encoder, key)) {
			t.Errorf("%s: a bound has another time", kind)
		}
	}
}

func TestPartmanPartitionsKeysByTheirTime(t *testing.T) {
	db := onPostgres(t, testdb.Postgres18(t))
	layout := snowflake.Default()
	db.install(t, layout)
	for column, kind := range map[string]string{"uuid": "uuid", "text": "text", `varchar(13) COLLATE "C"`: "text"} {
		t.Run(column, func(t *testing.T) {
			tx := db.begin(t) // a database has the extension once
			execOn(t, tx, "SET LOCAL TIME ZONE 'UTC'", "SET LOCAL client_min_messages = warning",
				"CREATE EXTENSION pg_partman SCHEMA "+db.schema, // 5.2 or newer
				"CREATE TABLE orders (id "+column+" PRIMARY KEY) PARTITION BY RANGE (id)",
				fmt.Sprintf(`SELECT create_parent('%[1]s.orders', 'id', '1 month',
					p_start_partition := '2026-01-01', p_time_encoder := '%[1]s.snowflake_%[2]s_min',
					p_time_decoder := '%[1]s.snowflake_%[2]s_time')`, db.schema, kind))
			march := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
			first, err := layout.MinAt(march)
			if err != nil {
				t.Fatal(err)
			}
			// The last key of February, the first of March, and a key beyond all partitions.
			for id, want := range map[snowflake.ID]string{
				first - 1: "orders_p20260201", first: "orders_p20260301", 1<<62 + 1: "orders_default",
			} {
				execOn(t, tx, "INSERT INTO orders VALUES ('"+keyText(t, kind, id)+"')")
				got := scan[string](t, tx, "SELECT tableoid::regclass::text FROM orders WHERE id = '"+keyText(t, kind, id)+"'")
				if got != want {
					t.Errorf("%s is in %s, want %s", layout.Time(id), got, want)
				}
			}
			// Maintenance decodes a key in the last partition and makes the partitions after it.
			last := func() time.Time {
				name := scan[string](t, tx, `SELECT max(relname) FROM pg_class
					WHERE relnamespace = current_schema()::regnamespace AND relname ~ '^orders_p\d+$'`)
				month, err := time.Parse("orders_p20060102", name)
				if err != nil {
					t.Fatal(err)
				}
				return month
			}
			before := last()
			id, err := layout.MinAt(before.AddDate(0, 0, 10))
			if err != nil {
				t.Fatal(err)
			}
			execOn(t, tx, "INSERT INTO orders VALUES ('"+keyText(t, kind, id)+"')", "SELECT run_maintenance()")
			if got, want := last(), before.AddDate(0, 4, 0); !got.Equal(want) { // p_premake is 4
				t.Errorf("after a key in %v the last partition is %v, want %v", before, got, want)
			}
		})
	}
}
