package sqlfunc_test

import (
	"errors"
	"fmt"
	"log"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/contrib/sqlfunc"
	"github.com/sqlflake/sqlflake/internal/skip"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// On MariaDB CREATE OR REPLACE FUNCTION would wait for the transaction.
func TestInstallRunsBesideTransactionsAndOthers(t *testing.T) {
	eachServer(t, func(t *testing.T, s server) {
		f := s.install(t, snowflake.Default(), s.worker(1))
		call, timeout := "SELECT snowflake_time(1)", "lock_wait_timeout = 30, innodb_lock_wait_timeout = 30"
		if s.dialect == sqldb.Postgres {
			call, timeout = "SELECT snowflake_next()", "lock_timeout = '30s'"
		}

		execOn(t, s.begin(t), call)
		var group sync.WaitGroup
		for range 4 {
			conn := s.conn(t, timeout)
			group.Go(func() {
				for range 5 {
					err := f.Install(t.Context(), conn, s.dialect)
					if err == nil {
						_, err = conn.ExecContext(t.Context(), call)
					}
					if err != nil {
						t.Error(err)
					}
				}
			})
		}

		group.Wait()
	})
}

func TestInstallRefusesAnotherLayoutAndATransactionAndDropLeavesNothing(t *testing.T) {
	eachServer(t, func(t *testing.T, s server) {
		first := s.install(t, snowflake.Default(), s.worker(1))
		second := s.functions(t, preset("wide"), s.worker(1))
		s.failed(t, "another layout", second.Install(t.Context(), s, s.dialect), "42723", snowflake.Default().String())
		wantValue(t, s, snowflake.Default().String(), "SELECT snowflake_layout()")
		// A rollback would make the state forget IDs that were issued in the transaction.
		if err := first.Install(t.Context(), s.begin(t), s.dialect); !errors.Is(err, sqlfunc.ErrOption) {
			t.Errorf("in a transaction: %v, want ErrOption", err)
		}

		for range 2 { // Drop may be repeated
			s.drop(t, first)
		}

		count, foreign := `SELECT (SELECT count(*) FROM pg_proc WHERE pronamespace = current_schema()::regnamespace)
			+ (SELECT count(*) FROM pg_class WHERE relnamespace = current_schema()::regnamespace)`,
			"CREATE FUNCTION snowflake_time(bigint) RETURNS int LANGUAGE sql AS 'SELECT 1'"

		if s.dialect == sqldb.MySQL {
			count, foreign = `SELECT (SELECT COUNT(*) FROM information_schema.routines WHERE routine_schema = DATABASE())
				+ (SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE())`,
				"CREATE FUNCTION snowflake_time(id BIGINT) RETURNS INT RETURN 1"
		}

		wantValue(t, s, 0, count)
		s.exec(t, foreign)
		s.failed(t, "a function of somebody else", second.Install(t.Context(), s, s.dialect), "42723", "another layout are installed: unknown")
	})
}

func TestInstallNamesTheStatementThatFailed(t *testing.T) {
	db := openPostgres(t)
	f, err := sqlfunc.New(snowflake.Default(), sqlfunc.WithSchema(db.schema+"_missing"))
	must(t, err)
	db.failed(t, "no schema", f.Install(t.Context(), db, sqldb.Postgres), "3F000", "sqlfunc: install: statement 2 of 5: ")
}

// The package comment promises it: nothing is installed partially.
func TestMySQLRejectsTheFirstStatement(t *testing.T) {
	target := testdb.MariaDB(t)
	if !target.IsMySQL() {
		skip.Inapplicable(t, "the server is MariaDB, not MySQL")
	}
	s := server{DB: target.Open(t), dialect: sqldb.MySQL}
	s.failed(t, "MySQL", s.functions(t, snowflake.Default()).Install(t.Context(), s, sqldb.MySQL), "", "statement 1 of ")
}

// A role that inserts needs no right to the state and cannot set it back. The function has the rights of its owner, so it
// must not use objects of the caller's search_path.
func TestNextNeedsNoRightsToTheStateAndUsesNoObjectsOfTheCaller(t *testing.T) {
	db := openPostgres(t)
	db.install(t, snowflake.Default(), sqlfunc.WithWorker(1))
	role := db.role(t)
	db.exec(t, "CREATE TABLE events (id bigint PRIMARY KEY DEFAULT snowflake_next(), n int)", "GRANT INSERT, SELECT ON events TO "+role)
	tx := db.begin(t)
	execOn(t, tx, "SET LOCAL ROLE "+role, "INSERT INTO events (n) SELECT generate_series(1, 10)",
		"SELECT snowflake_parts(id), snowflake_time(id) FROM events WHERE id > snowflake_min('2026-01-01')")
	for _, query := range []string{"SELECT setval('snowflake_state', 1)", "SELECT nextval('snowflake_state')"} {
		execOn(t, tx, "SAVEPOINT before")
		db.fails(t, tx, query, "42501", "")
		execOn(t, tx, "ROLLBACK TO SAVEPOINT before")
	}

	execOn(t, tx, "RESET ROLE", "CREATE FUNCTION setval(regclass, bigint) RETURNS bigint LANGUAGE sql AS 'SELECT 1 / 0'",
		"CREATE FUNCTION clock_timestamp() RETURNS timestamptz LANGUAGE sql AS 'SELECT (1 / 0)::text::timestamptz'",
		"SET LOCAL search_path = pg_temp, "+db.schema+", pg_catalog",
		"CREATE TEMPORARY SEQUENCE snowflake_state START 7", "SELECT snowflake_next()")

	execOn(t, tx, "SET TRANSACTION READ ONLY")
	db.fails(t, tx, "SELECT snowflake_next()", "25006", "")
}

func TestPostgresSchemaMayHaveAnyName(t *testing.T) {
	db := openPostgres(t)
	for _, name := range []string{
		`Quo"te`, `it's`, `$sqlfunc$; SELECT 1 / 0; --`, `{time} %s`, `back\slash`, "two words", `é`,
	} {
		schema := name + db.schema[len(db.schema)-8:]
		quoted := `"` + strings.ReplaceAll(schema, `"`, `""`) + `"`
		db.exec(t, "CREATE SCHEMA "+quoted, "DROP TABLE IF EXISTS shop_leases, shop_namespaces")
		t.Cleanup(func() { db.exec(t, "DROP SCHEMA "+quoted+" CASCADE") })
		for range 2 {
			db.install(t, snowflake.Default(), sqlfunc.WithSchema(schema), sqlfunc.WithWorker(1),
				sqlfunc.WithLeaseTables(db.schema+".shop_", name))
		}
		query := "SELECT worker FROM s.snowflake_parts(s.snowflake_next())"
		wantValue(t, db, 1, strings.ReplaceAll(query, "s.s", quoted+".s"))
	}
}

// sessions are settings of the session that must not matter.
var sessions = map[sqldb.Dialect][]string{
	sqldb.Postgres: {
		"TimeZone = 'America/New_York'", "TimeZone = 'Asia/Kolkata'", "TimeZone = 'Africa/Casablanca'",
		"DateStyle = 'SQL, DMY'", "DateStyle = 'German, DMY'", "DateStyle = 'Postgres, MDY'", "DateStyle = 'ISO, YMD'",
		"IntervalStyle = 'sql_standard'", "extra_float_digits = -15", "standard_conforming_strings = off",
	},
	sqldb.MySQL: {
		"time_zone = '+05:30'", "time_zone = '-12:00'", "sql_mode = ''", "sql_mode = 'ORACLE'", "div_precision_increment = 0",
		"sql_mode = 'ANSI,NO_BACKSLASH_ESCAPES,NO_UNSIGNED_SUBTRACTION'", "lc_time_names = 'de_DE'", "timestamp = 1000",
		"timestamp = 3000000000.5",
	},
}

// timesOfChanges are around the changes of daylight saving time in New York and Casablanca, and in an hour that comes
// twice in Berlin.
func timesOfChanges() []time.Time {
	times := []time.Time{time.Date(2026, 10, 25, 1, 30, 0, 123e6, time.UTC)}
	for hour := range 3 * 24 {
		times = append(times, time.Date(2026, 3, 7+hour/24*8, hour%24, 30, 1, 5000000, time.UTC))
	}
	return times
}

func TestFunctionsDoNotDependOnTheSession(t *testing.T) {
	eachServer(t, func(t *testing.T, s server) {
		named := map[string]snowflake.Layout{
			"snowflake": snowflake.Default(), "b": preset("mastodon"), "c": parse(t, "epoch=1999-10-11T02:30:00.5Z tick=1ms time:51 sequence:12"),
			"d": parse(t, "epoch=1970-01-01T00:00:00.123456789Z tick=1.001us time:52 sequence:8"),
		}

		for name, layout := range named {
			s.install(t, layout, sqlfunc.WithName(name), s.worker(0))
		}

		for _, setting := range sessions[s.dialect] {
			conn := s.conn(t, setting)
			for name, layout := range named {
				f := s.functions(t, layout, sqlfunc.WithName(name), s.worker(0))
				if err := f.Install(t.Context(), conn, s.dialect); err != nil && s.dialect == sqldb.Postgres { // MariaDB rejects some modes
					t.Fatalf("%s: %v", setting, err)
				}

				ids, times := []int64(nil), timesOfChanges()
				for _, at := range times {
					id, err := layout.MinAt(at)
					must(t, err)
					ids = append(ids, int64(id))
				}

				r := s.reader(layout, name)
				r.compareIDs(t, conn, ids)
				r.compareTimes(t, conn, times)
			}

			if s.dialect == sqldb.MySQL {
				continue
			}

			// The clock advances within a statement.
			var first, second snowflake.ID
			must(t, conn.QueryRowContext(t.Context(), "SELECT snowflake_next(), pg_sleep(0.05)::text, snowflake_next()").
				Scan(&first, new(any), &second), setting)
			from, to := snowflake.Default().Time(first), snowflake.Default().Time(second)
			if to.Sub(from) < 40*time.Millisecond || time.Since(from).Abs() > time.Minute {
				t.Errorf("%s: %v and %v, want now and 50 ms later", setting, from, to)
			}
		}
	})
}

// Whoever may only create objects in a schema of the search_path runs nothing as a role that installs or calls the
// functions, and the search_path of the session stays as it is.
func TestNoCodeOfAStrangerRuns(t *testing.T) {
	testdb.EachTrapped(t, func(t *testing.T, victim testdb.Trapped) {
		db := server{DB: victim.Open(t), dialect: sqldb.Postgres, schema: victim.Schema}
		safe := server{DB: victim.Safe, dialect: sqldb.Postgres, schema: victim.Schema}
		for i, layout := range []snowflake.Layout{
			snowflake.Default(), snowflake.Clustered(), preset("sonyflake"),
			parse(t, "epoch=2025-01-01T00:00:00.000000001Z tick=1.000001ms time:40 worker:10 sequence:12"),
		} {
			name := fmt.Sprint("l", i)
			f := db.functions(t, layout, sqlfunc.WithName(name), sqlfunc.WithWorker(1), sqlfunc.WithLeaseTables("", name))
			statements, err := f.Statements(sqldb.Postgres)
			must(t, err)
			conn := db.conn(t)
			const path = "SELECT pg_catalog.current_setting('search_path')"
			before := scan[string](t, conn, path)
			execOn(t, conn, statements...)
			wantValue(t, conn, before, path)
			must(t, f.Install(t.Context(), db, sqldb.Postgres))

			where := " WHERE namespace = '" + name + "'"
			safe.exec(t, "UPDATE snowflake_leases SET expires_ms = 1, reserved_for = ''"+where) // of a dead lease
			must(t, f.Install(t.Context(), db, sqldb.Postgres))
			for _, row := range []struct{ change, state, text string }{ // of others
				{"leases SET expires_ms = 9000000000000, reserved_for = ''", "55006", "worker 1 is leased in the namespace"},
				{"leases SET host = 'another', reserved_for = 'SQL functions'", "55006", "worker 1 is reserved in the namespace"},
				{"namespaces SET layout = 'another'", "55000", "has leases of another layout"},
				{"namespaces SET protocol = 3", "55000", "requires version 3 of the lease protocol"},
			} {
				safe.exec(t, "UPDATE snowflake_"+row.change+where)
				db.failed(t, row.change, f.Install(t.Context(), db, sqldb.Postgres), row.state, row.text)
			}

			id := scan[int64](t, db, "SELECT "+name+"_next()")
			db.exec(t, fmt.Sprintf("SELECT * FROM %s_parts(%d)", name, id), fmt.Sprintf("SELECT %s_time(%d), %[1]s_layout()", name, id))
			if scan[bool](t, safe, "SELECT to_regprocedure('"+name+"_min(timestamptz)') IS NOT NULL") {
				db.exec(t, fmt.Sprintf("SELECT %s_min(pg_catalog.now())", name))
			}
			db.drop(t, f)
			const left = "SELECT count(*) FROM pg_proc WHERE pronamespace = current_schema()::regnamespace"
			wantValue(t, safe, 0, left)
		}
	})
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
		must(t, f.Install(t.Context(), conn, sqldb.Postgres))
	}

	next(t, conn)
	execOn(t, conn, "RESET ROLE")
	db.failed(t, "as a superuser", f.Install(t.Context(), conn, sqldb.Postgres), "42501", "belong to the role "+role)
	db.exec(t, "ALTER SCHEMA "+db.schema+" OWNER TO "+role)
	defer db.exec(t, "ALTER SCHEMA "+db.schema+" OWNER TO CURRENT_USER")
	must(t, f.Install(t.Context(), conn, sqldb.Postgres), "as a superuser in the role's own schema")
}

// The script for a migration. It may be run again.
func ExampleFunctions_Script() {
	functions, err := sqlfunc.New(snowflake.Default(), sqlfunc.WithWorker(1023)) // reserved for the server
	if err != nil {
		log.Fatal(err)
	}
	script, err := functions.Script(sqldb.Postgres)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(strings.Count(script, "CREATE OR REPLACE FUNCTION"))
	// Then, in the database:
	//
	//	CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_next(), note text);
	//	INSERT INTO orders (note) VALUES ('by hand');
	//	SELECT o.*, p.time, p.worker FROM orders AS o, snowflake_parts(o.id) AS p;
	//	SELECT * FROM orders WHERE id >= snowflake_min(now() - interval '1 day');

	// Output: 5
}
