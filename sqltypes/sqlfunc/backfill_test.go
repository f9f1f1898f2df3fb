package sqlfunc_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
	"github.com/sqlflake/sqlflake/sqltypes/sqlfunc"
)

// column is a type of the time, and how its values are written.
type column struct {
	kind, format string
	settings     []string // of the session
	resolution   time.Duration
}

// columns are the types of a database, each with a session in a time zone.
var columns = map[string][]column{
	"postgres": {
		{"timestamptz", "2006-01-02 15:04:05.000000-07:00", []string{"TimeZone = 'Asia/Kathmandu'"}, time.Microsecond},
		{"timestamp", "2006-01-02 15:04:05.000000", []string{"TimeZone = 'America/New_York'"}, time.Microsecond},
		{"timestamptz(3)", "2006-01-02T15:04:05.000Z", nil, time.Millisecond},
	},
	"mariadb": {
		{"datetime(6)", "2006-01-02 15:04:05.000000", []string{"time_zone = '+05:45'"}, time.Microsecond},
		{"timestamp(6) NULL", "2006-01-02 15:04:05.000000", []string{"time_zone = '-05:00'"}, time.Microsecond},
		{"timestamp(3) NULL", "2006-01-02 15:04:05.000", []string{"time_zone = '+00:00'", "sql_mode = 'ANSI_QUOTES'"}, time.Millisecond},
	},
	"sqlite": {
		{"datetime", "2006-01-02 15:04:05.999999999-07:00", nil, 1}, // as the driver of GORM
		{"text", "2006-01-02T15:04:05.999Z07:00", nil, time.Millisecond},
		{"datetime", "2006-01-02 15:04:05.999999999", nil, 1},
	},
}

// eachDatabase runs a test on all databases.
func eachDatabase(t *testing.T, test func(t *testing.T, s server, name string)) {
	t.Helper()
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		s := server{DB: target.Open(t), dialect: sqldb.Dialect(target.Name)}
		if target.Name == "mariadb" {
			s.dialect = sqldb.MySQL
		}
		test(t, s, target.Name)
	})
}

// timed is a row of the table "old rows".
type timed struct {
	key int64
	at  time.Time
}

// oldRows creates the table with rows.
func (s server) oldRows(tb testing.TB, db sqldb.DB, c column, rows []timed) {
	tb.Helper()
	quote := func(name string) string {
		if s.dialect == sqldb.MySQL {
			return "`" + name + "`"
		}
		return `"` + name + `"`
	}
	table := quote("old rows")
	execOn(tb, db, "DROP TABLE IF EXISTS "+table,
		"CREATE TABLE "+table+" ("+quote("Key")+" bigint, "+quote("made at")+" "+c.kind+")")
	zones := []*time.Location{time.UTC, time.FixedZone("", 5*3600+45*60), time.FixedZone("", -11*3600)}
	session := time.UTC
	if strings.HasPrefix(c.kind, "timestamp(6) NULL") {
		session = time.FixedZone("", -5*3600) // of the server's conversion
	}
	for chunk := range slices.Chunk(rows, 5000) {
		var values []string
		for i, row := range chunk {
			at := row.at.In(session)
			if strings.Contains(c.format, "07:00") {
				at = row.at.In(zones[i%len(zones)])
			}
			values = append(values, fmt.Sprintf("(%d, '%s')", row.key, at.Format(c.format)))
		}
		execOn(tb, db, "INSERT INTO "+table+" VALUES "+strings.Join(values, ","))
	}
}

var oldRows = sqlfunc.BackfillRows{Table: "old rows", Key: "Key", Time: "made at"}

