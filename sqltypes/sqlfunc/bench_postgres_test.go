package sqlfunc_test

import (
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes/sqlfunc"
)

// BenchmarkPostgresInsert inserts rows in one statement; the server makes the keys.
func BenchmarkPostgresInsert(b *testing.B) {
	for _, key := range []struct{ name, column string }{
		{"none", "id bigint DEFAULT 1"},
		{"bigserial", "id bigserial"},
		{"snowflake", "id bigint DEFAULT snowflake_next()"},
		{"mastodon", "id bigint DEFAULT status_next()"}, // each ID under the lock
		{"uuid", "id uuid DEFAULT gen_random_uuid()"},
	} {
		for kind, constraint := range map[string]string{"heap": "", "key": " PRIMARY KEY"} {
			if key.name == "none" && kind == "key" {
				continue
			}
			b.Run(key.name+"/"+kind, func(b *testing.B) {
				db := openPostgres(b)
				db.install(b, snowflake.Default(), sqlfunc.WithWorker(1))
				db.install(b, preset("mastodon"), sqlfunc.WithWorker(0), sqlfunc.WithName("status"))
				db.exec(b, "CREATE TABLE events ("+key.column+constraint+", n int)")
				b.ResetTimer()
				db.exec(b, "INSERT INTO events (n) SELECT generate_series(1, $1::int)", b.N)
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
			})
		}
	}
}

// BenchmarkPostgresRead reads the time of IDs.
func BenchmarkPostgresRead(b *testing.B) {
	for _, call := range []string{"id", "snowflake_time(id)", "(snowflake_parts(id)).worker"} {
		b.Run(call, func(b *testing.B) {
			db := openPostgres(b)
			db.install(b, snowflake.Default())
			b.ResetTimer()
			db.exec(b, "SELECT count("+call+") FROM generate_series(1::bigint, $1::bigint) AS ids(id)", b.N)
		})
	}
}
