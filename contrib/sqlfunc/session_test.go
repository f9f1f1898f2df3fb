package sqlfunc_test

import (
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/contrib/sqlfunc"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// sessions are settings of the session that must not matter.
var sessions = map[sqldb.Dialect][]string{
	sqldb.Postgres: {
		"TimeZone = 'America/New_York'", "TimeZone = 'Asia/Kolkata'", "TimeZone = 'Africa/Casablanca'",
		"DateStyle = 'SQL, DMY'", "DateStyle = 'German, DMY'", "DateStyle = 'Postgres, MDY'", "DateStyle = 'ISO, YMD'",
		"IntervalStyle = 'sql_standard'", "extra_float_digits = -15", "standard_conforming_strings = off",
	},
	sqldb.MySQL: {
		"time_zone = '+05:30'", "time_zone = '-12:00'", "sql_mode = ''", "sql_mode = 'ORACLE'", "div_precision_increment = 0",
		"sql_mode = 'ANSI,NO_BACKSLASH_ESCAPES,NO_UNSIGNED_SUBTRACTION'", "lc_time_names = 'de_DE'", "timestamp = 1000",
		"timestamp = 3000000000.5",
	},
}

func TestFunctionsDoNotDependOnTheSession(t *testing.T) {
	eachServer(t, func(t *testing.T, s server) {
		named := map[string]snowflake.Layout{
			"snowflake": snowflake.Default(), "b": preset("mastodon"), "c": parse(t, "epoch=1999-10-11T02:30:00.5Z tick=1ms time:51 sequence:12"),
			"d": parse(t, "epoch=1970-01-01T00:00:00.123456789Z tick=1.001us time:52 sequence:8"),
		}
		for name, layout := range named {
			s.install(t, layout, sqlfunc.WithName(name), s.worker(0))
		}
		for _, setting := range sessions[s.dialect] {
			conn := s.conn(t, setting)
			for name, layout := range named {
				f := s.functions(t, layout, sqlfunc.WithName(name), s.worker(0))
				if err := f.Install(t.Context(), conn, s.dialect); err != nil && s.dialect == sqldb.Postgres { // MariaDB rejects some modes
					t.Fatalf("%s: %v", setting, err)
				}
				read, least := s.reader(layout, name)
				// Around the changes of daylight saving time in New York and Casablanca, and in an hour that comes twice in Berlin.
				for hour := range 3 * 24 {
					at := time.Date(2026, 3, 7+hour/24*8, hour%24, 30, 1, 5000000, time.UTC)
					if hour == 0 {
						at = time.Date(2026, 10, 25, 1, 30, 0, 123e6, time.UTC)
					}
					want, err := layout.MinAt(at)
					if err != nil {
						t.Fatal(err)
					}
					if id := scan[snowflake.ID](t, conn, least, at.Format(timeForm)); id != want {
						t.Fatalf("%s: the least ID at %v is %d, want %d", setting, at, id, want)
					}
					var text, parts string
					if err := conn.QueryRowContext(t.Context(), read, int64(want)).Scan(&text, &parts); err != nil ||
						text != floor(layout.Time(want)).Format(timeForm) {
						t.Fatalf("%s: the time of %d is %s, %v", setting, want, text, err)
					}
					checkParts(t, parts, layout, want)
				}
			}
			if s.dialect == sqldb.MySQL {
				continue
			}
			// The clock advances within a statement.
			var first, second snowflake.ID
			if err := conn.QueryRowContext(t.Context(), "SELECT snowflake_next(), pg_sleep(0.05)::text, snowflake_next()").
				Scan(&first, new(any), &second); err != nil {
				t.Fatalf("%s: %v", setting, err)
			}
			from, to := snowflake.Default().Time(first), snowflake.Default().Time(second)
			if to.Sub(from) < 40*time.Millisecond || time.Since(from).Abs() > time.Minute {
				t.Errorf("%s: %v and %v, want now and 50 ms later", setting, from, to)
			}
		}
	})
}
