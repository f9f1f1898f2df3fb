package sqlfunc_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes/sqlfunc"
)

// lastPostgresYear is the last complete year of PostgreSQL's timestamps.
const lastPostgresYear = 294275

// postgresHas reports whether the time is in the range of timestamps and of microseconds from the epoch.
func postgresHas(layout snowflake.Layout, at time.Time) bool {
	return at.Year() <= lastPostgresYear && at.Unix()-layout.Epoch().Unix() < math.MaxInt64/1_000_000
}

func TestPostgresReadsIDsAsGoDoes(t *testing.T) {
	db := openPostgres(t)
	for name, layout := range layouts(t, 30) {
		t.Run(name, func(t *testing.T) {
			db.install(t, layout, sqlfunc.WithName(name))
			var ids []int64
			for _, id := range idsOf(t, layout, 200) {
				if postgresHas(layout, layout.Time(snowflake.ID(id))) {
					ids = append(ids, id)
					continue
				}
				var at time.Time
				if err := db.QueryRowContext(t.Context(), "SELECT "+name+"_time($1)", id).Scan(&at); err == nil {
					t.Errorf("%d is %v, want an error: Go says %v", id, at, layout.Time(snowflake.ID(id)))
				}
			}
			comparePostgres(t, db, name, layout, ids)
		})
	}
}

// comparePostgres reads all fields of the IDs in one query.
func comparePostgres(t *testing.T, db server, name string, layout snowflake.Layout, ids []int64) {
	t.Helper()
	columns := []string{"number", name + "_time(number)"}
	for _, field := range layout.Fields() {
		columns = append(columns, `p."`+field.Name+`"`)
	}
	query := fmt.Sprintf("SELECT %s FROM unnest($1::bigint[]) AS ids(number), %s_parts(number) AS p",
		strings.Join(columns, ", "), name)
	rows, err := db.QueryContext(t.Context(), query, ids)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	read := 0
	for ; rows.Next(); read++ {
		var id snowflake.ID
		var at, partTime time.Time
		values := make([]int64, len(layout.Fields()))
		targets := []any{&id, &at}
		for i, field := range layout.Fields() {
			if field.Name == snowflake.FieldTime {
				targets = append(targets, &partTime)
				continue
			}
			targets = append(targets, &values[i])
		}
		if err := rows.Scan(targets...); err != nil {
			t.Fatal(err)
		}
		want := layout.Time(id)
		want = want.Add(-time.Duration(want.Nanosecond() % 1000))
		if !at.Equal(want) || !partTime.Equal(want) {
			t.Errorf("time of %d: %v and %v, want %v", id, at.UTC(), partTime.UTC(), want)
		}
		for i, field := range layout.Fields() {
			if want, err := layout.Field(id, field.Name); field.Name != snowflake.FieldTime && (values[i] != want || err != nil) {
				t.Errorf("%s of %d: %d, want %d, %v", field.Name, id, values[i], want, err)
			}
		}
	}
	if err := rows.Err(); err != nil || read != len(ids) {
		t.Fatalf("%d of %d rows, %v", read, len(ids), err)
	}
}

func TestPostgresMinIsMinAt(t *testing.T) {
	db := openPostgres(t)
	for name, layout := range layouts(t, 20) {
		t.Run(name, func(t *testing.T) {
			f := db.install(t, layout, sqlfunc.WithName(name))
			if layout.Fields()[0].Name != snowflake.FieldTime {
				if got := fmt.Sprint(f.Names()); strings.Contains(got, "_min") {
					t.Errorf("the time is not the highest field, and there is a minimum: %s", got)
				}
				return
			}
			for _, at := range timesOf(layout, 50) {
				if !postgresHas(layout, at) {
					continue
				}
				want, wantErr := layout.MinAt(at)
				var got snowflake.ID
				err := db.QueryRowContext(t.Context(), "SELECT "+name+"_min($1)", at).Scan(&got)
				if got != want && wantErr == nil || (err == nil) != (wantErr == nil) {
					t.Errorf("%v: %d, %v, want %d, %v", at, got, err, want, wantErr)
				}
				if err != nil && !strings.Contains(err.Error(), "22008") {
					t.Errorf("%v: error %v, want SQLSTATE 22008", at, err)
				}
			}
		})
	}
}

