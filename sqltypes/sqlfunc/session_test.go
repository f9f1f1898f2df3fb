package sqlfunc_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
	"github.com/sqlflake/sqlflake/sqltypes/sqlfunc"
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
		"timestamp = 3000000000.5", "auto_increment_increment = 1000", "insert_id = 7", "unique_checks = 0",
		"sql_mode = 'NO_AUTO_VALUE_ON_ZERO'",
	},
}

func TestFunctionsDoNotDependOnTheSession(t *testing.T) {
	eachServer(t, func(t *testing.T, s server) {
		named := map[string]snowflake.Layout{
			"snowflake": snowflake.Default(), "b": preset("mastodon"), "c": parse(t, "epoch=1999-10-11T02:30:00.5Z tick=1ms time:51 sequence:12"),
			"d": parse(t, "epoch=1970-01-01T00:00:00.123456789Z tick=1.001us time:52 sequence:8"),
		}
		for name, layout := range named {
			s.install(t, layout, sqlfunc.WithName(name), sqlfunc.WithWorker(0))
		}
		for _, setting := range sessions[s.dialect] {
			conn := s.conn(t, setting)
			for name, layout := range named {
				f := s.functions(t, layout, sqlfunc.WithName(name), sqlfunc.WithWorker(0))
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
			// The clock advances within a statement.
			apart := "SLEEP(0.05)"
			if s.dialect == sqldb.Postgres {
				apart = "pg_sleep(0.05)::text"
			}
			var first, second snowflake.ID
			if err := conn.QueryRowContext(t.Context(), "SELECT snowflake_next(), "+apart+", snowflake_next()").
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

// insert_id sets the next number of AUTO_INCREMENT, and an increment of 65,535 would skip 16 ticks. Every user may set
// both.
func TestMariaDBSessionDoesNotChangeIDs(t *testing.T) {
	db := openMariaDB(t)
	// Without a worker the ID is the word of the state.
	db.install(t, preset("mastodon"), sqlfunc.WithWorker(0), sqlfunc.WithClock("1800000000000000"))
	db.exec(t, "CREATE TABLE others (n BIGINT AUTO_INCREMENT PRIMARY KEY, id BIGINT) ENGINE=InnoDB")
	step := scan[int64](t, db, "SELECT @@GLOBAL.auto_increment_increment")
	conn := db.conn(t)
	last := scan[int64](t, conn, "SELECT snowflake_next()")
	check := func(setting string) {
		t.Helper()
		if id := scan[int64](t, conn, "SELECT snowflake_next()"); id != last+step {
			t.Errorf("%s: %d after %d", setting, id, last)
		}
		last += step
	}
	for _, set := range []int64{last, last - 1, last + 1_000_000, 1 << 62, 7, 1} {
		execOn(t, conn, fmt.Sprint("SET insert_id = ", set))
		check(fmt.Sprint("insert_id = ", set))
		// It still applies to the statement that it was set for.
		execOn(t, conn, "INSERT INTO others (id) VALUES (snowflake_next())")
		if n := scan[int64](t, conn, "SELECT LAST_INSERT_ID()"); n != set {
			t.Errorf("the caller's own AUTO_INCREMENT is %d, want %d", n, set)
		}
		last += step
		db.exec(t, "TRUNCATE TABLE others")
	}
	for _, setting := range []string{
		"auto_increment_increment = 65535", "auto_increment_increment = 10, auto_increment_offset = 5",
		"auto_increment_increment = 2, auto_increment_offset = 2", "auto_increment_increment = 1",
	} {
		execOn(t, conn, "SET "+setting)
		for range 3 {
			check(setting)
		}
	}
	// The variables and LAST_INSERT_ID of the caller stay.
	execOn(t, conn, "SET auto_increment_increment = 7", "SET insert_id = 100", "SET last_insert_id = 5", "SET sql_mode = 'ANSI_QUOTES'")
	const state = "SELECT CONCAT_WS(' ', @@auto_increment_increment, @@auto_increment_offset, @@insert_id, " +
		"LAST_INSERT_ID(), @@sql_mode, @@timestamp > 1700000000, @@in_transaction)"
	before := scan[string](t, conn, state)
	check("several variables")
	if after := scan[string](t, conn, state); after != before {
		t.Errorf("the session has %q after snowflake_next, %q before", after, before)
	}
}

// Rows of statements that failed or were undone keep their locks until the transaction ends; others do not wait for it.
func TestMariaDBUndoneRowsBlockNobody(t *testing.T) {
	for _, isolation := range []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable} {
		db := openMariaDB(t)
		db.install(t, snowflake.Default(), sqlfunc.WithWorker(7))
		db.exec(t, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY) ENGINE=InnoDB",
			"CREATE TABLE numbered (id BIGINT NOT NULL PRIMARY KEY, n INT UNIQUE) ENGINE=InnoDB", "INSERT INTO numbered VALUES (1, 3000)")
		tx, err := db.BeginTx(context.WithoutCancel(t.Context()), &sql.TxOptions{Isolation: isolation})
		if err != nil {
			t.Fatal(err)
		}
		other := db.conn(t, "innodb_lock_wait_timeout = 30")
		for _, query := range []string{
			"SAVEPOINT before_it", "INSERT INTO t SELECT snowflake_next() FROM seq_1_to_2000", "ROLLBACK TO before_it",
			"INSERT INTO t SELECT snowflake_next() FROM seq_1_to_100",
		} {
			execOn(t, tx, query)
			execOn(t, other, "INSERT INTO t SELECT snowflake_next() FROM seq_1_to_100")
		}
		db.fails(t, tx, "INSERT INTO numbered SELECT snowflake_next(), seq FROM seq_1_to_3000", "", "Duplicate entry '3000'")
		execOn(t, other, "INSERT INTO t SELECT snowflake_next() FROM seq_1_to_100")
		if err := tx.Commit(); err != nil {
			t.Error(err)
		}
		if n := scan[int](t, db, "SELECT COUNT(DISTINCT id) FROM t"); n != 600 {
			t.Errorf("%s: %d rows, want 600", isolation, n)
		}
	}
}

// A replica would run the statement again with another counter and time.
func TestMariaDBIssuesNothingWithBinlogFormatStatement(t *testing.T) {
	db := openMariaDB(t)
	db.install(t, snowflake.Default(), sqlfunc.WithWorker(1))
	logs := scan[bool](t, db, "SELECT @@log_bin")
	for setting, refused := range map[string]bool{
		"binlog_format = 'STATEMENT'":                  logs,
		"binlog_format = 'MIXED'":                      false,
		"binlog_format = 'ROW'":                        false,
		"binlog_format = 'STATEMENT', sql_log_bin = 0": false,
	} {
		conn := db.conn(t, setting)
		if refused {
			db.fails(t, conn, "SELECT snowflake_next()", "", "want MIXED")
		} else {
			next(t, conn)
		}
	}
}
