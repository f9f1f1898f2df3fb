package sqllease_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
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
	wantErr(t, "another dialect", errOf(sqllease.Open(t.Context(), silent{}, "oracle")), lease.ErrOption)
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		_, err := sqllease.Open(t.Context(), silent{}, sqldb.Postgres)
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != lease.DefaultWindow {
			t.Errorf("a database that does not answer: %v after %v", err, time.Since(start))
		}
	})
	db := testdb.SQLite(t).Open(t)
	wantErr(t, "a nil option", errOf(sqllease.Open(t.Context(), db, sqldb.SQLite, nil)), lease.ErrOption)
}

// The application holds the only connection beyond the horizon, and takes it again as soon as it has given it back.
func TestAPoolOfOneExtendsWheneverItsConnectionIsFree(t *testing.T) {
	eachSQL(t, func(t *testing.T, target testdb.Target, dialect sqldb.Dialect) {
		const window = 500 * time.Millisecond
		db := target.Open(t)
		db.SetMaxOpenConns(1)
		l, err := lease.Open(t.Context(), newSQL(t, db, dialect), lease.WithWindow(window),
			lease.WithMaxSkew(time.Minute), lease.WithLogger(slog.New(slog.DiscardHandler)))
		must(t, err)

		revision := int64(-1)
		var conn *sql.Conn
		for n := range 6 {
			if conn, err = db.Conn(t.Context()); err != nil {
				t.Fatal(err)
			}
			before := revision
			row := conn.QueryRowContext(t.Context(), "SELECT revision FROM snowflake_leases")
			must(t, row.Scan(&revision))
			if revision == before {
				t.Error("the connection was free, and the lease has not used it")
			}
			time.Sleep(window * 5 / 4)
			if n == 5 {
				time.AfterFunc(window, func() { _ = conn.Close() })
			} else {
				must(t, conn.Close())
			}
		}

		must(t, l.Close(t.Context())) // it waits for the connection
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
		"Acquire": func(ctx context.Context) error { return errOf(store.Acquire(ctx, sqlRequest("n", 0, 0))) },
		"Extend":  func(ctx context.Context) error { return errOf(store.Extend(ctx, c, 1, time.Hour)) },
		"Release": func(ctx context.Context) error { return store.Release(ctx, c, 0) },
		"List":    func(ctx context.Context) error { return errOf(store.List(ctx, "n")) },
		"Revoke":  func(ctx context.Context) error { return store.Revoke(ctx, leasestore.Entry{Claim: c}) },
	}
}

func TestCallsEndWithTheirContextWhileSQLiteIsLocked(t *testing.T) {
	target := testdb.SQLite(t)
	target.DSN = strings.NewReplacer("_journal_mode=WAL", "_journal_mode=DELETE", "=10000", "=60000").Replace(target.DSN)
	store := newSQL(t, target.Open(t), sqldb.SQLite)
	grant := mustAcquire(t, store, sqlRequest("n", 0, 0))
	conn, err := target.Open(t).Conn(t.Context())
	must(t, err)
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
		db, store := openSQL(t, target, dialect)
		grant := mustAcquire(t, store, sqlRequest("n", 0, 0))
		must(t, db.Close())
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		for name, call := range calls(store, keep(grant.Claim)) {
			wantErr(t, name+" with an ended context", call(ended), os.ErrClosed)
			err := call(t.Context())
			wantErr(t, name, err, os.ErrClosed, "sql: database is closed")
			if errors.Is(err, lease.ErrLost) || strings.Contains(fmt.Sprint(err), "file") {
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
			return extendErr(t, store, keep(c), 2000)
		}},
		"a takeover": {2, func(t *testing.T, store *sqllease.Store, _ leasestore.Claim) error {
			return errOf(store.Acquire(t.Context(), sqlRequest("n", 7, 7)))
		}},
	} {
		eachSQL(t, func(t *testing.T, target testdb.Target, dialect sqldb.Dialect) {
			db, owner := openSQL(t, target, dialect)
			claim := mustAcquire(t, owner, sqlRequest("n", 7, 7)).Claim
			if call.statement == 2 {
				mustRelease(t, owner, claim)
			}

			err := whileLocked(t, target, dialect, db, laterMarks, call.statement, func(store *sqllease.Store) error { return call.run(t, store, claim) })
			var later *lease.VersionError
			if !errors.As(err, &later) || later.Version != "3" {
				t.Errorf("%s: %v, want a *VersionError", what, err)
			}

			wantEqual(t, what, ask[int64](t, db, "SELECT horizon FROM snowflake_leases WHERE worker = 7"), 0)
			must(t, owner.Release(t.Context(), claim, 0)) // no ID comes twice by it
		})
	}
}

// A later version marks the namespace while a worker is added, whose row it can't find.
func TestARowThatALaterVersionCouldNotFindIsRefused(t *testing.T) {
	eachSQL(t, func(t *testing.T, target testdb.Target, dialect sqldb.Dialect) {
		db, owner := openSQL(t, target, dialect)
		var later *lease.VersionError
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

		if err := extendErr(t, owner, keep(claim), 2000); !errors.As(err, &later) {
			t.Errorf("a row that was added before: %v, want a *VersionError", err)
		}
	})
}
