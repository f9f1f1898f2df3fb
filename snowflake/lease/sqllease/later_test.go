package sqllease_test

import (
	"errors"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// laterMarks is what a later version does to keep this one out. The generation of the leases stops statements that wait for
// one of them, and have read the namespace before.
var laterMarks = []string{
	"UPDATE snowflake_namespaces SET protocol = 3, generation = generation + 1",
	"UPDATE snowflake_leases SET generation = generation + 1, revision = revision + 1",
}

// The statement has begun, and waits for the row, when a later version raises what the namespace requires.
func TestAStatementThatWaitedForALaterVersionIsRefused(t *testing.T) {
	for what, call := range map[string]struct {
		statement int64 // that waits
		run       func(t *testing.T, store *sqllease.Store, c leasestore.Claim) error
	}{
		"an extension": {1, func(t *testing.T, store *sqllease.Store, c leasestore.Claim) error {
			t.Helper()
			_, err := store.Extend(t.Context(), keep(c), 2000, time.Hour)
			return err
		}},
		"a takeover": {2, func(t *testing.T, store *sqllease.Store, _ leasestore.Claim) error {
			t.Helper()
			_, err := store.Acquire(t.Context(), sqlRequest("n", 7, 7))
			return err
		}},
	} {
		eachSQL(t, func(t *testing.T, target testdb.Target, dialect sqldb.Dialect) {
			db := target.Open(t)
			owner := newSQL(t, db, dialect)
			claim := mustAcquire(t, owner, sqlRequest("n", 7, 7)).Claim
			if call.statement == 2 {
				mustRelease(t, owner, claim)
			}
			err := whileLocked(t, target, dialect, db, laterMarks, call.statement, func(store *sqllease.Store) error { return call.run(t, store, claim) })
			var later *lease.VersionError
			if !errors.As(err, &later) || later.Version != "3" {
				t.Errorf("%s: %v, want a *VersionError", what, err)
			}
			if horizon := ask[int64](t, db, "SELECT horizon FROM snowflake_leases WHERE worker = 7"); horizon != 0 {
				t.Errorf("%s: horizon %d, want 0", what, horizon)
			}
			if err := owner.Release(t.Context(), claim, 0); err != nil { // no ID comes twice by it
				t.Errorf("Release: %v", err)
			}
		})
	}
}

// A later version marks the namespace while a worker is added, whose row it can't find.
func TestARowThatALaterVersionCouldNotFindIsRefused(t *testing.T) {
	eachSQL(t, func(t *testing.T, target testdb.Target, dialect sqldb.Dialect) {
		db := target.Open(t)
		var later *lease.VersionError
		owner := newSQL(t, db, dialect)
		claim := mustAcquire(t, owner, sqlRequest("n", 7, 7)).Claim
		const mark = "UPDATE snowflake_namespaces SET protocol = 3"
		store, _ := countedStore(t, db, target, dialect, func(n int64) {
			if n == 3 {
				exec(t, db, mark)
			}
		})
		if grant, err := store.Acquire(t.Context(), sqlRequest("n", 8, 8)); !errors.As(err, &later) {
			t.Errorf("a new worker: %+v, %v; want a *VersionError", grant, err)
		}
		if entries, err := store.List(t.Context(), "n"); err != nil || len(entries) != 1 {
			t.Errorf("%+v, %v; want the row of worker 7 alone", entries, err)
		}
		if _, err := owner.Extend(t.Context(), keep(claim), 2000, time.Hour); !errors.As(err, &later) {
			t.Errorf("a row that was added before: %v, want a *VersionError", err)
		}
	})
}
