package sqlfunc_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
	"github.com/sqlflake/sqlflake/sqltypes/sqlfunc"
)

func TestMariaDBIssuesIDsOfTheLayoutInOrder(t *testing.T) {
	db := openMariaDB(t)
	n := 0
	for name, layout := range presets {
		if layout.End().Before(time.Now()) {
			continue
		}
		n++
		prefix := fmt.Sprint("f", n)
		worker := layout.MaxWorker()
		db.installMariaDB(t, layout, sqlfunc.WithName(prefix), sqlfunc.WithWorker(worker))
		last := snowflake.ID(0)
		for range 20 {
			before := time.Now()
			id := scan[snowflake.ID](t, db, "SELECT "+prefix+"_next()")
			if err := layout.Validate(id); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if id <= last {
				t.Errorf("%s: %d after %d", name, id, last)
			}
			last = id
			parts := layout.Decompose(id)
			if parts.Worker != worker {
				t.Errorf("%s: worker %d, want %d", name, parts.Worker, worker)
			}
			if early := before.Add(-layout.Tick() - time.Second); parts.Time.Before(early) {
				t.Errorf("%s: an ID of %s at %s", name, parts.Time, before)
			}
		}
	}
}

// NOW would stand still within one statement.
func TestMariaDBTimeAdvancesWithinAStatement(t *testing.T) {
	db := openMariaDB(t)
	layout := snowflake.Default()
	db.installMariaDB(t, layout, sqlfunc.WithWorker(1))
	conn := db.settings(t)
	for _, setting := range []string{
		"time_zone = '+05:30'", "timestamp = 1000", "timestamp = 3000000000.5", "sql_mode = ''",
		"auto_increment_increment = 1000", "insert_id = 7", "unique_checks = 0", "sql_mode = 'NO_AUTO_VALUE_ON_ZERO'",
	} {
		if _, err := conn.ExecContext(t.Context(), "SET "+setting); err != nil {
			t.Fatal(err)
		}
		var first, second snowflake.ID
		var slept int
		start := time.Now()
		if err := conn.QueryRowContext(t.Context(), "SELECT snowflake_next(), SLEEP(0.05), snowflake_next()").
			Scan(&first, &slept, &second); err != nil {
			t.Fatalf("%s: %v", setting, err)
		}
		if apart := layout.Time(second).Sub(layout.Time(first)); apart < 40*time.Millisecond {
			t.Errorf("%s: %v apart, want 50ms", setting, apart)
		}
		if off := layout.Time(first).Sub(start).Abs(); off > time.Minute {
			t.Errorf("%s: the time is off by %v", setting, off)
		}
	}
}

func TestMariaDBClaimsTickAndSequenceTogether(t *testing.T) {
	const connections = 8
	each := rowsOfAConnection()
	db := openMariaDB(t)
	layout := snowflake.Default()
	db.installMariaDB(t, layout, sqlfunc.WithWorker(7), sqlfunc.WithLead(time.Minute))
	db.exec(t, "CREATE TABLE rows_of_all (id BIGINT NOT NULL PRIMARY KEY, n INT NOT NULL) ENGINE=InnoDB")
	// All transactions stay open until each has inserted its rows, so none waits for the commit of another.
	var inserted, done sync.WaitGroup
	inserted.Add(connections)
	for range connections {
		done.Go(func() {
			arrived := sync.OnceFunc(inserted.Done)
			defer arrived()
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = tx.Rollback() }()
			query := fmt.Sprintf("INSERT INTO rows_of_all SELECT snowflake_next(), seq FROM seq_1_to_%d", each)
			if _, err := tx.ExecContext(t.Context(), query); err != nil {
				t.Error(err)
				return
			}
			arrived()
			inserted.Wait()
			if err := tx.Commit(); err != nil {
				t.Error(err)
			}
		})
	}
	done.Wait()
	if got := scan[int](t, db, "SELECT COUNT(DISTINCT id) FROM rows_of_all"); got != connections*each {
		t.Errorf("%d different IDs, want %d", got, connections*each)
	}
	if got := scan[int](t, db, "SELECT COUNT(*) FROM snowflake_state"); got != 4096 {
		t.Errorf("%d rows in the state, want the 4096 that are always there", got)
	}
}

