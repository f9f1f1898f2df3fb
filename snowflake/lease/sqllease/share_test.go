package sqllease_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// eachDatabase is eachSQL with one connection string for each database.
func eachDatabase(t *testing.T, f func(t *testing.T, target testdb.Target, dialect sqldb.Dialect)) {
	t.Helper()
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		t.Parallel() // it waits for the server, most of the time
		f(t, target, dialects[target.Name])
	})
}

func tickAt(l snowflake.Layout, at time.Time) int64 { return int64(at.Sub(l.Epoch()) / l.Tick()) }

// shareOf returns the share of the one namespace.
func shareOf(t *testing.T, db *sql.DB) (share [2]int64) {
	t.Helper()
	share[0] = ask[int64](t, db, "SELECT first_worker FROM snowflake_namespaces")
	share[1] = ask[int64](t, db, "SELECT last_worker FROM snowflake_namespaces")
	return share
}

// wantLayout checks the layout of the namespace.
func wantLayout(t *testing.T, store *sqllease.Store, want snowflake.Layout) {
	t.Helper()
	got, err := store.Layout(t.Context(), "n")
	must(t, err)
	wantEqual(t, "the layout of the namespace", got, want)
}

func layoutRequest(layout snowflake.Layout, first, last int64) leasestore.Request {
	r := sqlRequest("n", first, last)
	r.Layout = layout.String()
	return r
}

// wantErr checks that the error is of the kind and names the parts.
func wantErr(t *testing.T, what string, err, kind error, parts ...string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("%s: %v, want %v", what, err, kind)
	}
	for _, part := range parts {
		if err != nil && !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v, want %q in it", what, err, part)
		}
	}
}

func TestANamespaceLendsTheWorkersOfItsShareOnly(t *testing.T) {
	eachDatabase(t, func(t *testing.T, target testdb.Target, dialect sqldb.Dialect) {
		db, store := openSQL(t, target, dialect)
		layout := snowflake.Default()
		for _, want := range []snowflake.Layout{{}, layout} { // the first call creates the namespace
			wantLayout(t, store, want)
			must(t, store.SetShare(t.Context(), "n", layout, 4, 7))
		}

		wantErr(t, "another share", store.SetShare(t.Context(), "n", layout, 4, 8), lease.ErrOption, "4 to 7", "4 to 8")
		err := errOf(store.Acquire(t.Context(), layoutRequest(layout, 8, 1023)))
		wantErr(t, "workers outside", err, lease.ErrOption, "8 to 1023", "4 to 7")
		for range 2 { // new workers, then takeovers
			var claims []leasestore.Claim
			for range 4 {
				grant := mustAcquire(t, store, layoutRequest(layout, 0, 1023))
				if grant.Worker < 4 || grant.Worker > 7 {
					t.Errorf("worker %d", grant.Worker)
				}
				mustExtend(t, store, keep(grant.Claim), 500)
				claims = append(claims, grant.Claim)
			}

			var none *lease.NoWorkerError
			if _, err := store.Acquire(t.Context(), layoutRequest(layout, 0, 1023)); !errors.As(err, &none) || none.First != 4 || none.Last != 7 {
				t.Errorf("when all are held: %v", err)
			}

			for _, c := range claims {
				mustRelease(t, store, c)
			}
		}

		// A failover to a replica that does not know the share.
		exec(t, db, "UPDATE snowflake_namespaces SET first_worker = 0, last_worker = 9223372036854775807")
		if grant := mustAcquire(t, store, layoutRequest(layout, 0, 1023)); grant.Worker < 4 || grant.Worker > 7 || shareOf(t, db) != [2]int64{4, 7} {
			t.Errorf("after a failover: worker %d, share %v", grant.Worker, shareOf(t, db))
		}
	})
}

func TestSetShareRefuses(t *testing.T) {
	eachDatabase(t, func(t *testing.T, target testdb.Target, dialect sqldb.Dialect) {
		_, store := openSQL(t, target, dialect)
		layout := snowflake.Default()
		claim := mustAcquire(t, store, layoutRequest(layout, 9, 9)).Claim
		for what, test := range map[string]struct {
			namespace   string
			layout      snowflake.Layout
			first, last int64
			kind        error
			part        string
		}{
			"no namespace":           {"", layout, 0, 7, lease.ErrOption, "namespace"},
			"no layout":              {"m", snowflake.Layout{}, 0, 0, lease.ErrOption, "layout"},
			"negative":               {"m", layout, -1, 7, lease.ErrOption, "-1"},
			"reversed":               {"m", layout, 7, 6, lease.ErrOption, "6"},
			"beyond the layout":      {"m", layout, 0, 1024, lease.ErrOption, "1023"},
			"another layout":         {"n", snowflake.MustPreset("wide"), 0, 255, lease.ErrLayout, "sequence:14"},
			"a worker outside of it": {"n", layout, 0, 7, lease.ErrOption, "worker 9"},
		} {
			wantErr(t, what, store.SetShare(t.Context(), test.namespace, test.layout, test.first, test.last), test.kind, test.part)
		}

		mustExtend(t, store, keep(claim), 5) // nothing has changed
		must(t, store.SetShare(t.Context(), "n", layout, 9, 9))
		mustExtend(t, store, keep(claim), 6) // nor has it for those who know shares
	})
}

