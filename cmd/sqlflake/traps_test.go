package main

import (
	"testing"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// Whoever may only create objects in a schema of the search_path runs nothing as the person who uses the command.
func TestNoCodeOfAStrangerRuns(t *testing.T) {
	testdb.EachTrapped(t, func(t *testing.T, victim testdb.Trapped) {
		if _, err := victim.Safe.ExecContext(t.Context(), `CREATE TABLE orders (id bigint PRIMARY KEY, at timestamptz);
INSERT INTO orders VALUES (362387865600000, '2025-01-02 00:00:00Z'); CREATE TABLE events (id bigint PRIMARY KEY)`); err != nil {
			t.Fatal(err)
		}
		table := do(t, "", "sql", "leases", "--dialect", "postgres")
		if _, err := victim.Open(t).ExecContext(t.Context(), table.out); err != nil {
			t.Fatalf("%+v: %v", table, err)
		}
		opened, err := sqllease.Open(t.Context(), victim.Safe, sqldb.Postgres)
		if err == nil {
			err = opened.Close(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{
			{"new", "--dsn", victim.DSN},
			{"workers", "--dsn", victim.DSN},
			{"workers", "--dsn", victim.DSN, "--json"},
			{"audit", "--dsn", victim.DSN, "--table", "orders", "--by", "at", "--layout", "default"},
			{"partition", "adopt", "--dsn", victim.DSN, "--unit", "day", "events"},
			{"partition", "plan", "--dsn", victim.DSN, "--unit", "day", "events"},
			{"partition", "maintain", "--dsn", victim.DSN, "--unit", "day", "events"},
		} {
			if r := do(t, "", args...); r.code != exitOK {
				t.Errorf("%q: %+v", args, r)
			}
		}
	})
}
