package sqllease_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
)

// The row of the namespace says that another server has served it, as on a replica that was promoted. SQLite has no
// servers. Package processtest promotes real replicas.
func TestAnotherServerSetsAFloor(t *testing.T) {
	const reach = time.Hour
	eachSQL(t, func(t *testing.T, target testdb.Target, dialect sqllease.Dialect) {
		count := &counter{driver: target.Open(t).Driver(), dsn: target.DSN}
		db := sql.OpenDB(count)
		t.Cleanup(func() { _ = db.Close() })
		store := newSQL(t, db, dialect)
		acquire := func(worker int64, reach time.Duration) (lease.Grant, int64) {
			t.Helper()
			r := sqlRequest("n", worker, worker)
			r.Reach = reach
			before := count.statements.Load()
			grant, err := store.Acquire(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			return grant, count.statements.Load() - before
		}
		expired, _ := acquire(0, time.Second)
		goesOn, _ := acquire(1, reach)
		released, _ := acquire(2, 0)
		if !expired.Floor.IsZero() || !goesOn.Floor.IsZero() || !released.Floor.IsZero() {
			t.Fatalf("a floor without a failover: %v, %v, %v", expired.Floor, goesOn.Floor, released.Floor)
		}
		if _, err := store.Extend(t.Context(), keep(released.Claim), 70, time.Hour); err != nil {
			t.Fatal(err)
		}
		if err := store.Release(t.Context(), released.Claim, math.MaxInt64); err != nil {
			t.Fatal(err)
		}
		exec(t, db, "UPDATE snowflake_leases SET expires_ms = 1 WHERE worker = 0")
		exec(t, db, "UPDATE snowflake_leases SET host = 'another' WHERE worker = -1")

		for range 2 { // the second time the server is known
			_, err := store.Extend(t.Context(), keep(goesOn.Claim), 50, time.Hour)
			if err != nil {
				t.Errorf("an owner that had not expired: %v", err)
			}
			if _, err = store.Extend(t.Context(), keep(expired.Claim), 50, time.Hour); (dialect != sqllease.SQLite) != errors.Is(err, lease.ErrLost) {
				t.Errorf("an owner that had expired: %v", err)
			}
		}
		next, n := acquire(2, time.Second)
		if dialect == sqllease.SQLite {
			if !next.Floor.IsZero() {
				t.Errorf("the floor is %v, want none", next.Floor)
			}
			return
		}
		if d := next.Floor.Sub(next.Now); next.Horizon != 70 || n != 2 || d > reach || d < reach-time.Minute {
			t.Errorf("horizon %d, floor %v ahead of the clock, %d statements; want 70, %v, 2", next.Horizon, d, n, reach)
		}
		// As does one that was never taken, and a greater reach, which the namespace notes.
		for i, want := range []int64{3, 5, 3} {
			wanted := reach * time.Duration(min(1+i, 2))
			grant, n := acquire(3+int64(i), wanted)
			if grant.Floor.Sub(next.Floor) != wanted-reach || n != want {
				t.Errorf("floor %v, %d statements; want %v and %d", grant.Floor, n, next.Floor.Add(wanted-reach), want)
			}
		}
		exec(t, db, "UPDATE snowflake_leases SET host = 'a third', expires_ms = 1 WHERE worker = -1")
		grant, n := acquire(6, 0)
		if d := grant.Floor.Sub(grant.Now); n != 6 || d > 2*reach || d < 2*reach-time.Minute {
			t.Errorf("floor %v ahead of the clock, %d statements; want %v and 6", d, n, 2*reach)
		}
	})
}

// The pool leads to another server after the look and before the worker is taken. What that server has can differ from
// what was seen in any way; its revision can be the same.
func TestAServerThatChangesDuringAnAcquisitionSetsAFloor(t *testing.T) {
	const update, seen = "UPDATE snowflake_leases SET ", 1_000_000_000_000
	eachSQL(t, func(t *testing.T, target testdb.Target, dialect sqllease.Dialect) {
		if dialect == sqllease.SQLite {
			return
		}
		db := target.Open(t)
		store := newSQL(t, db, dialect)
		if _, err := store.Acquire(t.Context(), sqlRequest("n", 0, 0)); err != nil {
			t.Fatal(err)
		}
		worker := int64(1)
		for what, change := range map[string]string{
			"no process has called it yet":             "host = 'another', revision = revision + 1",
			"another process has, and has set a floor": fmt.Sprintf("expires_ms = %d", int64(seen+1)),
			"the same, after other changes":            fmt.Sprintf("expires_ms = %d, revision = revision + 1", int64(seen+1)),
			"its reach is greater":                     "horizon = horizon + 1",
			"its reach is greater, after one change":   "horizon = horizon + 1, revision = revision + 1",
		} {
			for _, floor := range []int64{0, seen} {
				for _, statement := range []int64{3, 2} { // of a new worker, then of a takeover of it
					exec(t, db, fmt.Sprintf(update+"expires_ms = %d, horizon = 3600000 WHERE worker = -1", floor))
					exec(t, db, fmt.Sprintf(update+"expires_ms = 0 WHERE worker = %d", worker))
					count := &counter{driver: db.Driver(), dsn: target.DSN, before: func(n int64) {
						if n == statement {
							exec(t, db, update+change+" WHERE worker = -1")
						}
					}}
					count.statements.Store(-10) // before those of Acquire
					pool := sql.OpenDB(count)
					defer pool.Close()
					asker := newSQL(t, pool, dialect)
					count.statements.Store(0)
					r := sqlRequest("n", worker, worker)
					r.Reach, r.Token = time.Hour, leasetest.NewToken()
					grant, err := asker.Acquire(t.Context(), r)
					if err != nil || grant.Worker != worker {
						t.Fatalf("%s: worker %d, %v", what, grant.Worker, err)
					}
					var changed, reach int64
					if err := db.QueryRowContext(t.Context(),
						"SELECT expires_ms, horizon FROM snowflake_leases WHERE worker = -1").Scan(&changed, &reach); err != nil {
						t.Fatal(err)
					}
					want := time.UnixMilli(changed + reach)
					if changed == 0 {
						want = time.Time{}
					}
					if !grant.Floor.Equal(want) {
						t.Errorf("%s, statement %d, floor before %d: floor %v, want %v", what, statement, floor, grant.Floor, want)
					}
				}
				worker++
			}
		}
	})
}

// troubled answers the question what server it is with an error.
type troubled struct {
	*sql.DB
	state string
}

func (d troubled) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if strings.Contains(query, "version()") {
		return nil, &pgconn.PgError{Code: d.state}
	}
	return d.DB.QueryContext(ctx, query, args...)
}