// wantTwin checks that the database makes the IDs of snowflake.Backfill.
func (s server) wantTwin(t *testing.T, db sqldb.DB, layout snowflake.Layout, worker int64, rows []timed) {
	t.Helper()
	core, err := snowflake.NewBackfill(worker, snowflake.WithLayout(layout))
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(rows, func(a, b timed) int {
		if order := a.at.Compare(b.at); order != 0 {
			return order
		}
		return int(a.key - b.key)
	})
	want := make(map[int64]snowflake.ID)
	for _, row := range rows {
		id, err := core.Next(row.at)
		if err != nil {
			t.Fatalf("%s: %v", layout, err)
		}
		want[row.key] = id
	}
	twin, err := s.functions(t, layout, sqlfunc.WithWorker(worker)).Backfill(s.dialect, oldRows)
	if err != nil {
		t.Fatal(err)
	}
	if err := twin.Check(t.Context(), db); err != nil {
		t.Fatalf("%s: %v", layout, err)
	}
	found, err := db.QueryContext(t.Context(), twin.Select())
	if err != nil {
		t.Fatalf("%s: %v", layout, err)
	}
	defer found.Close()
	n := 0
	for ; found.Next(); n++ {
		var key int64
		var id snowflake.ID
		if err := found.Scan(&key, &id); err != nil {
			t.Fatal(err)
		}
		if id != want[key] {
			t.Fatalf("%s: row %d has %d (%s), want %d (%s)", layout, key, id, layout.Decompose(id), want[key], layout.Decompose(want[key]))
		}
	}
	if err := found.Err(); err != nil || n != len(rows) {
		t.Fatalf("%s: %d rows, want %d: %v", layout, n, len(rows), err)
	}
}

// recent is the layout with an epoch of the last decades, so that now is inside.
func recent(tb testing.TB, layout snowflake.Layout) (snowflake.Layout, time.Duration) {
	tb.Helper()
	span := min(layout.End().Sub(layout.Epoch())/2, 40*365*24*time.Hour)
	moved, err := snowflake.NewLayout(time.Now().Add(-span).Add(time.Duration(rand.IntN(1e9))), layout.Tick(), layout.Fields()...)
	if err != nil {
		tb.Fatal(err)
	}
	return moved, span
}

func TestBackfillIsThatOfGo(t *testing.T) {
	var tried []snowflake.Layout
	for _, name := range []string{"clustered", "sonyflake", "twitter", "seconds", "wide"} {
		tried = append(tried, preset(name))
	}
	tried = append(tried, parse(t, "epoch=2001-01-01T00:00:00Z tick=1.000001ms shard:3 time:20 worker:5 sequence:2 time:23 kind:1"),
		parse(t, "epoch=1969-12-31T23:59:59.123456789Z tick=1.5µs time:52 worker:3 sequence:8"))
	for len(tried) < 7+few(20) {
		if layout := randomLayout(); layout.WorkerField() != "" && layout.End().Sub(layout.Epoch()) > time.Hour {
			tried = append(tried, layout)
		}
	}
	eachDatabase(t, func(t *testing.T, s server, name string) {
		for i, layout := range tried {
			c := columns[name][i%len(columns[name])]
			layout, span := recent(t, layout)
			var rows []timed
			for key := range int64(300) {
				at := time.Now().Add(-time.Duration(rand.Int64N(int64(span-time.Minute))) - 30*time.Second)
				if key%3 > 0 { // beside the last one
					at = rows[key-1].at.Add(time.Duration(rand.Int64N(int64(2 * layout.Tick()))))
				}
				if key%10 == 0 {
					at = at.Truncate(time.Second).Add(-1) // 0.999999999
				}
				if floor := layout.Epoch().Add(c.resolution); at.Before(floor) {
					at = floor
				}
				rows = append(rows, timed{key*7%300 - 5, time.Unix(0, at.UnixNano()/int64(c.resolution)*int64(c.resolution))})
			}
			conn := s.conn(t, c.settings...)
			s.oldRows(t, conn, c, rows)
			s.wantTwin(t, conn, layout, rand.Int64N(layout.MaxWorker()+1), rows)
			_ = conn.Close()
		}
	})
}

func TestBackfillOfManyRowsInOneMillisecond(t *testing.T) {
	eachDatabase(t, func(t *testing.T, s server, name string) {
		start := time.Now().Add(-time.Hour).Truncate(time.Millisecond)
		var rows []timed
		for key := range int64(100_000 + 50) {
			rows = append(rows, timed{key, start.Add(time.Duration(max(0, key-100_000)) * time.Millisecond)})
		}
		s.oldRows(t, s, columns[name][0], rows)
		s.wantTwin(t, s, snowflake.Default(), 1023, rows)
	})
}

