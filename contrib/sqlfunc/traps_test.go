package sqlfunc_test

import (
	"fmt"
	"testing"

	"github.com/sqlflake/sqlflake/contrib/sqlfunc"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

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
			if err != nil {
				t.Fatal(err)
			}
			conn := db.conn(t)
			path := "SELECT pg_catalog.current_setting('search_path')"
			before := scan[string](t, conn, path)
			execOn(t, conn, statements...)
			if after := scan[string](t, conn, path); after != before {
				t.Errorf("the search_path is %s, was %s", after, before)
			}
			if err := f.Install(t.Context(), db, sqldb.Postgres); err != nil {
				t.Fatal(err)
			}

			for _, row := range []struct{ change, state string }{ // the worker of a dead lease, and of others
				{"leases SET expires_ms = 1, reserved_for = ''", ""},
				{"leases SET expires_ms = 9000000000000, reserved_for = ''", "55006"},
				{"leases SET host = 'another', reserved_for = 'SQL functions'", "55006"},
				{"namespaces SET layout = 'another'", "55000"},
				{"namespaces SET protocol = 3", "55000"},
			} {
				change := "UPDATE snowflake_" + row.change + " WHERE namespace = '" + name + "'"
				safe.exec(t, change)
				if err := f.Install(t.Context(), db, sqldb.Postgres); row.state != "" || err != nil {
					db.failed(t, row.change, err, row.state, "")
				}
			}

			id := scan[int64](t, db, "SELECT "+name+"_next()")
			db.exec(t, fmt.Sprintf("SELECT * FROM %s_parts(%d)", name, id), fmt.Sprintf("SELECT %s_time(%d), %[1]s_layout()", name, id))
			if scan[bool](t, safe, "SELECT to_regprocedure('"+name+"_min(timestamptz)') IS NOT NULL") {
				for _, key := range []string{"min", "uuid_min", "text_min"} {
					db.exec(t, fmt.Sprintf("SELECT %s_%s(pg_catalog.now())", name, key))
				}
				for _, key := range []string{"uuid", "text"} {
					db.exec(t, fmt.Sprintf("SELECT %s_%s_time(CAST(%[1]s_%[2]s_min(pg_catalog.now()) AS pg_catalog.text))", name, key))
				}
			}
			drop, err := f.Drop(sqldb.Postgres)
			if err != nil {
				t.Fatal(err)
			}
			db.exec(t, drop...)
			const left = "SELECT count(*) FROM pg_proc WHERE pronamespace = current_schema()::regnamespace"
			if n := scan[int](t, safe, left); n != 0 {
				t.Errorf("%d functions are left", n)
			}
		}
	})
}
