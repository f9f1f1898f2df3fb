package sqlfunc_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes/sqlfunc"
)

// withTable replaces the server's clock by the only row of a table.
func (s server) withTable(tb testing.TB, at time.Time) sqlfunc.Option {
	tb.Helper()
	s.exec(tb, "CREATE TABLE clock (at timestamptz)")
	s.exec(tb, "INSERT INTO clock VALUES ($1)", at)
	return sqlfunc.WithClock(`(SELECT at FROM "` + s.schema + `".clock)`)
}

func (s server) setClock(tb testing.TB, at time.Time) {
	tb.Helper()
	s.exec(tb, "UPDATE clock SET at = $1", at)
}

func TestPostgresNextContinuesWhenTheClockIsSetBack(t *testing.T) {
	for name, layout := range map[string]snowflake.Layout{
		"javascriptsafe": snowflake.MustPreset("javascriptsafe"), "sonyflake": preset("sonyflake"), "mastodon": preset("mastodon"),
		"seconds": preset("seconds"),
	} {
		t.Run(name, func(t *testing.T) {
			db := openPostgres(t)
			start := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
			db.install(t, layout, sqlfunc.WithWorker(0), sqlfunc.WithLead(5*time.Second), db.withTable(t, start))
			var last snowflake.ID
			draw := func(after string) snowflake.ID {
				rows, err := db.QueryContext(t.Context(), "SELECT snowflake_next() FROM generate_series(1, 300)")
				if err != nil {
					t.Fatal(after, err)
				}
				defer rows.Close()
				count := 0
				for ; rows.Next(); count++ {
					var id snowflake.ID
					if err := rows.Scan(&id); err != nil {
						t.Fatal(err)
					}
					if id <= last {
						t.Fatalf("%d after %d, %s", id, last, after)
					}
					last = id
				}
				if rows.Err() != nil || count != 300 {
					t.Fatal(after, count, rows.Err())
				}
				return last
			}
			first := layout.Time(draw("at the start"))
			if first.Before(start) || first.After(start.Add(5*time.Second)) {
				t.Errorf("the time is %v", first)
			}
			for _, back := range []time.Duration{time.Millisecond, time.Second, 3 * time.Second} {
				db.setClock(t, start.Add(-back))
				if at := layout.Time(draw("set back")); at.Before(first) {
					t.Errorf("after %v back, the time is %v, before it was %v", back, at, first)
				}
			}
			db.setClock(t, start.Add(-time.Hour))
			_, err := db.ExecContext(t.Context(), "SELECT snowflake_next()")
			if sqlState(err) != "55000" || !strings.Contains(err.Error(), "snowflake_next: the IDs are 360") ||
				!strings.Contains(err.Error(), "5s is the lead") {
				t.Errorf("an hour back: %v", err)
			}
			db.setClock(t, start.Add(time.Hour))
			if at := layout.Time(draw("when it is right again")); at.Before(start.Add(time.Hour)) {
				t.Errorf("the time is %v", at)
			}
		})
	}
}

func TestPostgresNextWaitsAtMostASecond(t *testing.T) {
	db := openPostgres(t)
	layout := snowflake.Default()
	db.install(t, layout, sqlfunc.WithWorker(1), sqlfunc.WithLead(0))
	db.exec(t, "SELECT setval('snowflake_state', snowflake_word + (300::bigint << 19)) "+
		"FROM (SELECT last_value AS snowflake_word FROM snowflake_state, (SELECT snowflake_next()) AS first) AS now")
	var id snowflake.ID
	var after time.Time
	if err := db.QueryRowContext(t.Context(), "SELECT snowflake_next(), clock_timestamp()").Scan(&id, &after); err != nil {
		t.Fatal(err)
	}
	if layout.Time(id).After(after) {
		t.Errorf("the ID is of %v, at %v", layout.Time(id), after)
	}
}

func TestPostgresNextEndsWithTheLayout(t *testing.T) {
	db := openPostgres(t)
	layout, err := snowflake.ParseLayout("epoch=2026-01-01T00:00:00Z tick=1s time:8 worker:4 sequence:2")
	if err != nil {
		t.Fatal(err)
	}
	db.install(t, layout, sqlfunc.WithWorker(3), db.withTable(t, layout.End().Add(-time.Nanosecond-time.Microsecond)))
	last := snowflake.ID(0)
	for range 4 {
		id := scan[snowflake.ID](t, db, "SELECT snowflake_next()")
		if id <= last || layout.Validate(id) != nil {
			t.Fatalf("%d after %d", id, last)
		}
		last = id
	}
	if parts := layout.Decompose(last); parts.Sequence != 3 || !parts.Time.Equal(layout.End().Add(-time.Second)) {
		t.Errorf("the last is %v", parts)
	}
	for name, at := range map[string]time.Time{
		"the numbers are used up": layout.End().Add(-time.Second),
		"at the end":              layout.End(),
		"a century later":         layout.End().AddDate(100, 0, 0),
	} {
		db.setClock(t, at)
		_, err := db.ExecContext(t.Context(), "SELECT snowflake_next()")
		if sqlState(err) != "2200H" || !strings.Contains(err.Error(), "it ends at 2026-01-01 00:04:16 UTC") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPostgresNextDoesNotStartBeforeTheEpoch(t *testing.T) {
	db := openPostgres(t)
	layout := snowflake.Default()
	db.install(t, layout, sqlfunc.WithWorker(0), db.withTable(t, layout.Epoch().Add(-time.Microsecond)))
	_, err := db.ExecContext(t.Context(), "SELECT snowflake_next()")
	if sqlState(err) != "55000" || !strings.Contains(err.Error(), "before the epoch, 2025-01-01 00:00:00 UTC") {
		t.Errorf("error %v", err)
	}
	db.setClock(t, layout.Epoch())
	if id := scan[snowflake.ID](t, db, "SELECT snowflake_next()"); id <= 0 {
		t.Errorf("the first ID is %d, 0 means none", id)
	}
}

// Calls of nextval past the last sequence number use up the guard, which lasts for one call of each session. Waiting
// calls use nothing of it.
func TestPostgresNextDoesNotUseUpTheGuardWhileItWaits(t *testing.T) {
	db := openPostgres(t)
	layout := snowflake.Default()
	db.install(t, layout, sqlfunc.WithWorker(1), sqlfunc.WithLead(0), db.withTable(t, layout.Epoch().Add(time.Hour)))
	const full = "(3600000::bigint << 19) + 4095"
	db.exec(t, "SELECT setval('snowflake_state', "+full+")")
	conn := db.settings(t, "statement_timeout = 10")
	for range 3 {
		if _, err := conn.ExecContext(t.Context(), "SELECT snowflake_next()"); sqlState(err) != "57014" {
			t.Errorf("error %v, want 57014, query_canceled: the clock stands still", err)
		}
	}
	if got := scan[int64](t, db, "SELECT last_value - ("+full+") FROM snowflake_state"); got != 0 {
		t.Errorf("%d numbers were drawn", got)
	}
}
