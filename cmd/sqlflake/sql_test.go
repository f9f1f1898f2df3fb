package main

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// TestTheTablesOfLeasesAreThoseOfTheStore creates the tables with what is printed.
func TestTheTablesOfLeasesAreThoseOfTheStore(t *testing.T) {
	eachDatabase(t, func(t *testing.T, s site) {
		r := do(t, "", "sql", "leases", "-dialect", strings.Replace(s.Name, "mariadb", "mysql", 1))
		if !strings.HasSuffix(r.out, ";\n") || r.code != exitOK {
			t.Fatalf("%+v", r)
		}
		for statement := range strings.SplitSeq(strings.TrimSuffix(r.out, ";\n"), ";") { // MySQL's driver refuses two
			if _, err := s.pool.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		open(t, s)
		if r := s.do(t, "workers"); !strings.Contains(r.out, "default: 1 held, 0 free") {
			t.Errorf("%+v", r)
		}
	})
}

// TestTheScriptOfFunctionsRuns installs what is printed, and removes it.
func TestTheScriptOfFunctionsRuns(t *testing.T) {
	target := testdb.Postgres(t)
	db := target.Open(t)
	exec := func(args ...string) {
		t.Helper()
		r := do(t, "", append([]string{"sql", "functions", "-dialect", "postgres", "-schema", schemaOf(t, db)}, args...)...)
		if _, err := db.ExecContext(t.Context(), r.out); err != nil || r.code != exitOK {
			t.Fatalf("%q: %v, %+v", args, err, r)
		}
	}
	exec("-worker", "1023", "-namespace", lease.DefaultNamespace)
	var id string
	if err := db.QueryRowContext(t.Context(), "SELECT snowflake_next()::text").Scan(&id); err != nil {
		t.Fatal(err)
	}
	parsed, err := parseID(id, "decimal")
	if worker := parsed >> 12 & 1023; err != nil || worker != 1023 {
		t.Errorf("%s has worker %d, %v", id, worker, err)
	}
	exec("-worker", "1023", "-drop")
	if err := db.QueryRowContext(t.Context(), "SELECT snowflake_next()::text").Scan(&id); err == nil {
		t.Error("snowflake_next was not dropped")
	}
	if r := do(t, "", "sql", "functions", "-dialect", "postgres", "-name", "orders"); !strings.Contains(r.out, `"public".orders_time(`) {
		t.Errorf("%+v", r)
	}
	for _, command := range []string{"sql functions", "new"} {
		if r := do(t, "", append(strings.Fields(command), "-help")...); strings.Contains(r.out, "(default -1)") {
			t.Errorf("%s: %+v", command, r)
		}
	}
	if r := do(t, "", "sql", "functions", "-dialect", "mariadb"); !strings.Contains(r.out, "DELIMITER") || !strings.Contains(r.out, "snowflake_time") {
		t.Errorf("%+v", r)
	}
}

// schemaOf returns the schema of the test, so that the server's others stay as they are.
func schemaOf(t *testing.T, db *sql.DB) (schema string) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), "SELECT current_schema()").Scan(&schema); err != nil || schema == "public" {
		t.Fatal(schema, err)
	}
	return schema
}

// ClickHouse was not asked. Its documentation has the two functions, with the epoch in milliseconds.
func TestClickHouseGetsItsOwnFunctionsForItsLayoutOnly(t *testing.T) {
	r := do(t, "", "sql", "functions", "-dialect", "clickhouse", "-name", "ids", "-layout", "twitter")
	if !strings.Contains(r.out, "FUNCTION ids_time AS (id) -> snowflakeIDToDateTime64(toUInt64(id), 1288834974657, 'UTC');") || r.code != exitOK {
		t.Errorf("%+v", r)
	}
	for flag, want := range map[string]string{"-worker=3": "issue no IDs", "-name=x;y": "lower-case letters"} {
		do(t, "", "sql", "functions", "-dialect", "clickhouse", "-layout", "twitter", flag).fails(t, exitUsage, want)
	}
	before1970 := "epoch=1969-12-31T23:59:59Z tick=1ms time:41 worker:10 sequence:12" // the epoch is unsigned there
	for _, layout := range []string{"clustered", "wide", "seconds", "sonyflake", before1970} {
		want := exitOK
		if layout != "wide" { // which has 22 bits below the time, too
			want = exitFailed
		}
		if r := do(t, "", "sql", "functions", "-dialect", "clickhouse", "-layout", layout); r.code != want {
			t.Errorf("%s: %+v", layout, r)
		}
	}
}
