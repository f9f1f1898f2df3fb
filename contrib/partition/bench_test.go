package partition_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/testdb"
)

// BenchmarkLookup finds rows by their ID in one table, in partitions by the key, and in partitions by a time, whose key
// is (id, made): of those a lookup by ID reads all. The table has 20 rows for each of 120 hours.
func BenchmarkLookup(b *testing.B) {
	db := testdb.Postgres(b).Open(b)
	exec := func(query string, args ...any) {
		if _, err := db.ExecContext(b.Context(), query, args...); err != nil {
			b.Fatal(err)
		}
	}
	const hours, rows = 120, 20
	at := func(hour float64) time.Time {
		return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(hour * float64(time.Hour)))
	}
	for _, c := range []struct {
		parts   int
		by, key string
	}{{1, "id", "id"}, {120, "id", "id"}, {120, "made", "id, made"}} {
		b.Run(fmt.Sprintf("by=%s/partitions=%d", c.by, c.parts), func(b *testing.B) {
			create := "CREATE TABLE looked_up (id bigint, made timestamptz, PRIMARY KEY (" + c.key + "))"
			if c.parts > 1 {
				create += " PARTITION BY RANGE (" + c.by + ")"
			}
			exec("DROP TABLE IF EXISTS looked_up")
			exec(create)
			for i := 0; i < c.parts && c.parts > 1; i++ {
				from, to := at(float64(hours*i/c.parts)), at(float64(hours*(i+1)/c.parts))
				bounds := fmt.Sprintf("FROM (%d) TO (%d)", idAt(from), idAt(to))
				if c.by == "made" {
					bounds = fmt.Sprintf("FROM ('%s') TO ('%s')", from.Format(time.RFC3339), to.Format(time.RFC3339))
				}
				exec(fmt.Sprintf("CREATE TABLE looked_up_%d PARTITION OF looked_up FOR VALUES %s", i, bounds))
			}
			var ids []int64
			for i := range hours * rows {
				made := at(float64(i) / rows)
				ids = append(ids, int64(idAt(made)))
				exec("INSERT INTO looked_up VALUES ($1, $2)", ids[i], made)
			}
			for b.Loop() {
				var made time.Time
				err := db.QueryRowContext(b.Context(), "SELECT made FROM looked_up WHERE id = $1", ids[rand.IntN(len(ids))]).Scan(&made)
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