func TestPostgresTimesBeyondMicrosecondsAreErrors(t *testing.T) {
	db := openPostgres(t)
	layout, err := snowflake.ParseLayout("epoch=1730-01-01T00:00:00Z tick=1s time:44 sequence:1")
	if err != nil {
		t.Fatal(err)
	}
	db.install(t, layout)
	const last = math.MaxInt64 / 1_000_000 // seconds
	want := layout.Time(last << 1)
	if at := scan[time.Time](t, db, "SELECT snowflake_time($1)", int64(last<<1)); !at.Equal(want) || at.Year() != 294007 {
		t.Errorf("the last time is %v, want %v", at, want)
	}
	if _, err := db.ExecContext(t.Context(), "SELECT snowflake_time($1)", int64((last+1)<<1)); sqlState(err) != "22003" {
		t.Errorf("error %v, want 22003", err)
	}
}

func TestPostgresFunctionsOfNULLAreNULL(t *testing.T) {
	db := openPostgres(t)
	db.install(t, snowflake.Default())
	if !scan[bool](t, db, `SELECT snowflake_time(NULL) IS NULL AND snowflake_min(NULL) IS NULL
		AND (snowflake_parts(NULL)).worker IS NULL
		AND NOT EXISTS (SELECT FROM snowflake_parts(NULL) WHERE sequence IS NOT NULL)`) {
		t.Error("not NULL")
	}
}

func TestPostgresMinNamesTheLimit(t *testing.T) {
	db := openPostgres(t)
	db.install(t, snowflake.Default())
	for at, want := range map[string]string{
		"2024-12-31 23:59:59.999999+00": "snowflake_min: 2024-12-31 23:59:59.999999 is before the epoch, 2025-01-01 00:00:00 UTC",
		"-infinity":                     "snowflake_min: -infinity is before the epoch, 2025-01-01 00:00:00 UTC",
		"infinity":                      "snowflake_min: infinity is not before the end, 2094-09-07 15:47:35.552 UTC",
	} {
		_, err := db.ExecContext(t.Context(), "SELECT snowflake_min('"+at+"')")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", at, err, want)
		}
	}
}

// A range of the key uses its index, and the time can be indexed too.
func TestPostgresRangeOfTimeUsesThePrimaryKey(t *testing.T) {
	db := openPostgres(t)
	db.install(t, snowflake.Default(), sqlfunc.WithWorker(1))
	db.exec(t, "CREATE TABLE events (id bigint PRIMARY KEY DEFAULT snowflake_next())")
	db.exec(t, "INSERT INTO events SELECT FROM generate_series(1, 5000)")
	db.exec(t, "CREATE INDEX by_time ON events (snowflake_time(id))")
	db.exec(t, "ANALYZE events")
	for query, want := range map[string]string{
		"SELECT * FROM events WHERE id >= snowflake_min('2094-01-01')":            "Index Cond: (id >= '",
		"SELECT count(*) FROM events WHERE snowflake_time(id) >= '2094-01-01'":    "by_time",
		"SELECT * FROM events WHERE id BETWEEN snowflake_min('2093-01-01') AND 5": "events_pkey",
	} {
		rows, err := db.QueryContext(t.Context(), "EXPLAIN "+query)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		var plan []string
		for rows.Next() {
			var line string
			if err := rows.Scan(&line); err != nil {
				t.Fatal(err)
			}
			plan = append(plan, line)
		}
		if text := strings.Join(plan, "\n"); rows.Err() != nil || !strings.Contains(text, want) {
			t.Errorf("%s: no %q in\n%s\n%v", query, want, text, rows.Err())
		}
	}
}
