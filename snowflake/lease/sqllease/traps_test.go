package sqllease_test

import (
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// Whoever may only create objects in a schema of the search_path runs nothing as a process with a lease.
func TestNoCodeOfAStrangerRuns(t *testing.T) {
	testdb.EachTrapped(t, func(t *testing.T, victim testdb.Trapped) {
		db := victim.Open(t)
		opened, err := sqllease.Open(t.Context(), db, sqldb.Postgres, lease.WithNamespace("opened"))
		if err == nil {
			err = opened.Close(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		store := newSQL(t, db, sqldb.Postgres)
		leasetest.Run(t, func(*testing.T) leasestore.Store { return store }, settings(victim.Safe))
		clear(t, victim.Safe)

		// A share, a failover, and the extensions after it.
		if err := store.SetShare(t.Context(), "n", snowflake.Default(), 0, 2); err != nil {
			t.Fatal(err)
		}
		r := layoutRequest(snowflake.Default(), 0, 2)
		r.Reach = time.Minute
		known, assured := mustAcquire(t, store, r).Claim, mustAcquire(t, store, layoutRequest(snowflake.Default(), 0, 2)).Claim
		exec(t, victim.Safe, "UPDATE snowflake_namespaces SET server = 'another'")
		mustExtend(t, store, keep(known), tickAt(snowflake.Default(), time.Now()))
		assured.Deadline = far{}
		mustExtend(t, store, keep(assured), tickAt(snowflake.Default(), time.Now()))
		mustRelease(t, store, known)
		mustRelease(t, store, assured)
		entries, err := store.List(t.Context(), "")
		if err != nil || len(entries) < 2 {
			t.Fatalf("%d workers, %v", len(entries), err)
		}
		for _, entry := range entries {
			if err := store.Revoke(t.Context(), entry); err != nil {
				t.Error(err)
			}
		}
	})
}