func TestBackfillRejectsAColumnThatDoesNotExist(t *testing.T) {
	eachDatabase(t, func(t *testing.T, s server, name string) {
		s.oldRows(t, s, columns[name][0], []timed{{5, time.Now().Add(-time.Hour)}})
		for _, key := range []string{"nope", ""} { // SQLite takes the first one for a text
			twin, err := s.functions(t, snowflake.Default(), sqlfunc.WithWorker(7)).
				Backfill(s.dialect, sqlfunc.BackfillRows{Table: "old rows", Key: key, Time: "made at"})
			if err == nil {
				err = twin.Check(t.Context(), s)
			}
			if err == nil {
				t.Errorf("key %q: no error", key)
			}
		}
	})
}

func TestBackfillNamesTheRowThatCannotHaveAnID(t *testing.T) {
	eachDatabase(t, func(t *testing.T, s server, name string) {
		c := columns[name][0]
		ok := time.Now().Add(-time.Hour)
		narrow := parse(t, "epoch=2025-01-01T00:00:00Z tick=1s time:40 worker:3 sequence:1")
		hour := time.Now().Add(-30 * time.Minute).Truncate(time.Second) // the start of a tick that does not end meanwhile
		hours := parse(t, "epoch="+hour.AddDate(-1, 0, 0).UTC().Format(time.RFC3339)+" tick=1h time:40 worker:3 sequence:1")
		f := func(layout snowflake.Layout) *sqlfunc.Backfill {
			twin, err := s.functions(t, layout, sqlfunc.WithWorker(7)).Backfill(s.dialect, oldRows)
			if err != nil {
				t.Fatal(err)
			}
			return twin
		}
		many := func(n int, at time.Time) (rows []timed) {
			for key := range int64(n) {
				rows = append(rows, timed{key, at})
			}
			return rows
		}
		quote := func(text string) string {
			if s.dialect == sqldb.MySQL {
				return strings.ReplaceAll(text, `"`, "`")
			}
			return text
		}
		for what, test := range map[string]struct {
			layout snowflake.Layout
			rows   []timed
			change string
			want   error
			text   string
		}{
			"crowded":        {narrow, many(2*3601+1, ok.Add(-24*time.Hour)), "", snowflake.ErrCrowded, "1h0m0s"},
			"not crowded":    {narrow, many(2*3601, ok.Add(-24*time.Hour)), "", nil, ""},
			"early":          {snowflake.Default(), []timed{{5, ok}, {6, time.Date(2024, 12, 31, 23, 59, 59, 999e6, time.UTC)}}, "", snowflake.ErrBeforeEpoch, "2025-01-01T00:00:00Z"},
			"late":           {snowflake.Default(), []timed{{5, ok}, {6, time.Now().Add(time.Hour)}}, "", snowflake.ErrNotPast, "from before "},
			"far off":        {snowflake.Default(), []timed{{6, time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)}}, "", snowflake.ErrNotPast, "9999-"},
			"pushed 1":       {hours, many(2, hour.Add(-time.Second)), "", nil, ""},
			"pushed 2":       {hours, many(3, hour.Add(-time.Second)), "", snowflake.ErrNotPast, `Key "2"`},
			"pushed":         {narrow, many(2*1200, time.Now().Add(-10*time.Minute)), "", snowflake.ErrNotPast, "from before "},
			"without a time": {snowflake.Default(), []timed{{5, ok}, {6, ok}}, `UPDATE "old rows" SET "made at" = NULL WHERE "Key" = 6`, sqlfunc.ErrNoTime, "NULL"},
			"without a key":  {snowflake.Default(), []timed{{5, ok}, {6, ok}}, `UPDATE "old rows" SET "Key" = NULL WHERE "Key" = 6`, sqlfunc.ErrNoTime, `Key "NULL"`},
			"no rows":        {snowflake.Default(), nil, "", nil, ""},
		} {
			s.oldRows(t, s, c, test.rows)
			if test.change != "" {
				s.exec(t, quote(test.change))
			}
			twin := f(test.layout)
			s.SetMaxIdleConns(0) // new sessions, in which the variable of MariaDB is not set
			err := twin.Check(t.Context(), s)
			if !errors.Is(err, test.want) || test.want != nil && (!strings.Contains(err.Error(), test.text) || !strings.Contains(err.Error(), "old rows")) {
				t.Errorf("%s: %v, want %v with %q", what, err, test.want, test.text)
			}
			wantNoKey(t, s, what, twin, test.want != nil)
		}
	})
}