// A worker outside of the share is taken while the share is set.
func TestAShareThatIsSetDuringAnAcquisitionCounts(t *testing.T) {
	eachDatabase(t, func(t *testing.T, target testdb.Target, dialect sqldb.Dialect) {
		db, owner := openSQL(t, target, dialect)
		layout := snowflake.Default()
		for what, statement := range map[string]int64{"after the read": 2, "before the row": 3} {
			clear(t, db)
			mustRelease(t, owner, mustAcquire(t, owner, layoutRequest(layout, 0, 0)).Claim)
			asker, _ := countedStore(t, db, target, dialect, func(n int64) {
				if n == statement {
					wantErr(t, what, owner.SetShare(t.Context(), "n", layout, 0, 7), nil)
				}
			})
			wantErr(t, what, errOf(asker.Acquire(t.Context(), layoutRequest(layout, 9, 9))), lease.ErrOption, "0 to 7")
		}
	})
}

// On a cluster that takes writes on each node, a share or a move may be stored on another node while a worker is added:
// package processtest does so with Galera. Whoever sees the row of the lease sees the namespace as it is by then.
func TestAWorkerThatTheNamespaceForbidsByThenCountsForNothing(t *testing.T) {
	eachDatabase(t, func(t *testing.T, target testdb.Target, dialect sqldb.Dialect) {
		db, owner := openSQL(t, target, dialect)
		for what, forbid := range map[string]string{
			"share": "UPDATE snowflake_namespaces SET last_worker = 7, revision = revision + 1",
			"move":  "UPDATE snowflake_namespaces SET generation = 1, revision = revision + 1",
		} {
			clear(t, db)
			mustAcquire(t, owner, layoutRequest(snowflake.Default(), 0, 0))
			claim := mustAcquire(t, owner, layoutRequest(snowflake.Default(), 9, 9)).Claim
			asker, _ := countedStore(t, db, target, dialect, func(n int64) {
				if n == 4 { // after the row was added
					exec(t, db, forbid)
				}
			})
			r := layoutRequest(snowflake.Default(), 10, 10)
			r.Holder, r.TTL = leasestore.ReservedHolder("orders"), 200*365*24*time.Hour
			if grant, err := asker.Acquire(t.Context(), r); err == nil {
				t.Errorf("%s: reserved: %+v", what, grant)
			}

			wantErr(t, what+": an extension", extendErr(t, owner, keep(claim), 5), lease.ErrLost)
			late := keep(claim)
			late.Deadline = far{}
			exec(t, db, "UPDATE snowflake_namespaces SET server_since_ms = 4102444800000, revision = revision + 1")
			wantErr(t, what+": an extension after a failover", extendErr(t, owner, late, 5), lease.ErrLost)
		}
	})
}

// The statement that adds a worker outside of the share has begun, and has not ended, when the share is set: one of the two
// waits for the other, also for a reservation, which is never extended.
func TestAShareWaitsForAWorkerThatIsBeingAdded(t *testing.T) {
	eachServer(t, func(t *testing.T, target testdb.Target, dialect sqldb.Dialect) {
		db := target.Open(t)
		db.SetMaxOpenConns(10)
		if dialect == sqldb.MySQL { // REPEATABLE READ locks what it reads for an INSERT anyway
			name := map[bool]string{true: "transaction_isolation", false: "tx_isolation"}[target.IsMySQL()]
			target.DSN += "&" + name + "=%27READ-COMMITTED%27"
			db = target.Open(t)
			db.SetMaxOpenConns(10)
		}
		store := newSQL(t, db, dialect)
		l, err := lease.Open(t.Context(), store, lease.WithNamespace("n"), lease.WithWorkers(0, 7))
		must(t, err)
		defer l.Close(t.Context())

		tx := begin(t, db)
		exec(t, tx, insertLease+"('n', 9, 1, '', 0, 0, 0, '', '', 0, '', 0)")
		reserved, shared := make(chan error, 1), make(chan error, 1)
		go func() { reserved <- l.Reserve(t.Context(), 9, "orders") }()
		awaitLocks(t, db, dialect, 1, reserved)
		go func() { shared <- store.SetShare(t.Context(), "n", snowflake.Default(), 0, 7) }()
		awaitLocks(t, db, dialect, 2, shared)

		must(t, tx.Rollback())
		if err := <-reserved; err != nil { // the share may be stored when it reads again
			wantErr(t, "Reserve", err, lease.ErrOption, "0 to 7")
		}
		wantErr(t, "SetShare", <-shared, lease.ErrOption, "worker 9")
	})
}

