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
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
)

// The error is final for a lease: see TestALeaseEndsWhenItsStoreIsClosed in package lease.
func TestAPoolThatIsClosedIsFinal(t *testing.T) {
	eachSQL(t, func(t *testing.T, target testdb.Target, dialect sqllease.Dialect) {
		db := target.Open(t)
		store := newSQL(t, db, dialect)
		grant, err := store.Acquire(t.Context(), sqlRequest("n", 0, 0))
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		claim := keep(grant.Claim)
		for name, call := range map[string]func(ctx context.Context) error{
			"Acquire": func(ctx context.Context) error { _, err := store.Acquire(ctx, sqlRequest("n", 0, 0)); return err },
			"Extend":  func(ctx context.Context) error { _, err := store.Extend(ctx, claim, 1, time.Hour); return err },
			"Release": func(ctx context.Context) error { return store.Release(ctx, claim, 0) },
			"List":    func(ctx context.Context) error { _, err := store.List(ctx, "n"); return err },
		} {
			err := call(t.Context())
			if !errors.Is(err, os.ErrClosed) || errors.Is(err, lease.ErrLost) {
				t.Errorf("%s: error %v, want os.ErrClosed", name, err)
			} else if !strings.HasSuffix(err.Error(), "sql: database is closed") || strings.Contains(err.Error(), "file") {
				t.Errorf("%s: the error says %q", name, err)
			}
		}
	})
}
