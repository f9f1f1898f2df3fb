package sqlfunc_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/contrib/sqlfunc"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

func request(layout snowflake.Layout, first, last int64) leasestore.Request {
	return leasestore.Request{
		Namespace: "it's", Layout: layout.String(), First: first, Last: last,
		Token: leasetest.NewToken(), TTL: time.Hour, Tick: 1,
	}
}

// keep returns the claim for an extension that keeps the token.
func keep(c leasestore.Claim) leasestore.Claim {
	c.Next = c.Token
	return c
}

func newStore(t *testing.T, s server) *sqllease.Store {
	t.Helper()
	store, err := sqllease.New(s, s.dialect)
	must(t, err)
	must(t, store.Migrate(t.Context()))
	return store
}

func acquire(t *testing.T, store *sqllease.Store, r leasestore.Request) leasestore.Grant {
	t.Helper()
	grant, err := store.Acquire(t.Context(), r)
	must(t, err)
	return grant
}

// issued leases worker 7, which issues IDs below the horizon, and gives it back.
func issued(t *testing.T, store *sqllease.Store, grant leasestore.Grant, horizon int64) {
	t.Helper()
	_, err := store.Extend(t.Context(), keep(grant.Claim), horizon, time.Hour)
	must(t, err)
	must(t, store.Release(t.Context(), grant.Claim, horizon))
}

var inLeaseTable = sqlfunc.WithLeaseTables("", "it's")

func TestLeasesNeverGetTheReservedWorker(t *testing.T) {
	s := openPostgres(t)
	layout := parse(t, "epoch=2025-01-01T00:00:00Z tick=1ms time:41 worker:4 sequence:8")
	for range 2 {
		s.install(t, layout, sqlfunc.WithWorker(5), inLeaseTable)
	}

	store := newStore(t, s)
	for range layout.MaxWorker() {
		acquire(t, store, request(layout, 0, layout.MaxWorker()))
	}

	if grant, err := store.Acquire(t.Context(), request(layout, 0, layout.MaxWorker())); !errors.Is(err, lease.ErrNoWorker) {
		t.Errorf("leased %+v, %v, want ErrNoWorker", grant, err)
	}

	entries, err := store.List(t.Context(), "it's")
	if err != nil || len(entries) != 16 || !entries[5].Reserved() || entries[5].Holder.Version != "sqlfunc" {
		t.Errorf("%+v, %v", entries, err)
	}

	must(t, store.SetShare(t.Context(), "it's", layout, 0, layout.MaxWorker()))
	s.install(t, layout, sqlfunc.WithWorker(5), inLeaseTable)
}

func TestAHeldWorkerIsReservedAfterItsRelease(t *testing.T) {
	s := openPostgres(t)
	layout := snowflake.Default()
	store := newStore(t, s)
	grant := acquire(t, store, request(layout, 7, 7))
	f := s.functions(t, layout, sqlfunc.WithWorker(7), inLeaseTable)
	s.failed(t, "a held worker", f.Install(t.Context(), s, s.dialect), "55006", "worker 7 is leased in the namespace")
	// The IDs of the function start above all that the owner may have issued, ahead of the clock.
	horizon := int64(time.Since(layout.Epoch())/layout.Tick()) + 5000
	issued(t, store, grant, horizon)
	must(t, f.Install(t.Context(), s, s.dialect))
	if id := next(t, s); layout.Time(id).Before(layout.Start(horizon)) {
		t.Errorf("the first ID is of %v, the horizon was %v", layout.Time(id), layout.Start(horizon))
	}

	if _, err := store.Extend(t.Context(), keep(grant.Claim), horizon+1, time.Hour); !errors.Is(err, lease.ErrLost) {
		t.Errorf("the owner of before: %v, want ErrLost", err)
	}
}

func TestALaterVersionWaitsForAReservation(t *testing.T) {
	s := openPostgres(t)
	acquire(t, newStore(t, s), request(snowflake.Default(), 7, 7))
	statements, err := s.functions(t, snowflake.Default(), sqlfunc.WithWorker(1), inLeaseTable).Statements(s.dialect)
	must(t, err)
	tx := s.begin(t)
	execOn(t, tx, statements...)
	marked := make(chan error, 1)
	go func() {
		_, err := s.ExecContext(t.Context(), "UPDATE snowflake_namespaces SET protocol = 2")
		marked <- err
	}()

	select {
	case err := <-marked:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(200 * time.Millisecond):
	}

	must(t, tx.Commit())
	must(t, <-marked)
}

