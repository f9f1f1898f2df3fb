package sqlfunc_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
)

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
