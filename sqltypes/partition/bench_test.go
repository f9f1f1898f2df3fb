package partition_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
)

// BenchmarkLookup finds rows by their ID in one table, in partitions by the key, and in partitions by a time, whose key
// is (id, made): of those a lookup by ID reads all.
func BenchmarkLookup(b *testing.B) {
	db := testdb.Postgres(b).Open(b)
	for _, parts := range []int{1, 12, 120} {
		for _, by := range []string{"id", "made"} {
			if parts == 1 && by == "made" {
				continue
			}
			b.Run(fmt.Sprintf("by=%s/partitions=%d", by, parts), func(b *testing.B) { lookUp(b, db, by, parts) })
		}
	}
}

// lookUp measures lookups in a table with 20 rows for each of 120 hours.
func lookUp(b *testing.B, db *sql.DB, by string, parts int) {
	const hours, rows = 120, 20
	layout, start := snowflake.Default(), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	bound := func(hour int) any {
		at := start.Add(time.Duration(hour) * time.Hour)
		if by == "made" {
			return at.Format("'2006-01-02 15:04:05Z'")
		}
		id, err := layout.MinAt(at)
		if err != nil {
			b.Fatal(err)
		}
		return int64(id)
	}
	statements := []string{"DROP TABLE IF EXISTS looked_up", "CREATE TABLE looked_up (id bigint, made timestamptz, PRIMARY KEY (id))"}
	if parts > 1 {
		key := map[string]string{"id": "id", "made": "id, made"}[by]
		statements[1] = "CREATE TABLE looked_up (id bigint, made timestamptz, PRIMARY KEY (" + key + ")) PARTITION BY RANGE (" + by + ")"
		for i := range parts {
			statements = append(statements, fmt.Sprintf("CREATE TABLE looked_up_%d PARTITION OF looked_up FOR VALUES FROM (%v) TO (%v)",
				i, bound(hours*i/parts), bound(hours*(i+1)/parts)))
		}
	}
	for _, text := range statements {
		if _, err := db.ExecContext(b.Context(), text); err != nil {
			b.Fatal(err)
		}
	}
	ids := make([]int64, 0, hours*rows)
	for i := range hours * rows {
		made := start.Add(time.Duration(i) * time.Hour / rows)
		id, err := layout.MinAt(made)
		if err == nil {
			_, err = db.ExecContext(b.Context(), "INSERT INTO looked_up VALUES ($1, $2)", int64(id), made)
		}
		if err != nil {
			b.Fatal(err)
		}
		ids = append(ids, int64(id))
	}
	for b.Loop() {
		var made time.Time
		err := db.QueryRowContext(b.Context(), "SELECT made FROM looked_up WHERE id = $1", ids[rand.IntN(len(ids))]).Scan(&made)
		if err != nil {
			b.Fatal(err)
		}
	}
}