// awaitLocks returns when n statements in the database of the test wait for a lock. A call that ends before is an error.
func awaitLocks(t *testing.T, db *sql.DB, dialect sqldb.Dialect, n int, ended chan error) {
	t.Helper()
	waiting := map[sqldb.Dialect]string{
		sqldb.Postgres: `SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
		// Not innodb_trx, which stays as it is while somebody reads it more often than each 100 ms. A statement that
		// runs for two readings waits.
		sqldb.MySQL: `SELECT COUNT(*) FROM information_schema.processlist
WHERE db = DATABASE() AND command <> 'Sleep' AND id <> CONNECTION_ID()`,
	}[dialect]

	for found, before := 0, 0; min(found, before) < n; {
		before = found
		select {
		case err := <-ended:
			t.Errorf("it did not wait: %v", err)
			ended <- err
			return
		case <-time.After(50 * time.Millisecond):
		}
		must(t, db.QueryRowContext(t.Context(), waiting).Scan(&found))
	}
}

// TestARevokedOwnerStopsBelowTheNextOnesIDs takes the only worker away from an owner that issues IDs.
func TestARevokedOwnerStopsBelowTheNextOnesIDs(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		t.Parallel() // it waits, most of the time
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		store := newSQL(t, target.Open(t), dialects[target.Name])
		open := func() *lease.Lease {
			for {
				l, err := lease.Open(ctx, store, lease.WithWorkers(0, 0), lease.WithStopOnLoss(),
					lease.WithLogger(slog.New(slog.DiscardHandler)))
				switch {
				case err == nil:
					t.Cleanup(func() { _ = l.Close(context.WithoutCancel(ctx)) })
					return l
				case !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil: // a busy server answers late
					t.Fatal(err)
				}
			}
		}

		first := open()
		ended := make(chan error, 1)
		last, err := first.Generator().NextContext(ctx)
		must(t, err)
		go func() {
			for {
				id, err := first.Generator().NextContext(ctx)
				if err != nil {
					ended <- err
					return
				}
				last = max(last, id)
				time.Sleep(time.Millisecond) // spares the processor
			}
		}()

		entry := theEntry(t, store)
		must(t, store.Revoke(ctx, entry))
		revoked := theEntry(t, store)
		if revoked.Held || revoked.Epoch != entry.Epoch+1 || revoked.Horizon < entry.Horizon {
			t.Errorf("before %+v, after %+v", entry, revoked)
		}

		id, err := open().Generator().NextContext(ctx)
		must(t, err)
		wantErr(t, "the end of the revoked owner", <-ended, lease.ErrLost)
		layout := snowflake.Default()
		if end := layout.Start(revoked.Horizon); layout.Time(id).Before(end) || !layout.Time(last).Before(end) {
			t.Errorf("the horizon is %v; the last ID before is of %v, the first one after of %v", end, layout.Time(last), layout.Time(id))
		}
	})
}

// TestRevokeChangesOnlyTheOwnershipThatWasSeen also revokes a reserved worker.
func TestRevokeChangesOnlyTheOwnershipThatWasSeen(t *testing.T) {
	eachSQL(t, func(t *testing.T, target testdb.Target, dialect sqldb.Dialect) {
		ctx, db := t.Context(), target.Open(t)
		store := newSQL(t, db, dialect)
		grant := mustAcquire(t, store, sqlRequest("n", 5, 5))
		seen := theEntry(t, store)
		must(t, store.Release(ctx, grant.Claim, 0))
		grant = mustAcquire(t, store, sqlRequest("n", 5, 5))
		mustExtend(t, store, keep(grant.Claim), 5000)
		for _, e := range []leasestore.Entry{seen, {Claim: leasestore.Claim{Namespace: "x", Worker: 5, Epoch: 2}}} {
			wantErr(t, fmt.Sprintf("%+v", e), store.Revoke(ctx, e), lease.ErrLost)
		}

		century := sqlRequest("reserved", 7, 7)
		century.TTL, century.Holder = 250*365*24*time.Hour, leasestore.ReservedHolder("orders")
		for range 2 { // the second call finds the row
			e := leasestore.Entry{Claim: mustAcquire(t, store, century).Claim}
			if e.Epoch != 1 {
				t.Errorf("the second reservation is %+v", e)
			}
			wantErr(t, "a worker that is reserved for a century", store.Revoke(ctx, e), lease.ErrLost)
		}

		exec(t, db, "DELETE FROM snowflake_leases WHERE namespace = 'reserved'")
		exec(t, db, "UPDATE snowflake_leases SET reserved_for = 'SQL functions' WHERE worker = 5")
		wantErr(t, "a reserved worker", store.Revoke(ctx, theEntry(t, store)), lease.ErrLost)
		if e := theEntry(t, store); !e.Held || e.Epoch != 2 || e.Horizon != 5000 {
			t.Errorf("the row has changed: %+v", e)
		}
	})
}

func theEntry(t *testing.T, store *sqllease.Store) leasestore.Entry {
	t.Helper()
	entries, err := store.List(t.Context(), "")
	if err != nil || len(entries) != 1 {
		t.Fatalf("%+v, %v, want one entry", entries, err)
	}
	return entries[0]
}
