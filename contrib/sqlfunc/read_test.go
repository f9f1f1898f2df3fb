package sqlfunc_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/contrib/sqlfunc"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

const timeForm = "2006-01-02 15:04:05.000000"

// holds reports whether the database has the time: PostgreSQL counts microseconds from the epoch in 63 bits, and the
// others have the years 1 to 9999.
func (s server) holds(layout snowflake.Layout, at time.Time) bool {
	if s.dialect == sqldb.Postgres {
		return at.Year() < 294276 && at.Unix()-layout.Epoch().Unix() < math.MaxInt64/1_000_000
	}
	return at.Year() >= 1 && at.Year() <= 9999
}

// reader compares functions with Go.
type reader struct {
	server
	layout snowflake.Layout
	read   string // the query for the time and the fields of an ID, as text and JSON
	least  string // the query for the smallest ID of a time
}

func (s server) reader(layout snowflake.Layout, name string) reader {
	if s.dialect == sqldb.MySQL {
		return reader{
			s, layout,
			fmt.Sprintf("SELECT CAST(%[1]s_time(id) AS CHAR), %[1]s_parts(id) FROM (SELECT CAST(? AS SIGNED) AS id) AS one", name),
			fmt.Sprintf("SELECT %s_min(?)", name),
		}
	}

	var fields []string
	for _, field := range layout.Fields() { // of the two parts of a time the second one replaces the first
		value := fmt.Sprintf("p.%q", field.Name)
		if field.Name == snowflake.FieldTime {
			value = `to_char(p.time AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`
		}
		fields = append(fields, fmt.Sprintf("'%s', %s", field.Name, value))
	}

	return reader{
		s, layout,
		fmt.Sprintf(`SELECT to_char(%[1]s_time($1) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US'), json_build_object(%[2]s)::text
			FROM %[1]s_parts($1) AS p`, name, strings.Join(fields, ", ")),
		fmt.Sprintf("SELECT %s_min(($1::text || '+00')::timestamptz)", name),
	}
}

func TestFunctionsReadIDsAsGoDoes(t *testing.T) {
	eachServer(t, func(t *testing.T, s server) {
		for name, layout := range layouts(t, 12) {
			t.Run(name, func(t *testing.T) {
				s.install(t, layout, sqlfunc.WithName(name))
				r := s.reader(layout, name)
				r.compareIDs(t, s, idsOf(layout, 60))
				r.compareTimes(t, s, timesOf(layout, 40))
			})
		}
	})
}

// rowReader is a pool or a connection.
type rowReader interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func (r reader) compareIDs(t *testing.T, db rowReader, ids []int64) {
	t.Helper()
	for _, id := range ids {
		var text, parts string
		err := db.QueryRowContext(t.Context(), r.read, id).Scan(&text, &parts)
		at := r.layout.Time(snowflake.ID(id))
		switch {
		case !r.holds(r.layout, at):
			if err == nil || r.dialect != sqldb.Postgres && !strings.Contains(err.Error(), "after the year 9999") {
				t.Errorf("%d is of %s, %v, want an error: Go says %s", id, text, err, at)
			}
		case err != nil || text != floor(at).Format(timeForm):
			t.Fatalf("the time of %d is %s, %v, in Go %s", id, text, err, at)
		default:
			checkParts(t, parts, r.layout, snowflake.ID(id))
		}
	}
}

// compareTimes compares the smallest IDs of times.
func (r reader) compareTimes(t *testing.T, db rowReader, times []time.Time) {
	t.Helper()
	isOrdered := r.layout.Fields()[0].Name == snowflake.FieldTime
	for _, at := range times {
		if !r.holds(r.layout, at) {
			continue
		}

		want, wantErr := r.layout.MinAt(at)
		var got snowflake.ID
		err := db.QueryRowContext(t.Context(), r.least, at.Format(timeForm)).Scan(&got)
		switch {
		case !isOrdered:
			if err == nil {
				t.Fatal("there is a minimum, and the time is not the highest field")
			}
		case wantErr != nil:
			r.failed(t, at.String(), err, "22008", "_min: ")
		case got != want || err != nil:
			t.Errorf("the least ID at %s is %d, %v, in Go %d", at, got, err, want)
		}
	}
}

func floor(at time.Time) time.Time { return at.Add(-time.Duration(at.Nanosecond() % 1000)) }

