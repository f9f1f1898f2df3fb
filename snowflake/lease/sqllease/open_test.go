package sqllease_test

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// silent is a database that does not answer.
type silent struct{}

func (silent) ExecContext(ctx context.Context, _ string, _ ...any) (sql.Result, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (silent) QueryContext(ctx context.Context, _ string, _ ...any) (*sql.Rows, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestOpenReturnsTheErrorsOfEachStep(t *testing.T) {
	if _, err := sqllease.Open(t.Context(), silent{}, "oracle"); !errors.Is(err, lease.ErrOption) {
		t.Errorf("another dialect: %v, want ErrOption", err)
	}
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		_, err := sqllease.Open(t.Context(), silent{}, sqldb.Postgres)
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != lease.DefaultWindow {
			t.Errorf("a database that does not answer: %v after %v", err, time.Since(start))
		}
	})
	target := testdb.SQLite(t)
	if _, err := sqllease.Open(t.Context(), target.Open(t), sqldb.SQLite, nil); !errors.Is(err, lease.ErrOption) {
		t.Errorf("a nil option: %v, want ErrOption", err)
	}
}

// The application holds the only connection beyond the horizon, and takes it again as soon as it has given it back.
func TestAPoolOfOneExtendsWheneverItsConnectionIsFree(t *testing.T) {
	eachSQL(t, func(t *testing.T, target testdb.Target, dialect sqldb.Dialect) {
		const window = 500 * time.Millisecond
		db := target.Open(t)
		db.SetMaxOpenConns(1)
		l, err := lease.Open(t.Context(), newSQL(t, db, dialect), lease.WithWindow(window),
			lease.WithMaxSkew(time.Minute), lease.WithLogger(slog.New(slog.DiscardHandler)))
		if err != nil {
			t.Fatal(err)
		}

		revision := int64(-1)
		var conn *sql.Conn
		for n := range 6 {
			if conn, err = db.Conn(t.Context()); err != nil {
				t.Fatal(err)
			}
			before := revision
			row := conn.QueryRowContext(t.Context(), "SELECT revision FROM snowflake_leases")
			if err := row.Scan(&revision); err != nil {
				t.Fatal(err)
			}
			if revision == before {
				t.Error("the connection was free, and the lease has not used it")
			}
			time.Sleep(window * 5 / 4)
			if n == 5 {
				time.AfterFunc(window, func() { _ = conn.Close() })
			} else if err := conn.Close(); err != nil {
				t.Fatal(err)
			}
		}

		if err := l.Close(t.Context()); err != nil { // it waits for the connection
			t.Error(err)
		}
		for start := time.Now(); db.Stats().InUse > 0; time.Sleep(time.Millisecond) {
			if time.Since(start) > time.Minute {
				t.Fatalf("the lease has kept a connection: %+v", db.Stats())
			}
		}
	})
}

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