// The same worker in two schemas of one database would be issued twice.
func TestWorkerIsReservedForOnlyOneFunction(t *testing.T) {
	s := openPostgres(t)
	s.install(t, snowflake.Default(), sqlfunc.WithWorker(5), inLeaseTable)
	f := s.functions(t, snowflake.Default(), sqlfunc.WithName("other"), inLeaseTable, sqlfunc.WithWorker(5))
	s.failed(t, "the same worker", f.Install(t.Context(), s, s.dialect), "55006",
		"worker 5 is reserved in the namespace it's for SQL functions \""+s.schema+"\".snowflake_next")
	s.install(t, snowflake.Default(), sqlfunc.WithName("other"), inLeaseTable, sqlfunc.WithWorker(6))
}

// The horizon of the last owner may be below IDs that the function has issued for another worker.
func TestReservingNeverSetsTheStateBack(t *testing.T) {
	s := openPostgres(t)
	layout := snowflake.Default()
	store := newStore(t, s)
	issued(t, store, acquire(t, store, request(layout, 7, 7)), 1000)
	// Ahead of the clock, so that only the state determines the next ID.
	s.install(t, layout, sqlfunc.WithWorker(1), s.at(time.Now().Add(5*time.Second)))
	before := next(t, s)
	s.install(t, layout, sqlfunc.WithWorker(7), inLeaseTable)
	if after := next(t, s); after&^(1023<<12) <= before&^(1023<<12) {
		t.Errorf("%v after %v", layout.Decompose(after), layout.Decompose(before))
	}
}

// A second table would let the function and a lease have one worker.
func TestPostgresReservesInTheTableOfTheLeases(t *testing.T) {
	db := openPostgres(t)
	layout := snowflake.Default()
	acquire(t, newStore(t, db), request(layout, 0, 0))
	role := db.role(t)
	db.exec(t, "CREATE SCHEMA "+role+" AUTHORIZATION "+role, "GRANT ALL ON snowflake_namespaces, snowflake_leases TO "+role)
	install := func(path string) error {
		f, err := sqlfunc.New(layout, sqlfunc.WithSchema(role), sqlfunc.WithWorker(0), inLeaseTable)
		must(t, err)
		conn := db.conn(t, "ROLE "+role, "search_path = "+path)
		defer execOn(t, conn, "RESET ALL", "RESET ROLE")
		return f.Install(t.Context(), conn, sqldb.Postgres)
	}

	db.failed(t, "a table that is visible", install(`"$user", `+db.schema), "55006", "worker 0 is leased")
	db.failed(t, "a table of another schema", install(role), "42P07", "this database has "+db.schema+".snowflake_leases")
	wantValue(t, db, 2, "SELECT count(*) FROM pg_class WHERE relname IN ('snowflake_leases', 'snowflake_namespaces')")

	schema, err := sqllease.Schema(sqldb.Postgres, "")
	must(t, err)
	execOn(t, db.conn(t), "DROP TABLE snowflake_leases, snowflake_namespaces", "SET ROLE "+role, schema[0], schema[1], "RESET ROLE")
	err = db.functions(t, layout, sqlfunc.WithWorker(0), inLeaseTable).Install(t.Context(), db, sqldb.Postgres)
	db.failed(t, "a table of a stranger", err, "42501", "belongs to the role "+role)
}

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
				t.Error("a session waits without an end, or the storm was none")
			}

			// On this connection, as the last one of the storm may have ended those of the pool.
			for scan[int](t, conn, "SELECT count(*)"+others+" AND state = 'active'") > 0 { // a backend continues for a while after its client has left
				time.Sleep(10 * time.Millisecond)
			}

			wantValue(t, conn, 0, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 'snowflake_state'::regclass::oid")
			var id int64
			if err := conn.QueryRowContext(ctx, "SELECT snowflake_next()").Scan(&id); err != nil || drawn[id] {
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

	defer func() { _ = tx.Rollback() }()        // no effect after a commit
	timeout := client % 2 * (1 + rand.IntN(20)) // 0: none
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("SET LOCAL statement_timeout = %d; SAVEPOINT before", timeout)); err != nil {
		return nil, err
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