// checkParts compares an object with the fields of an ID.
func checkParts(t *testing.T, text string, layout snowflake.Layout, id snowflake.ID) {
	t.Helper()
	var got map[string]any
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	must(t, decoder.Decode(&got), text)
	want := map[string]any{}
	for _, field := range layout.Fields() {
		number, err := layout.Field(id, field.Name)
		must(t, err)
		want[field.Name] = json.Number(strconv.FormatInt(number, 10))
	}

	want[snowflake.FieldTime] = floor(layout.Time(id)).Format("2006-01-02T15:04:05.000000Z")
	if !maps.Equal(got, want) {
		t.Errorf("the fields of %d are %v, in Go %v", id, got, want)
	}
}

func TestFunctionsTakeNULLAndRefuseOtherArguments(t *testing.T) {
	invalid := map[sqldb.Dialect][]string{sqldb.MySQL: {
		"time('12x')", "parts('x')", "time(99999999999999999999)", "min('x')", "min('2026-02-30')", "min('0000-00-00')",
	}}

	eachServer(t, func(t *testing.T, s server) {
		s.install(t, snowflake.Default())
		for _, name := range []string{"time", "parts", "min"} {
			wantValue(t, s, true, "SELECT snowflake_"+name+"(NULL) IS NULL")
		}
		for _, call := range invalid[s.dialect] {
			var got sql.NullString
			if err := s.QueryRowContext(t.Context(), "SELECT snowflake_"+call).Scan(&got); err == nil {
				t.Errorf("%s is %v, want an error", call, got)
			}
		}
	})
}

// A long name does not cut the message.
func TestErrorsNameTheLimit(t *testing.T) {
	eachServer(t, func(t *testing.T, s server) {
		layout := parse(t, "epoch=1970-01-01T00:00:01.123456789Z tick=1.001us time:52 sequence:8")
		name := strings.Repeat("n", 48)
		install := func(at time.Time) {
			s.install(t, layout, sqlfunc.WithName(name), s.worker(0), sqlfunc.WithLead(sqlfunc.MaxLead-1), s.at(at))
		}

		install(layout.End().Add(-time.Hour))
		if s.dialect == sqldb.Postgres {
			scan[snowflake.ID](t, s, "SELECT "+name+"_next()")
			install(layout.Epoch().Add(time.Hour))
			s.fails(t, s, "SELECT "+name+"_next()", "55000", "23h59m59.999999999s is the lead")
		}

		limits := map[string]string{
			"0001-01-01 00:00:00.123456": "is before the epoch, 1970-01-01 00:00:01.12345",
			"9999-01-01 00:00:00.123456": "is not before the end, 2112-11-09 02:53:48.12132",
		}

		if s.dialect == sqldb.Postgres {
			limits["-infinity"], limits["infinity"] = "_min: -infinity is before the epoch", "_min: infinity is not before the end"
		}

		for at, want := range limits {
			s.fails(t, s, "SELECT "+name+"_min('"+at+"')", "22008", want)
		}
	})
}

// PostgreSQL has times that are later than what 63 bits of microseconds can reach.
func TestPostgresTimesBeyondMicrosecondsAreErrors(t *testing.T) {
	db := openPostgres(t)
	layout := parse(t, "epoch=1730-01-01T00:00:00Z tick=1s time:44 sequence:1")
	db.install(t, layout)
	const last = math.MaxInt64 / 1_000_000 // seconds
	want := layout.Time(last << 1)
	if at := scan[time.Time](t, db, "SELECT snowflake_time($1)", int64(last<<1)); !at.Equal(want) || at.Year() != 294007 {
		t.Errorf("the last time is %v, want %v", at, want)
	}
	db.fails(t, db, fmt.Sprintf("SELECT snowflake_time(%d)", (last+1)<<1), "22003", "")
}

// A range of the key uses its index, and the time can be indexed too.
func TestPostgresRangeOfTimeUsesThePrimaryKey(t *testing.T) {
	db := openPostgres(t)
	db.install(t, snowflake.Default(), sqlfunc.WithWorker(1))
	db.exec(t, "CREATE TABLE events (id bigint PRIMARY KEY DEFAULT snowflake_next())",
		"INSERT INTO events SELECT FROM generate_series(1, 5000)",
		"CREATE INDEX by_time ON events (snowflake_time(id))", "ANALYZE events")

	for query, want := range map[string]string{
		"SELECT * FROM events WHERE id >= snowflake_min('2094-01-01')":            "Index Cond: (id >= '",
		"SELECT count(*) FROM events WHERE snowflake_time(id) >= '2094-01-01'":    "by_time",
		"SELECT * FROM events WHERE id BETWEEN snowflake_min('2093-01-01') AND 5": "events_pkey",
	} {
		if plan := strings.Join(scanAll[string](t, db, "EXPLAIN "+query), "\n"); !strings.Contains(plan, want) {
			t.Errorf("%s: no %q in\n%s", query, want, plan)
		}
	}
}
