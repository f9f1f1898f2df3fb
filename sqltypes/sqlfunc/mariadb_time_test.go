package sqlfunc_test

import (
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes/sqlfunc"
)

// The time comes from a UUID, which counts from 1582. It must lie between two readings of the server's clock.
func TestMariaDBIDsHaveTheTimeOfTheServersClock(t *testing.T) {
	db := openMariaDB(t)
	layout := snowflake.Default()
	db.installMariaDB(t, layout, sqlfunc.WithWorker(1))
	conn := db.settings(t)
	if _, err := conn.ExecContext(t.Context(), "SET time_zone = '+00:00'"); err != nil {
		t.Fatal(err)
	}
	const clock = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6))"
	for range 50 {
		var before, after int64
		var id snowflake.ID
		row := conn.QueryRowContext(t.Context(), "SELECT "+clock+", snowflake_next(), "+clock)
		if err := row.Scan(&before, &id, &after); err != nil {
			t.Fatal(err)
		}
		const slack = 10 * time.Millisecond // IDs have whole milliseconds, and UUIDs advance while the clock stands still
		from, to := time.UnixMicro(before).Add(-slack), time.UnixMicro(after).Add(slack)
		if at := layout.Time(id); at.Before(from) || at.After(to) {
			t.Fatalf("an ID of %s, made between %s and %s", at.UTC(), from.UTC(), to.UTC())
		}
	}
}
