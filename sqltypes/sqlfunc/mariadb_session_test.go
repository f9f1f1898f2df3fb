package sqlfunc_test

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes/sqlfunc"
)

// INSERT_ID sets the next number of AUTO_INCREMENT, and every user may set it.
func TestMariaDBInsertIDDoesNotChangeIDs(t *testing.T) {
	db := openMariaDB(t)
	layout := preset("mastodon") // without a worker the ID is the word of the state
	db.installMariaDB(t, layout, sqlfunc.WithWorker(0), sqlfunc.WithClock("1800000000000000"))
	db.exec(t, "CREATE TABLE others (n BIGINT AUTO_INCREMENT PRIMARY KEY, id BIGINT) ENGINE=InnoDB")
	conn := db.settings(t)
	step := askConn[int64](t, conn, "SELECT @@GLOBAL.auto_increment_increment")
	last := askConn[int64](t, conn, "SELECT snowflake_next()")
	for _, set := range []int64{last, last - 1, last + 1_000_000, 1 << 62, 7, 1} {
		if _, err := conn.ExecContext(t.Context(), fmt.Sprint("SET insert_id = ", set)); err != nil {
			t.Fatal(err)
		}
		id := askConn[int64](t, conn, "SELECT snowflake_next()")
		if id != last+step {
			t.Errorf("with insert_id = %d: %d after %d", set, id, last)
		}
		last = id
		// It still applies to the statement that it was set for.
		for i := range int64(2) {
			if _, err := conn.ExecContext(t.Context(), "INSERT INTO others (id) VALUES (snowflake_next())"); err != nil {
				t.Fatal(err)
			}
			if n := askConn[int64](t, conn, "SELECT LAST_INSERT_ID()"); i == 0 && n != set {
				t.Errorf("the caller's own AUTO_INCREMENT is %d, want %d", n, set)
			}
			last += step
		}
		db.exec(t, "TRUNCATE TABLE others")
	}
}

// An increment of 65,535 would skip 16 ticks.
func TestMariaDBIncrementDoesNotChangeIDs(t *testing.T) {
	db := openMariaDB(t)
	db.installMariaDB(t, preset("mastodon"), sqlfunc.WithWorker(0), sqlfunc.WithClock("1800000000000000"))
	step := scan[int64](t, db, "SELECT @@GLOBAL.auto_increment_increment")
	last := scan[int64](t, db, "SELECT snowflake_next()")
	for _, setting := range []string{
		"auto_increment_increment = 65535", "auto_increment_increment = 10, auto_increment_offset = 5",
		"auto_increment_increment = 2, auto_increment_offset = 2", "auto_increment_increment = 1",
	} {
		conn := db.settings(t, setting)
		for range 3 {
			id := askConn[int64](t, conn, "SELECT snowflake_next()")
			if id != last+step {
				t.Errorf("%s: %d, want %d", setting, id, last+step)
			}
			last = id
		}
	}
}

// The variables and LAST_INSERT_ID of the caller stay.
func TestMariaDBNextDoesNotChangeTheSession(t *testing.T) {
	db := openMariaDB(t)
	db.installMariaDB(t, snowflake.Default(), sqlfunc.WithWorker(1))
	conn := db.settings(t, "auto_increment_increment = 7", "insert_id = 100", "last_insert_id = 5", "sql_mode = 'ANSI_QUOTES'")
	const state = "SELECT CONCAT_WS(' ', @@auto_increment_increment, @@auto_increment_offset, @@insert_id, " +
		"LAST_INSERT_ID(), @@sql_mode, @@timestamp > 1700000000, @@in_transaction)"
	before := askConn[string](t, conn, state)
	askConn[int64](t, conn, "SELECT snowflake_next()")
	if after := askConn[string](t, conn, state); after != before {
		t.Errorf("the session has %q after snowflake_next, %q before", after, before)
	}
}

// Rows that were rolled back keep their locks until the transaction ends; other sessions do not wait for it.
func TestMariaDBSavepointsBlockNobody(t *testing.T) {
	for _, isolation := range []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable} {
		db := openMariaDB(t)
		db.installMariaDB(t, snowflake.Default(), sqlfunc.WithWorker(7))
		db.exec(t, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY) ENGINE=InnoDB")
		ctx := context.WithoutCancel(t.Context())
		tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: isolation})
		if err != nil {
			t.Fatal(err)
		}
		other := db.settings(t, "innodb_lock_wait_timeout = 30")
		for _, query := range []string{
			"SAVEPOINT before_it", "INSERT INTO t SELECT snowflake_next() FROM seq_1_to_2000", "ROLLBACK TO before_it",
			"INSERT INTO t SELECT snowflake_next() FROM seq_1_to_100",
		} {
			if _, err := tx.ExecContext(ctx, query); err != nil {
				t.Fatalf("%s: %v", query, err)
			}
			if _, err := other.ExecContext(ctx, "INSERT INTO t SELECT snowflake_next() FROM seq_1_to_100"); err != nil {
				t.Errorf("%s: beside %s: %v", isolation, query, err)
			}
		}
		if err := tx.Commit(); err != nil {
			t.Error(err)
		}
		if n := scan[int](t, db, "SELECT COUNT(*) FROM t"); n != 500 {
			t.Errorf("%s: %d rows, want 500", isolation, n)
		}
	}
}

