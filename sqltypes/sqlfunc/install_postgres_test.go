package sqlfunc_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
	"github.com/sqlflake/sqlflake/sqltypes/sqlfunc"
)

func TestPostgresInstallAgainKeepsTheState(t *testing.T) {
	db := openPostgres(t)
	layout := snowflake.Default()
	db.install(t, layout, sqlfunc.WithWorker(1))
	db.exec(t, "CREATE TABLE events (id bigint PRIMARY KEY DEFAULT snowflake_next())")
	// Ahead of the clock, so that only the state determines the next ID.
	db.exec(t, "SELECT snowflake_next()")
	db.exec(t, "SELECT setval('snowflake_state', last_value + (5000::bigint << 19)) FROM snowflake_state")
	before := scan[snowflake.ID](t, db, "INSERT INTO events DEFAULT VALUES RETURNING id")
	for worker := range int64(3) {
		db.install(t, layout, sqlfunc.WithWorker(1+worker))
		after := scan[snowflake.ID](t, db, "INSERT INTO events DEFAULT VALUES RETURNING id")
		if got := layout.Decompose(after); got.Worker != 1+worker || after <= before || got.Time.Before(layout.Time(before)) {
			t.Errorf("%v after %v", got, layout.Decompose(before))
		}
		before = after
	}
}

func TestPostgresInstallRefusesAnotherLayout(t *testing.T) {
	db := openPostgres(t)
	first := db.install(t, snowflake.Default(), sqlfunc.WithWorker(1))
	second := db.functions(t, snowflake.MustPreset("wide"), sqlfunc.WithWorker(1))
	err := second.Install(t.Context(), db, sqldb.Postgres)
	if sqlState(err) != "42723" || !strings.Contains(err.Error(), snowflake.Default().String()) {
		t.Errorf("error %v, want one with the layout that is there", err)
	}
	if got := scan[string](t, db, "SELECT snowflake_layout()"); got != snowflake.Default().String() {
		t.Errorf("the layout is now %s", got)
	}
	drop(t, db.DB, first, sqldb.Postgres)
	db.exec(t, "CREATE FUNCTION snowflake_time(bigint) RETURNS int LANGUAGE sql AS 'SELECT 1'")
	if err := second.Install(t.Context(), db, sqldb.Postgres); sqlState(err) != "42723" {
		t.Errorf("over a function of somebody else: %v", err)
	}
}

func TestPostgresDropLeavesNothing(t *testing.T) {
	db := openPostgres(t)
	f := db.install(t, snowflake.Default(), sqlfunc.WithWorker(1))
	for range 2 { // Drop may be repeated
		drop(t, db.DB, f, sqldb.Postgres)
	}
	if got := scan[int](t, db, `SELECT (SELECT count(*) FROM pg_proc WHERE pronamespace = current_schema()::regnamespace)
		+ (SELECT count(*) FROM pg_class WHERE relnamespace = current_schema()::regnamespace)`); got != 0 {
		t.Errorf("%d objects are left", got)
	}
}

func TestPostgresInstallRunsConcurrently(t *testing.T) {
	db := openPostgres(t)
	f := db.functions(t, snowflake.Default(), sqlfunc.WithWorker(1))
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 5 {
				if err := f.Install(t.Context(), db, sqldb.Postgres); err != nil {
					t.Error(err)
				}
				if _, err := db.ExecContext(t.Context(), "SELECT snowflake_next()"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
}

// A role that inserts needs no right to the state and cannot set it back.
func TestPostgresNextNeedsNoRightsToTheState(t *testing.T) {
	db := openPostgres(t)
	db.install(t, snowflake.Default(), sqlfunc.WithWorker(1))
	db.exec(t, "CREATE TABLE events (id bigint PRIMARY KEY DEFAULT snowflake_next(), n int)")
	role := db.schema + "_role"
	db.exec(t, "CREATE ROLE "+role)
	t.Cleanup(func() { db.cleanRole(t, role) })
	db.exec(t, "GRANT USAGE ON SCHEMA "+db.schema+" TO "+role)
	db.exec(t, "GRANT INSERT, SELECT ON events TO "+role)
	tx := db.begin(t)
	for _, query := range []string{
		"SET LOCAL ROLE " + role,
		"INSERT INTO events (n) SELECT generate_series(1, 10)",
		"SELECT snowflake_parts(id), snowflake_time(id) FROM events WHERE id > snowflake_min('2026-01-01')",
	} {
		if _, err := tx.ExecContext(t.Context(), query); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	for _, query := range []string{"SELECT setval('snowflake_state', 1)", "SELECT nextval('snowflake_state')"} {
		for _, step := range []string{"SAVEPOINT before", query, "ROLLBACK TO SAVEPOINT before"} {
			if _, err := tx.ExecContext(t.Context(), step); step == query && sqlState(err) != "42501" {
				t.Errorf("%s: %v, want 42501, insufficient_privilege", query, err)
			}
		}
	}
}

// The function has the rights of its owner, so it must not use objects of the caller's search_path.
func TestPostgresNextDoesNotFollowTheSearchPath(t *testing.T) {
	db := openPostgres(t)
	db.install(t, snowflake.Default(), sqlfunc.WithWorker(1))
	for _, query := range []string{
		"CREATE FUNCTION setval(regclass, bigint) RETURNS bigint LANGUAGE sql AS 'SELECT 1 / 0'",
		"CREATE FUNCTION clock_timestamp() RETURNS timestamptz LANGUAGE sql AS 'SELECT (1 / 0)::text::timestamptz'",
	} {
		db.exec(t, query)
	}
	tx := db.begin(t)
	for _, query := range []string{
		"SET LOCAL search_path = pg_temp, " + db.schema + ", pg_catalog",
		"CREATE TEMPORARY SEQUENCE snowflake_state START 7",
		"SELECT snowflake_next()",
	} {
		if _, err := tx.ExecContext(t.Context(), query); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
}

func TestPostgresSchemaMayHaveAnyName(t *testing.T) {
	db := openPostgres(t)
	for _, name := range []string{
		`Quo"te`, `it's`, `$sqlfunc$; SELECT 1 / 0; --`, `{time} %s`, `back\slash`, "two words", `é`,
	} {
		schema := name + db.schema[len(db.schema)-8:]
		quoted := `"` + strings.ReplaceAll(schema, `"`, `""`) + `"`
		db.exec(t, "CREATE SCHEMA "+quoted)
		t.Cleanup(func() { db.clean(t, "DROP SCHEMA "+quoted+" CASCADE") })
		f, err := sqlfunc.New(snowflake.Default(), sqlfunc.WithSchema(schema), sqlfunc.WithWorker(1),
			sqlfunc.WithLeaseTable(db.schema+".leases", name))
		if err != nil {
			t.Fatal(err)
		}
		db.exec(t, "DROP TABLE IF EXISTS leases")
		for range 2 {
			if err := f.Install(t.Context(), db, sqldb.Postgres); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		var a, b int64
		query := strings.ReplaceAll("SELECT s.snowflake_next(), (SELECT worker FROM s.snowflake_parts(s.snowflake_next()))",
			"s.s", quoted+".s")
		if err := db.QueryRowContext(t.Context(), query).Scan(&a, &b); err != nil || a <= 0 || b != 1 {
			t.Errorf("%s: %d, %d, %v", name, a, b, err)
		}
	}
}
