package sqllease_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

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
		if err != nil {
			t.Fatal(err)
		}
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
		if err := store.Revoke(ctx, entry); err != nil {
			t.Fatal(err)
		}
		revoked := theEntry(t, store)
		if revoked.Held || revoked.Epoch != entry.Epoch+1 || revoked.Horizon < entry.Horizon {
			t.Errorf("before %+v, after %+v", entry, revoked)
		}
		id, err := open().Generator().NextContext(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := <-ended; !errors.Is(err, lease.ErrLost) {
			t.Errorf("the revoked owner ended with %v, want ErrLost", err)
		}
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
		if err := store.Release(ctx, grant.Claim, 0); err != nil {
			t.Fatal(err)
		}
		grant = mustAcquire(t, store, sqlRequest("n", 5, 5))
		mustExtend(t, store, keep(grant.Claim), 5000)
		for _, e := range []leasestore.Entry{seen, {Claim: leasestore.Claim{Namespace: "x", Worker: 5, Epoch: 2}}} {
			if err := store.Revoke(ctx, e); !errors.Is(err, lease.ErrLost) {
				t.Errorf("%+v: %v, want ErrLost", e, err)
			}
		}
		century := sqlRequest("reserved", 7, 7)
		century.TTL, century.Holder = 250*365*24*time.Hour, leasestore.ReservedHolder("orders")
		for range 2 { // the second call finds the row
			e := leasestore.Entry{Claim: mustAcquire(t, store, century).Claim}
			if err := store.Revoke(ctx, e); e.Epoch != 1 || !errors.Is(err, lease.ErrLost) {
				t.Errorf("a worker that is reserved for a century: %v, want ErrLost", err)
			}
		}
		exec(t, db, "DELETE FROM snowflake_leases WHERE namespace = 'reserved'")
		exec(t, db, "UPDATE snowflake_leases SET reserved_for = 'SQL functions' WHERE worker = 5")
		if err := store.Revoke(ctx, theEntry(t, store)); !errors.Is(err, lease.ErrLost) {
			t.Errorf("a reserved worker: %v, want ErrLost", err)
		}
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
