package sqlfunc_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes/sqlfunc"
)

func TestMariaDBReadsIDsAsGoDoes(t *testing.T) {
	db := openMariaDB(t)
	n := 0
	for name, layout := range layouts(t, 6) {
		n++
		f := db.installMariaDB(t, layout, sqlfunc.WithName(fmt.Sprint("f", n)))
		t.Run(name, func(t *testing.T) {
			prefix := strings.TrimSuffix(f.Names()[0], "layout")
			var valid []int64
			for _, id := range idsOf(t, layout, 30) {
				if at := layout.Time(snowflake.ID(id)); at.Truncate(time.Microsecond).Year() <= 9999 {
					valid = append(valid, id)
					continue
				}
				_, err := db.ExecContext(t.Context(), fmt.Sprintf("SELECT %stime(?)", prefix), id)
				if err == nil || !strings.Contains(err.Error(), "after the year 9999") {
					t.Errorf("%s: the time of %d: %v, want an error that names the year 9999", layout, id, err)
				}
			}
			for ids := range slices.Chunk(valid, 50) {
				checkMariaDBParts(t, db, prefix, layout, ids)
			}
		})
	}
}

// checkMariaDBParts reads IDs in one statement.
func checkMariaDBParts(t *testing.T, db server, prefix string, layout snowflake.Layout, ids []int64) {
	t.Helper()
	one := fmt.Sprintf("SELECT id, CAST(%[1]stime(id) AS CHAR), %[1]sparts(id) FROM (SELECT CAST(? AS SIGNED) AS id) AS one", prefix)
	var args []any
	for _, id := range ids {
		args = append(args, id)
	}
	rows, err := db.QueryContext(t.Context(), strings.TrimSuffix(strings.Repeat(one+" UNION ALL ", len(ids)), " UNION ALL "), args...)
	if err != nil {
		t.Fatalf("%s: %v", layout, err)
	}
	defer rows.Close()
	n := 0
	for ; rows.Next(); n++ {
		var id snowflake.ID
		var text, parts string
		if err := rows.Scan(&id, &text, &parts); err != nil {
			t.Fatal(err)
		}
		if int64(id) != ids[n] {
			t.Fatalf("the row of %d is that of %d", ids[n], id)
		}
		if got := layout.Time(id).Truncate(time.Microsecond).Format("2006-01-02 15:04:05.000000"); text != got {
			t.Errorf("%s: the time of %d is %s, in Go %s", layout, id, text, got)
		}
		checkPartsJSON(t, parts, layout, id)
	}
	if err := rows.Err(); err != nil || n != len(ids) {
		t.Fatalf("%s: %d rows, %v, want %d", layout, n, err, len(ids))
	}
}

// checkPartsJSON compares the text of an object with Decompose.
func checkPartsJSON(t *testing.T, text string, layout snowflake.Layout, id snowflake.ID) {
	t.Helper()
	var got map[string]json.Number
	var at struct{ Time string }
	if err := json.Unmarshal([]byte(text), &at); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	decoder := json.NewDecoder(strings.NewReader(strings.Replace(text, `"`+at.Time+`"`, "0", 1)))
	decoder.UseNumber()
	if err := decoder.Decode(&got); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if want := layout.Time(id).Truncate(time.Microsecond).Format("2006-01-02T15:04:05.000000Z"); at.Time != want {
		t.Errorf("%s: the time of %d is %s, in Go %s", layout, id, at.Time, want)
	}
	for _, field := range layout.Fields() {
		want, err := layout.Field(id, field.Name)
		if err != nil {
			t.Fatal(err)
		}
		if field.Name == snowflake.FieldTime {
			continue
		}
		if n, err := got[field.Name].Int64(); n != want || err != nil {
			t.Errorf("%s: %s of %d is %s, in Go %d", layout, field.Name, id, got[field.Name], want)
		}
	}
	if len(got) != len(layout.Fields()) {
		t.Errorf("%s has %d fields, want %d", text, len(got), len(layout.Fields()))
	}
}

