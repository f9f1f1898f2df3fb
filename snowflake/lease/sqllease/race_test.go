package sqllease_test

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// exec runs a statement of the test's own.
func exec(t testing.TB, db interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}, query string,
) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), query); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// The earlier owner raises the horizon after Acquire has looked and before it takes the worker over. A transaction
// holds the row meanwhile.
func TestTheHorizonOfAGrantIsReadAfterTheTakeover(t *testing.T) {
	eachSQL(t, func(t *testing.T, target testdb.Target, dialect sqldb.Dialect) {
		owner := target.Open(t)
		store := newSQL(t, owner, dialect)
		grant := mustAcquire(t, store, sqlRequest("n", 7, 7))
		mustRelease(t, store, grant.Claim)
		looked := make(chan struct{})
		asker, _ := countedStore(t, owner, target, dialect, func(n int64) {
			if n == 2 { // the first one has looked
				close(looked)
			}
		})
		tx, err := owner.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		exec(t, tx, "UPDATE snowflake_leases SET horizon = 5000, revision = revision + 1 WHERE worker = 7")
		type answer struct {
			grant lease.Grant
			err   error
		}
		answers := make(chan answer, 1)
		go func() {
			next, err := asker.Acquire(t.Context(), sqlRequest("n", 7, 7))
			answers <- answer{next, err}
		}()
		<-looked
		select {
		case got := <-answers:
			t.Fatalf("Acquire did not wait for the row: %+v, %v", got.grant, got.err)
		case <-time.After(20 * time.Millisecond): // most likely it waits for the row by now
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		got := <-answers
		if got.err != nil || got.grant.Horizon != 5000 || got.grant.Epoch != 2 {
			t.Errorf("horizon %d, epoch %d, error %v; want 5000, 2", got.grant.Horizon, got.grant.Epoch, got.err)
		}
	})
}

// The row of RETURNING arrives before the commit, which a deferred constraint refuses.
func TestAnExtensionThatIsNotCommittedIsAnError(t *testing.T) {
	db := testdb.Postgres(t).Open(t)
	store := newSQL(t, db, sqldb.Postgres)
	grant := mustAcquire(t, store, sqlRequest("n", 0, 0))
	exec(t, db, "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''no''; END'")
	exec(t, db, "CREATE CONSTRAINT TRIGGER refuse AFTER UPDATE ON snowflake_leases DEFERRABLE INITIALLY DEFERRED "+
		"FOR EACH ROW EXECUTE FUNCTION refuse()")
	if now, err := store.Extend(t.Context(), keep(grant.Claim), 10, time.Hour); err == nil || errors.Is(err, lease.ErrLost) {
		t.Errorf("Extend: %v, %v", now, err)
	}
}

// The earlier owner is alive and extends after the look, so the row is not free any more.
func TestAWorkerThatWasExtendedMeanwhileIsNotTakenOver(t *testing.T) {
	eachSQL(t, func(t *testing.T, target testdb.Target, dialect sqldb.Dialect) {
		db := target.Open(t)
		store := newSQL(t, db, dialect)
		grant := mustAcquire(t, store, sqlRequest("n", 7, 8))
		mustRelease(t, store, grant.Claim)
		asker, _ := countedStore(t, db, target, dialect, func(n int64) {
			if n == 2 {
				mustExtend(t, store, keep(grant.Claim), 10)
			}
		})
		next, err := asker.Acquire(t.Context(), sqlRequest("n", 7, 8))
		if err != nil || next.Worker != 8 {
			t.Errorf("worker %d, error %v; want 8, since 7 is held again", next.Worker, err)
		}
		mustExtend(t, store, keep(grant.Claim), 20)
	})
}

// Sessions have different time zones, and databases different default isolation levels.
func TestSessionsDoNotMatter(t *testing.T) {
	const (
		postgres = "&TimeZone=Asia/Kathmandu&default_transaction_isolation=serializable"
		mariadb  = "&time_zone=%27-07:30%27&sql_mode=%27%27"
	)
	isolation := "&tx_isolation=%27SERIALIZABLE%27"
	if testdb.MariaDB(t).IsMySQL() {
		isolation = "&transaction_isolation=%27SERIALIZABLE%27"
	}
	for _, target := range []sqlTarget{
		{name: "postgres", dialect: sqldb.Postgres, open: withDSN(testdb.Postgres, postgres)},
		{name: "mariadb", dialect: sqldb.MySQL, open: withDSN(testdb.MariaDB, mariadb+isolation)},
	} {
		t.Run(target.name, func(t *testing.T) {
			store := newSQL(t, target.open(t).Open(t), target.dialect)
			grant := mustAcquire(t, store, sqlRequest("n", 0, 0))
			now, err := store.Extend(t.Context(), keep(grant.Claim), 1, time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			// The server's time must be right within minutes; time zones differ by more.
			for what, got := range map[string]time.Time{"Acquire": grant.Now, "Extend": now} {
				if d := time.Since(got).Abs(); d > 10*time.Minute {
					t.Errorf("%s returned %v, which is off by %v", what, got, d)
				}
			}
		})
	}
}

func TestTheNamespacesOwnRowCannotBeClaimed(t *testing.T) {
	eachSQL(t, func(t *testing.T, target testdb.Target, dialect sqldb.Dialect) {
		db := target.Open(t)
		store := newSQL(t, db, dialect)
		mustAcquire(t, store, sqlRequest("n", 0, 0))
		claim := lease.Claim{Namespace: "n", Worker: -1, Next: leasetest.NewToken()}
		if _, err := store.Extend(t.Context(), claim, 5, time.Hour); err == nil {
			t.Error("Extend: no error")
		}
		if err := store.Release(t.Context(), claim, math.MaxInt64); err == nil {
			t.Error("Release: no error")
		}
		var horizon, revision int64
		row := db.QueryRowContext(t.Context(), "SELECT horizon, revision FROM snowflake_leases WHERE worker = -1")
		if err := row.Scan(&horizon, &revision); err != nil || horizon != 0 || revision != 0 {
			t.Errorf("horizon %d, revision %d, error %v; want 0, 0", horizon, revision, err)
		}
	})
}

func TestMigrateTakesATableOfItsOwnOnly(t *testing.T) {
	eachSQL(t, func(t *testing.T, target testdb.Target, dialect sqldb.Dialect) {
		db := target.Open(t)
		exec(t, db, "CREATE TABLE snowflake_leases (id bigint)")
		store, err := sqllease.New(db, dialect)
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Migrate(t.Context()); err == nil {
			t.Error("a table with other columns was taken")
		}
	})
}
