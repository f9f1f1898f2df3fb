package sqlfunc_test

import (
	"fmt"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes/sqlfunc"
)

// BenchmarkPostgresInsert inserts rows in one statement; the server makes the keys.
func BenchmarkPostgresInsert(b *testing.B) {
	for _, key := range []struct{ name, column string }{
		{"none/heap", "id bigint DEFAULT 1"},
		{"bigserial/heap", "id bigserial"},
		{"bigserial/key", "id bigserial PRIMARY KEY"},
		{"snowflake/heap", "id bigint DEFAULT snowflake_next()"},
		{"snowflake/key", "id bigint DEFAULT snowflake_next() PRIMARY KEY"},
		{"mastodon/key", "id bigint DEFAULT status_next() PRIMARY KEY"}, // each ID under the lock
		{"uuid/key", "id uuid DEFAULT gen_random_uuid() PRIMARY KEY"},
	} {
		b.Run(key.name, func(b *testing.B) {
			db := openPostgres(b)
			db.install(b, snowflake.Default(), sqlfunc.WithWorker(1))
			db.install(b, preset("mastodon"), sqlfunc.WithWorker(0), sqlfunc.WithName("status"))
			db.exec(b, "CREATE TABLE events ("+key.column+", n int)")
			b.ResetTimer()
			db.exec(b, fmt.Sprintf("INSERT INTO events (n) SELECT generate_series(1, %d)", b.N))
		})
	}
}

// BenchmarkMariaDBInsert inserts rows in one INSERT ... SELECT.
func BenchmarkMariaDBInsert(b *testing.B) {
	for _, key := range []struct{ name, column, values string }{
		{"AutoIncrement", "BIGINT NOT NULL AUTO_INCREMENT", "NULL"},
		{"UUID", "UUID NOT NULL", "UUID()"},
		{"Next", "BIGINT NOT NULL", "snowflake_next()"},
		{"Trigger", "BIGINT NOT NULL DEFAULT 0", "0"},
	} {
		b.Run(key.name, func(b *testing.B) {
			db := openMariaDB(b)
			f := db.install(b, snowflake.Default(), sqlfunc.WithWorker(1), sqlfunc.WithLead(sqlfunc.MaxLead))
			db.exec(b, "CREATE TABLE t (id "+key.column+" PRIMARY KEY, n INT) ENGINE=InnoDB")
			if key.name == "Trigger" {
				db.trigger(b, f, "t", "id")
			}
			b.ResetTimer()
			db.exec(b, fmt.Sprintf("INSERT INTO t SELECT %s, seq FROM seq_1_to_%d", key.values, b.N))
		})
	}
}