// Any other error may pass, and without an identity a failover would not be seen. A role without the right to ask is
// told so.
func TestOnlyAServerThatHasNoIdentityIsUsedWithoutOne(t *testing.T) {
	db := testdb.Postgres(t).Open(t)
	newSQL(t, db, sqllease.Postgres)
	for state, want := range map[string]bool{
		"42883": true, "42501": true, "0A000": true, "55000": true,
		"42P05": false, "42601": false, "55P03": false, "08006": false, // 42P05 comes from poolers
	} {
		store, err := sqllease.New(troubled{db, state}, sqllease.Postgres)
		if err != nil {
			t.Fatal(err)
		}
		grant, err := store.Acquire(t.Context(), sqlRequest(state, 0, 0))
		if (err == nil) != want {
			t.Errorf("SQLSTATE %s: %v", state, err)
		}
		if (grant.Warning != nil) != (state == "42501") {
			t.Errorf("SQLSTATE %s: the warning is %v", state, grant.Warning)
		}
	}
}

// Another caller is the first one on the new server, after the extension has failed because of it.
func TestAnExtensionGoesOnWhenAnotherCallerHasMetTheServer(t *testing.T) {
	extendWith(t, func(db *sql.DB, host string, n int64) {
		if n == 2 {
			exec(t, db, "UPDATE snowflake_leases SET host = '"+host+"' WHERE worker = -1")
		}
	}, func(err error) bool { return err == nil })
}

func TestAnExtensionThatFindsAnotherServerEachTimeEnds(t *testing.T) {
	extendWith(t, func(db *sql.DB, _ string, n int64) {
		if n < 100 { // so that an extension that goes on for ever succeeds
			exec(t, db, "UPDATE snowflake_leases SET host = 'another' WHERE worker = -1")
		}
	}, func(err error) bool { return err != nil && !errors.Is(err, lease.ErrLost) })
}

// extendWith extends a lease after a failover. before is called before each statement, with what the namespace had as
// its server before the failover.
func extendWith(t *testing.T, before func(db *sql.DB, host string, n int64), want func(error) bool) {
	t.Helper()
	eachSQL(t, func(t *testing.T, target testdb.Target, dialect sqllease.Dialect) {
		if dialect == sqllease.SQLite {
			return
		}
		db := target.Open(t)
		grant, err := newSQL(t, db, dialect).Acquire(t.Context(), sqlRequest("n", 0, 0))
		if err != nil {
			t.Fatal(err)
		}
		var host string
		if err := db.QueryRowContext(t.Context(), "SELECT host FROM snowflake_leases WHERE worker = -1").Scan(&host); err != nil {
			t.Fatal(err)
		}
		count := &counter{driver: db.Driver(), dsn: target.DSN}
		pool := sql.OpenDB(count)
		defer pool.Close()
		store := newSQL(t, pool, dialect)
		exec(t, db, "UPDATE snowflake_leases SET host = 'another' WHERE worker = -1")
		count.statements.Store(0)
		count.before = func(n int64) { before(db, host, n) }
		if _, err := store.Extend(t.Context(), keep(grant.Claim), 10, time.Hour); !want(err) {
			t.Error(err)
		}
	})
}

