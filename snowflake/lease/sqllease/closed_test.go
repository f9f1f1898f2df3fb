package sqllease_test

import (
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
)

// A lease stops asking a pool that was closed for good.
func TestALeaseEndsWhenItsPoolIsClosed(t *testing.T) {
	eachSQL(t, func(t *testing.T, target testdb.Target, dialect sqllease.Dialect) {
		db := target.Open(t)
		failed := make(chan error, 100)
		l, err := lease.Open(t.Context(), newSQL(t, db, dialect), lease.WithWindow(300*time.Millisecond),
			lease.WithLogger(slog.New(slog.DiscardHandler)),
			lease.WithHook(func(e lease.Event) {
				if e.Kind == lease.Failed && errors.Is(e.Err, os.ErrClosed) {
					failed <- e.Err
				}
			}))
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-failed; !strings.HasSuffix(err.Error(), "sql: database is closed") || strings.Contains(err.Error(), "file") {
			t.Errorf("the event says %q", err)
		}
		for { // up to the horizon, and no further
			if _, err = l.Generator().NextContext(t.Context()); err != nil {
				break
			}
		}
		if !errors.Is(err, os.ErrClosed) {
			t.Errorf("NextContext: %v, want os.ErrClosed", err)
		}
		if err := l.Close(t.Context()); !errors.Is(err, os.ErrClosed) {
			t.Errorf("Close: %v, want os.ErrClosed", err)
		}
		if len(failed) > 0 {
			t.Error("the pool was asked again")
		}
	})
}
