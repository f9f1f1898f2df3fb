package sqllease_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// calls are those that talk to the database.
func calls(store *sqllease.Store, c leasestore.Claim) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"Acquire": func(ctx context.Context) error { _, err := store.Acquire(ctx, sqlRequest("n", 0, 0)); return err },
		"Extend":  func(ctx context.Context) error { _, err := store.Extend(ctx, c, 1, time.Hour); return err },
		"Release": func(ctx context.Context) error { return store.Release(ctx, c, 0) },
		"List":    func(ctx context.Context) error { _, err := store.List(ctx, "n"); return err },
		"Revoke":  func(ctx context.Context) error { return store.Revoke(ctx, leasestore.Entry{Claim: c}) },
	}
}

func TestCallsEndWithTheirContextWhileSQLiteIsLocked(t *testing.T) {
	target := testdb.SQLite(t)
	target.DSN = strings.NewReplacer("_journal_mode=WAL", "_journal_mode=DELETE", "=10000", "=60000").Replace(target.DSN)
	store := newSQL(t, target.Open(t), sqldb.SQLite)
	grant := mustAcquire(t, store, sqlRequest("n", 0, 0))
	conn, err := target.Open(t).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	exec(t, conn, "BEGIN EXCLUSIVE")
	all := calls(store, keep(grant.Claim))
	all["Migrate"] = store.Migrate
	for name, call := range all {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		start := time.Now()
		if err := call(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 30*time.Second {
			t.Errorf("%s: %v after %v, want DeadlineExceeded at once", name, err, time.Since(start))
		}
		cancel()
	}
	exec(t, conn, "ROLLBACK") // so that the statements end
}

// The error is final for a lease: see TestALeaseEndsWhenItsStoreIsClosed in package lease.
func TestAPoolThatIsClosedIsFinal(t *testing.T) {
	eachSQL(t, func(t *testing.T, target testdb.Target, dialect sqldb.Dialect) {
		db := target.Open(t)
		store := newSQL(t, db, dialect)
		grant := mustAcquire(t, store, sqlRequest("n", 0, 0))
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		for name, call := range calls(store, keep(grant.Claim)) {
			if err := call(ended); !errors.Is(err, os.ErrClosed) {
				t.Errorf("%s with an ended context: error %v, want os.ErrClosed", name, err)
			}
			err := call(t.Context())
			if !errors.Is(err, os.ErrClosed) || errors.Is(err, lease.ErrLost) {
				t.Errorf("%s: error %v, want os.ErrClosed", name, err)
			} else if !strings.HasSuffix(err.Error(), "sql: database is closed") || strings.Contains(err.Error(), "file") {
				t.Errorf("%s: the error says %q", name, err)
			}
		}
	})
}