// wantNoKey checks that the SELECT stores no key of 0 without Check either, in the laxest mode of MySQL.
func wantNoKey(t *testing.T, s server, what string, twin *sqlfunc.Backfill, refused bool) {
	t.Helper()
	var mode []string
	if s.dialect == sqldb.MySQL {
		mode = []string{"sql_mode = ''"}
	}
	conn := s.conn(t, mode...)
	defer func() { _ = conn.Close() }()
	execOn(t, conn, "DROP TABLE IF EXISTS new_keys", "CREATE TABLE new_keys (old bigint, id bigint NOT NULL)")
	_, err := conn.ExecContext(t.Context(), "INSERT INTO new_keys "+twin.Select())
	if err == nil == refused {
		t.Errorf("%s: INSERT: error %v, want one: %t", what, err, refused)
	}
	if n := scan[int](t, s, "SELECT count(*) FROM new_keys WHERE id <= 0"); n > 0 {
		t.Errorf("%s: %d keys of 0", what, n)
	}
	if s.dialect == sqldb.MySQL && !refused { // a table that takes its types from the SELECT
		execOn(t, conn, "DROP TABLE new_keys", "CREATE TABLE new_keys AS "+twin.Select())
		const kind = "SELECT data_type FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'new_keys' AND column_name = 'id'"
		if got := scan[string](t, s, kind); got != "bigint" {
			t.Errorf("%s: the ID is a %s", what, got)
		}
	}
}

func TestBackfillReadsNothingElseAsATime(t *testing.T) {
	const temporary = "TEMPORARY"
	noTimes := map[string][][]string{ // the type of the column, the value, and what the table is
		"sqlite": {
			{"datetime", "'2026-02-30 00:00:00'"},
			{"datetime", "'2023-02-29 01:02:03'"},
			{"datetime", "'2026-01-02 24:30:00'"},
			{"datetime", "'2026-01-02T'"},
			{"datetime", "'2026-01-02    03:04:05.125'"},
			{"text", "'2026-01-02 03:04:05' || char(0) || 'x'"},
			{"datetime", "1767322800"},
		},
		"mariadb": {
			{"varchar(40)", "'2026-01-02 03:04:05+05:30'"},
			{"bigint", "1112000000"},
			{"time", "'12:00'"},
			{"year", "2026"},
			{"datetime", "'0000-00-00'"},
			{"date", "'2026-00-00'"},
			{"timestamp NULL", "'0000-00-00'"},
			{"timestamp NULL", "'2026-01-02 03:04:05'", temporary},
		},
		"postgres": {{"interval", "'36 years'"}, {"time", "'12:00'"}, {"text", "'2026-01-02'"}, {"bigint", "1112000000"}},
	}
	layout := parse(t, "epoch=1970-01-01T00:00:00Z tick=1ms time:42 worker:10 sequence:11")
	eachDatabase(t, func(t *testing.T, s server, name string) {
		var settings []string
		if s.dialect == sqldb.MySQL {
			settings = []string{"sql_mode = 'ANSI_QUOTES'"}
		}
		conn := s.conn(t, settings...)
		for _, v := range noTimes[name] {
			execOn(t, conn, `DROP TABLE IF EXISTS "old rows"`, "CREATE "+strings.Join(v[2:], "")+` TABLE "old rows" ("Key" bigint, "made at" `+
				v[0]+")", `INSERT INTO "old rows" VALUES (5, `+v[1]+")")
			twin, err := s.functions(t, layout, sqlfunc.WithWorker(7)).Backfill(s.dialect, oldRows)
			if err != nil {
				t.Fatal(err)
			}
			err = twin.Check(t.Context(), conn)
			if err == nil || name != "postgres" && !errors.Is(err, sqlfunc.ErrNoTime) || !strings.Contains(err.Error(), "made at") {
				t.Errorf("%s: %v, want ErrNoTime", v, err)
			}
		}
	})
}