// outdated has another identity for the server than others, until it is asked a second time what it is.
type outdated struct {
	*sql.DB
	asked *int
}

func (d outdated) text(query string) string {
	if *d.asked == 1 {
		return strings.NewReplacer("'server '", "'before '", "@@server_uuid", "'before'").Replace(query)
	}
	return query
}

func (d outdated) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return d.DB.ExecContext(ctx, d.text(query), args...)
}

func (d outdated) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if strings.HasPrefix(query, "SHOW VARIABLES") {
		*d.asked++
	}
	return d.DB.QueryContext(ctx, d.text(query), args...)
}

// A process that has run since before the server has another identity must not move the floor at each call.
func TestAProcessLearnsThatItsServerHasAnotherIdentity(t *testing.T) {
	db := testdb.MariaDB(t).Open(t)
	young := newSQL(t, db, sqllease.MySQL)
	var olds []*sqllease.Store
	var grants []lease.Grant
	for i := range int64(2) {
		old := newSQL(t, outdated{db, new(int)}, sqllease.MySQL)
		grant, err := old.Acquire(t.Context(), sqlRequest("n", i, i))
		if err != nil {
			t.Fatal(err)
		}
		olds, grants = append(olds, old), append(grants, grant)
	}
	if grant, err := young.Acquire(t.Context(), sqlRequest("n", 2, 2)); err != nil || grant.Floor.IsZero() {
		t.Fatalf("the server has another identity: floor %v, %v", grant.Floor, err)
	}
	exec(t, db, "UPDATE snowflake_leases SET expires_ms = 1 WHERE worker = -1")
	if _, err := olds[0].Extend(t.Context(), keep(grants[0].Claim), 10, time.Hour); err != nil {
		t.Error(err)
	}
	if _, err := olds[1].Acquire(t.Context(), sqlRequest("n", 3, 3)); err != nil {
		t.Error(err)
	}
	grant, err := young.Acquire(t.Context(), sqlRequest("n", 4, 4))
	if err != nil || grant.Floor.After(time.UnixMilli(1).Add(time.Hour)) {
		t.Errorf("the floor has moved: %v, %v", grant.Floor, err)
	}
}

func TestAVariableOfTheSessionIsNoIdentity(t *testing.T) {
	target := testdb.MariaDB(t)
	target.NeedMariaDB(t, "server_id of a session")
	session, err := sql.Open("mysql", target.DSN+"&server_id=77")
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	for i, db := range []*sql.DB{target.Open(t), session} {
		worker := int64(i)
		if grant, err := newSQL(t, db, sqllease.MySQL).Acquire(t.Context(), sqlRequest("n", worker, worker)); err != nil || !grant.Floor.IsZero() {
			t.Errorf("worker %d: floor %v, %v", worker, grant.Floor, err)
		}
	}
}

// The second of two failovers leads to a server whose clock is behind the time of the first one.
func TestAServerWithAClockBehindTheLastFailoverKeepsTheFloor(t *testing.T) {
	eachSQL(t, func(t *testing.T, target testdb.Target, dialect sqllease.Dialect) {
		if dialect == sqllease.SQLite {
			return
		}
		db := target.Open(t)
		store := newSQL(t, db, dialect)
		owner, err := store.Acquire(t.Context(), sqlRequest("n", 0, 0)) // for an hour
		if err != nil {
			t.Fatal(err)
		}
		changed := time.Now().Add(2 * time.Hour).Truncate(time.Millisecond)
		exec(t, db, fmt.Sprintf("UPDATE snowflake_leases SET host = 'another', expires_ms = %d WHERE worker = -1", changed.UnixMilli()))
		if _, err := store.Extend(t.Context(), keep(owner.Claim), 10, time.Hour); err != nil {
			t.Errorf("an owner that has not expired: %v", err)
		}
		if next, err := store.Acquire(t.Context(), sqlRequest("n", 1, 1)); err != nil || !next.Floor.Equal(changed) {
			t.Errorf("floor %v, %v; want %v", next.Floor, err, changed)
		}
	})
}

// A row that was written without an identity, for example before the role might ask for it.
func TestTheFirstIdentityIsNoFailover(t *testing.T) {
	eachSQL(t, func(t *testing.T, target testdb.Target, dialect sqllease.Dialect) {
		db := target.Open(t)
		store := newSQL(t, db, dialect)
		for worker := range int64(2) {
			grant, err := store.Acquire(t.Context(), sqlRequest("n", worker, worker))
			if err != nil || !grant.Floor.IsZero() {
				t.Errorf("worker %d: floor %v, %v", worker, grant.Floor, err)
			}
			exec(t, db, "UPDATE snowflake_leases SET host = '' WHERE worker = -1")
		}
	})
}
