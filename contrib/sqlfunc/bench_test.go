package sqlfunc_test

import (
	"fmt"
	"testing"

	"github.com/sqlflake/sqlflake/contrib/sqlfunc"
	"github.com/sqlflake/sqlflake/snowflake"
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