// Messages contain the name of the function.
func TestMariaDBLongNamesDoNotCutMessages(t *testing.T) {
	db := openMariaDB(t)
	layout := snowflake.MustLayout(time.Unix(1, 123456789), 1001,
		snowflake.Field{Name: "time", Bits: 52}, snowflake.Field{Name: "sequence", Bits: 8})
	name := strings.Repeat("n", 48)
	options := func(clock time.Time) []sqlfunc.Option {
		return []sqlfunc.Option{
			sqlfunc.WithName(name), sqlfunc.WithWorker(0), sqlfunc.WithLead(sqlfunc.MaxLead - time.Nanosecond),
			sqlfunc.WithClock(strconv.FormatInt(clock.UnixMicro(), 10)),
		}
	}
	db.installMariaDB(t, layout, options(layout.End().Add(-time.Hour))...)
	scan[int64](t, db, "SELECT "+name+"_next()")
	db.installMariaDB(t, layout, options(layout.Epoch().Add(time.Hour))...)
	for call, want := range map[string]string{
		"_next()":                            "23h59m59.999999999s is the lead",
		"_min('0001-01-01 00:00:00.123456')": "is before the epoch, 1970-01-01 00:00:01.123456789 UTC",
		"_min('9999-01-01 00:00:00.123456')": "is not before the end, 2112-11-09 02:53:48.121323285 UTC",
	} {
		var id int64
		err := db.QueryRowContext(t.Context(), "SELECT "+name+call).Scan(&id)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %d, %v, want an error with %q", call, id, err, want)
		}
	}
}

// A replica would run the statement again with another counter and time.
func TestMariaDBIssuesNothingWithBinlogFormatStatement(t *testing.T) {
	db := openMariaDB(t)
	db.installMariaDB(t, snowflake.Default(), sqlfunc.WithWorker(1))
	logs := scan[bool](t, db, "SELECT @@log_bin")
	for setting, want := range map[string]bool{
		"binlog_format = 'STATEMENT'":                  logs,
		"binlog_format = 'MIXED'":                      false,
		"binlog_format = 'ROW'":                        false,
		"binlog_format = 'STATEMENT', sql_log_bin = 0": false,
	} {
		conn := db.settings(t, setting)
		var id int64
		err := conn.QueryRowContext(t.Context(), "SELECT snowflake_next()").Scan(&id)
		if want != (err != nil && strings.Contains(err.Error(), "want MIXED")) || !want && err != nil {
			t.Errorf("log_bin is %t, %s: %d, %v", logs, setting, id, err)
		}
	}
}

// With a lead the IDs reach the end of the layout before the clock does.
func TestMariaDBIssuesNoIDPastTheEndOfTheLayout(t *testing.T) {
	db := openMariaDB(t)
	layout := snowflake.MustLayout(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), time.Millisecond,
		snowflake.Field{Name: "time", Bits: 41}, snowflake.Field{Name: "sequence", Bits: 4})
	last := layout.End().Add(-layout.Tick())
	db.installMariaDB(t, layout, sqlfunc.WithWorker(0), sqlfunc.WithClock(strconv.FormatInt(last.UnixMicro(), 10)))
	for i := range 20 {
		var id snowflake.ID
		err := db.QueryRowContext(t.Context(), "SELECT snowflake_next()").Scan(&id)
		if err == nil && (i >= 16 || !layout.Time(id).Equal(last)) {
			t.Errorf("ID %d is of %s", id, layout.Time(id))
		}
		if i == 0 && err != nil || err != nil && !strings.Contains(err.Error(), "exhausted") {
			t.Errorf("call %d: %v", i, err)
		}
	}
}

func TestMariaDBNextHasTheRightsOfItsOwner(t *testing.T) {
	db := openMariaDB(t)
	db.installMariaDB(t, snowflake.Default(), sqlfunc.WithWorker(1))
	if got := scan[string](t, db, "SELECT security_type FROM information_schema.routines "+
		"WHERE routine_schema = DATABASE() AND routine_name = 'snowflake_next'"); got != "DEFINER" {
		t.Errorf("snowflake_next runs with the rights of the %s", got)
	}
}