// A failed statement keeps its locks while the transaction is open.
func TestMariaDBFailedStatementBlocksNobody(t *testing.T) {
	db := openMariaDB(t)
	db.installMariaDB(t, snowflake.Default(), sqlfunc.WithWorker(7))
	db.exec(t, "CREATE TABLE rows_of_all (id BIGINT NOT NULL PRIMARY KEY, n INT NOT NULL UNIQUE) ENGINE=InnoDB")
	db.exec(t, "INSERT INTO rows_of_all VALUES (1, 3000)")
	tx := db.begin(t)
	const insert = "INSERT INTO rows_of_all SELECT snowflake_next(), seq FROM seq_1_to_3000"
	if _, err := tx.ExecContext(t.Context(), insert); err == nil {
		t.Fatal("a duplicate was inserted")
	}
	conn := db.settings(t)
	var different int64
	for _, query := range []string{
		"SET innodb_lock_wait_timeout = 30", "CREATE TABLE others (id BIGINT)",
		"INSERT INTO others SELECT snowflake_next() FROM seq_1_to_1000",
	} {
		if _, err := conn.ExecContext(t.Context(), query); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	err := conn.QueryRowContext(t.Context(), "SELECT COUNT(DISTINCT id) FROM others").Scan(&different)
	if err != nil || different != 1000 {
		t.Errorf("%d IDs, %v, want 1000", different, err)
	}
}

func TestMariaDBNeverRepeatsAnIDAfterRollback(t *testing.T) {
	db := openMariaDB(t)
	// The clock stands still, so only the counter prevents duplicates.
	db.installMariaDB(t, snowflake.Default(), sqlfunc.WithWorker(7), sqlfunc.WithClock("1800000000000000"))
	seen := map[int64]bool{}
	for range 50 {
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var id int64
		if err := tx.QueryRowContext(t.Context(), "SELECT snowflake_next()").Scan(&id); err != nil {
			t.Fatal(err)
		}
		if seen[id] {
			t.Errorf("%d came twice", id)
		}
		seen[id] = true
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMariaDBLeadAndLimitsOfTheClock(t *testing.T) {
	db := openMariaDB(t)
	layout := snowflake.Default()
	install := func(clock time.Time, lead time.Duration) {
		t.Helper()
		db.installMariaDB(t, layout, sqlfunc.WithWorker(7), sqlfunc.WithLead(lead),
			sqlfunc.WithClock(strconv.FormatInt(clock.UnixMicro(), 10)))
	}
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	install(now, time.Second)
	first := scan[snowflake.ID](t, db, "SELECT snowflake_next()")
	if !layout.Time(first).Equal(now) {
		t.Errorf("the first ID is of %s, want %s", layout.Time(first), now)
	}
	install(now.Add(-500*time.Millisecond), time.Second)
	if second := scan[snowflake.ID](t, db, "SELECT snowflake_next()"); second <= first || !layout.Time(second).Equal(now) {
		t.Errorf("with the clock set back within the lead: %d after %d", second, first)
	}
	install(now.Add(-1500*time.Millisecond), time.Second)
	start := time.Now()
	if id := scan[snowflake.ID](t, db, "SELECT snowflake_next()"); id <= first || time.Since(start) < 450*time.Millisecond {
		t.Errorf("with the clock half a second beyond the lead: %d after %v, want to wait for it", id, time.Since(start))
	}
	for want, clock := range map[string]time.Time{
		"ahead of the clock, 1s is the lead":              now.Add(-time.Hour),
		"the clock is before the epoch, 2025-01-01":       layout.Epoch().Add(-time.Microsecond),
		"the time of the layout is exhausted, it ends at": layout.End(),
	} {
		install(clock, time.Second)
		var id int64
		err := db.QueryRowContext(t.Context(), "SELECT snowflake_next()").Scan(&id)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("at %s: %d, %v, want an error with %q", clock, id, err, want)
		}
	}
	install(layout.End().Add(-layout.Tick()), time.Second)
	if id := scan[snowflake.ID](t, db, "SELECT snowflake_next()"); !layout.Time(id).Equal(layout.End().Add(-layout.Tick())) {
		t.Errorf("in the last tick: %d of %s", id, layout.Time(id))
	}
}

// CREATE OR REPLACE FUNCTION would wait for the transaction.
func TestMariaDBInstallsAgainWhileTransactionsAreOpen(t *testing.T) {
	db := openMariaDB(t)
	f := db.installMariaDB(t, snowflake.Default(), sqlfunc.WithWorker(1))
	tx := db.begin(t)
	var id int64
	if err := tx.QueryRowContext(t.Context(), "SELECT snowflake_next()").Scan(&id); err != nil {
		t.Fatal(err)
	}
	conn := db.settings(t, "lock_wait_timeout = 30, innodb_lock_wait_timeout = 30")
	if err := f.Install(t.Context(), conn, sqldb.MySQL); err != nil {
		t.Error(err)
	}
}

func TestMariaDBInstallsAgainAndBesideAnotherLayout(t *testing.T) {
	db := openMariaDB(t)
	stand := sqlfunc.WithClock("1800000000000000")
	db.installMariaDB(t, snowflake.Default(), sqlfunc.WithWorker(1), stand)
	other := db.installMariaDB(t, preset("sonyflake"), sqlfunc.WithWorker(9), sqlfunc.WithName("sony"))
	var ids []snowflake.ID
	for worker := range int64(3) {
		db.installMariaDB(t, snowflake.Default(), sqlfunc.WithWorker(worker), stand)
		id := scan[snowflake.ID](t, db, "SELECT snowflake_next()")
		if got := snowflake.Default().Decompose(id); got.Worker != worker {
			t.Errorf("%s, want worker %d", got, worker)
		}
		ids = append(ids, id&^(1023<<12))
	}
	if !slices.IsSorted(ids) || ids[0] == ids[1] || ids[1] == ids[2] {
		t.Errorf("installing again lost the state: %d", ids)
	}
	if worker := preset("sonyflake").Decompose(scan[snowflake.ID](t, db, "SELECT sony_next()")).Worker; worker != 9 {
		t.Errorf("worker %d of the other layout, want 9", worker)
	}
	wrong, err := sqlfunc.New(snowflake.MustPreset("twitter"), sqlfunc.WithName("sony"))
	if err != nil {
		t.Fatal(err)
	}
	if err := wrong.Install(t.Context(), db, sqldb.MySQL); err == nil || !strings.Contains(err.Error(), "another layout") {
		t.Errorf("another layout under the same name: %v", err)
	}
	drop(t, db.DB, other, sqldb.MySQL)
	if n := scan[int](t, db, "SELECT COUNT(*) FROM information_schema.routines WHERE routine_schema = DATABASE() "+
		"AND routine_name LIKE 'sony%'"); n != 0 {
		t.Errorf("%d functions are left", n)
	}
}
