package sqlfunc_test

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/contrib/sqlfunc"
	"github.com/sqlflake/sqlflake/snowflake"
)

// Statements are cancelled, time out and lose their sessions at random moments. No lock may remain that blocks others,
// and no ID may occur twice, including those of transactions that did not commit: each ID is recorded when it is read.
func TestPostgresNextSurvivesAStormOfCancels(t *testing.T) {
	for name, storm := range map[string]struct {
		layout snowflake.Layout
		clock  string
	}{
		"with the draw":    {preset("resource"), "clock_timestamp()"}, // 8 IDs a tick, so often under the lock
		"without the draw": {preset("mastodon"), "clock_timestamp()"},
		// The lock is held for microseconds, so few cancels hit it; here most do.
		"slow under the lock": {preset("mastodon"), "(SELECT clock_timestamp() FROM pg_sleep(0.002))"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := openPostgres(t)
			db.install(t, storm.layout, sqlfunc.WithWorker(0), sqlfunc.WithLead(time.Hour), sqlfunc.WithClock(storm.clock))
			db.SetMaxIdleConns(20) // the end of a session would release its locks
			end := time.Now().Add(stormTime())
			ctx, stop := context.WithDeadline(t.Context(), end.Add(3*time.Minute))
			defer stop()
			var (
				group sync.WaitGroup
				mu    sync.Mutex
				drawn = map[int64]bool{}
				lost  int
			)
			storming := func() bool { // also until something has happened
				mu.Lock()
				defer mu.Unlock()
				return time.Now().Before(end) || (len(drawn) == 0 || lost == 0) && ctx.Err() == nil
			}
			for client := range 8 {
				group.Go(func() {
					for storming() {
						ids, err := drawUntilCancelled(ctx, db, client)
						mu.Lock()
						for _, id := range ids {
							if drawn[id] {
								t.Errorf("%d came twice", id)
							}
							drawn[id] = true
						}
						if err != nil {
							lost++
						}
						mu.Unlock()
					}
				})
			}
			conn := db.conn(t)
			group.Go(func() { cancelAtRandom(ctx, t, conn, storming) })
			group.Wait()
			t.Logf("%d IDs, %d statements cut off", len(drawn), lost)
			if ctx.Err() != nil {
				t.Error("a session waits without an end")
			}
			if len(drawn) == 0 || lost == 0 {
				t.Error("the storm was none")
			}
			// On this connection, as the last one of the storm may have ended those of the pool.
			for scan[int](t, conn, "SELECT count(*)"+others+" AND state = 'active'") > 0 { // a backend continues for a while after its client has left
				time.Sleep(10 * time.Millisecond)
			}
			if got := scan[int](t, conn, `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'
				AND objid = 'snowflake_state'::regclass::oid`); got != 0 {
				t.Errorf("%d locks are left", got)
			}
			limit, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			var id int64
			if err := conn.QueryRowContext(limit, "SELECT snowflake_next()").Scan(&id); err != nil || drawn[id] {
				t.Errorf("after the storm: %d, %v", id, err)
			}
		})
	}
}

// others are the other sessions of the test.
const others = ` FROM pg_stat_activity WHERE application_name = current_setting('application_name') AND pid <> pg_backend_pid()`

// stormTime is the least duration of a storm.
func stormTime() time.Duration {
	if isLong() {
		return 20 * time.Second
	}
	return time.Second
}

// drawUntilCancelled issues IDs in one statement after a savepoint, reads its rows one by one until it is cancelled or
// ends, and continues in the transaction.
func drawUntilCancelled(ctx context.Context, db server, client int) (ids []int64, err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback() }() // no effect after a commit
	timeout := "SET LOCAL statement_timeout = " + strconv.Itoa(1+rand.IntN(20))
	if client%2 == 0 {
		timeout = "SET LOCAL statement_timeout = 0"
	}
	for _, query := range []string{timeout, "SAVEPOINT before"} {
		if _, err := tx.ExecContext(ctx, query); err != nil {
			return nil, err
		}
	}
	ids, cut := drawAll(ctx, tx, 300)
	if _, err := tx.ExecContext(ctx, "ROLLBACK TO SAVEPOINT before"); err != nil {
		return ids, err
	}
	more, err := drawAll(ctx, tx, 3)
	if err == nil {
		err = tx.Commit()
	}
	return append(ids, more...), errors.Join(cut, err)
}

// drawAll returns the IDs that arrived, also if an error follows.
func drawAll(ctx context.Context, tx *sql.Tx, count int) (ids []int64, err error) {
	rows, err := tx.QueryContext(ctx, "SELECT snowflake_next() FROM generate_series(1, $1::int)", count)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return ids, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// cancelAtRandom cancels and sometimes ends the other sessions of the test.
func cancelAtRandom(ctx context.Context, t *testing.T, conn *sql.Conn, storming func() bool) {
	t.Helper()
	for n := 0; storming(); n++ {
		act := "pg_cancel_backend"
		if n%50 == 49 {
			act = "pg_terminate_backend"
		}
		if _, err := conn.ExecContext(ctx, "SELECT count("+act+"(pid))"+others+" AND random() < 0.4"); err != nil {
			t.Error(err)
			return
		}
		time.Sleep(time.Duration(rand.IntN(3000)) * time.Microsecond)
	}
}