func TestMariaDBMinIsMinAt(t *testing.T) {
	db := openMariaDB(t)
	n := 0
	for name, layout := range layouts(t, 6) {
		n++
		f := db.installMariaDB(t, layout, sqlfunc.WithName(fmt.Sprint("f", n)))
		if len(f.Names()) < 4 {
			continue // the time is not the highest field
		}
		t.Run(name, func(t *testing.T) {
			for _, at := range timesOf(layout, 20) {
				if at.Year() < 1 || at.Year() > 9999 {
					continue // DATETIME has no such times
				}
				want, wantErr := layout.MinAt(at)
				var got int64
				err := db.QueryRowContext(t.Context(), fmt.Sprintf("SELECT %s(?)", f.Names()[3]),
					at.Format("2006-01-02 15:04:05.000000")).Scan(&got)
				if (err != nil) != (wantErr != nil) || wantErr == nil && got != int64(want) {
					t.Errorf("%s: MinAt(%s) is %d, %v, in Go %d, %v", layout, at, got, err, want, wantErr)
				}
			}
		})
	}
}

// A TIMESTAMP, FROM_UNIXTIME and NOW would be shifted by the zone of the session.
func TestMariaDBReadsInUTCWhateverTheSessionIs(t *testing.T) {
	db := openMariaDB(t)
	db.installMariaDB(t, snowflake.Default())
	odd := snowflake.MustLayout(time.Unix(0, 123456789), 1001,
		snowflake.Field{Name: "time", Bits: 52}, snowflake.Field{Name: "sequence", Bits: 8})
	db.installMariaDB(t, odd, sqlfunc.WithName("odd"))
	id, err := snowflake.Default().MinAt(time.Date(2026, 10, 25, 1, 30, 0, 123e6, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	for _, setting := range []string{
		"time_zone = '+05:30'", "time_zone = '-12:00'", "sql_mode = ''", "sql_mode = 'ORACLE'", "div_precision_increment = 0",
		"sql_mode = 'ANSI,NO_BACKSLASH_ESCAPES,NO_UNSIGNED_SUBTRACTION'", "lc_time_names = 'de_DE'", "timestamp = 1000",
	} {
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.ExecContext(t.Context(), "SET "+setting); err != nil {
			t.Fatal(err)
		}
		var text, parts string
		var least int64
		if err := conn.QueryRowContext(t.Context(), "SELECT CAST(snowflake_time(?) AS CHAR), "+
			"snowflake_parts(?), snowflake_min(?)", id, id, "2026-10-25 01:30:00.123999").Scan(&text, &parts, &least); err != nil {
			t.Fatalf("%s: %v", setting, err)
		}
		if text != "2026-10-25 01:30:00.123000" || least != int64(id) {
			t.Errorf("%s: %s, %d, want %d", setting, text, least, id)
		}
		checkPartsJSON(t, parts, snowflake.Default(), id)
		for tick := range snowflake.ID(1000) {
			if tick%97 != 0 {
				continue
			}
			if err := conn.QueryRowContext(t.Context(), "SELECT odd_parts(?)", id+tick<<8).Scan(&parts); err != nil {
				t.Fatalf("%s: %v", setting, err)
			}
			checkPartsJSON(t, parts, odd, id+tick<<8)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestMariaDBFunctionsTakeNullAndRefuseText(t *testing.T) {
	db := openMariaDB(t)
	db.installMariaDB(t, snowflake.Default())
	for _, call := range []string{"time(NULL)", "parts(NULL)", "min(NULL)"} {
		if got := scan[sql.NullString](t, db, "SELECT snowflake_"+call); got.Valid {
			t.Errorf("%s is %q, want NULL", call, got.String)
		}
	}
	for _, call := range []string{
		"time('12x')", "parts('x')", "time(99999999999999999999)", "min('x')", "min('2026-02-30')", "min('0000-00-00')",
	} {
		var got sql.NullString
		if err := db.QueryRowContext(t.Context(), "SELECT snowflake_"+call).Scan(&got); err == nil {
			t.Errorf("%s is %v, want an error", call, got)
		}
	}
}
