package sqllease_test

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// The row of the namespace says that another server has served it, as on a replica that was promoted. SQLite has no
// servers. Package processtest promotes real replicas.
func TestAnotherServerSetsAFloor(t *testing.T) {
	const reach = time.Hour
	eachSQL(t, func(t *testing.T, target testdb.Target, dialect sqldb.Dialect) {
		db := target.Open(t)
		store, count := countedStore(t, db, target, dialect, nil)
		acquire := func(worker int64, reach time.Duration) (leasestore.Grant, int64) {
			t.Helper()
			r := sqlRequest("n", worker, worker)
			r.Reach = reach
			before := count.statements.Load()
			grant := mustAcquire(t, store, r)
			return grant, count.statements.Load() - before
		}
		expired, _ := acquire(0, time.Second)
		goesOn, _ := acquire(1, reach)
		released, _ := acquire(2, 0)
		unsure, _ := acquire(9, 0)
		if !expired.Floor.IsZero() || !goesOn.Floor.IsZero() || !released.Floor.IsZero() {
			t.Fatalf("a floor without a failover: %v, %v, %v", expired.Floor, goesOn.Floor, released.Floor)
		}
		mustExtend(t, store, keep(released.Claim), 70)
		mustRelease(t, store, released.Claim)
		exec(t, db, "UPDATE snowflake_leases SET expires_ms = 1 WHERE worker = 0")
		// The other server's clock may have been ahead by the accepted skew.
		exec(t, db, fmt.Sprintf("UPDATE snowflake_leases SET expires_ms = %d WHERE worker = 9", time.Now().Add(lease.DefaultMaxSkew*9/10).UnixMilli()))
		exec(t, db, "UPDATE snowflake_namespaces SET server = 'another'")

		for round := range 2 { // the second time the server is known
			if dialect != sqldb.SQLite {
				_, err := store.Extend(t.Context(), keep(unsure.Claim), 50, time.Second)
				if lost := errors.Is(err, lease.ErrLost); lost != (round == 0) {
					t.Errorf("an owner that may have expired, in round %d: %v", round, err)
				}
				sure := keep(unsure.Claim)
				sure.Deadline = far{}
				must(t, errOf(store.Extend(t.Context(), sure, 50, time.Second))) // an owner that knows better
			}
			mustExtend(t, store, keep(goesOn.Claim), 50) // which had not expired
			err := extendErr(t, store, keep(expired.Claim), 50)
			if lost := errors.Is(err, lease.ErrLost); lost != (dialect != sqldb.SQLite) {
				t.Errorf("an owner that had expired: %v", err)
			}
		}
		if dialect == sqldb.SQLite {
			if next, _ := acquire(2, time.Second); !next.Floor.IsZero() {
				t.Errorf("the floor is %v, want none", next.Floor)
			}
			return
		}
		// A worker that has a row changes hands when the floor is reached.
		var none *lease.NoWorkerError
		_, err := store.Acquire(t.Context(), sqlRequest("n", 2, 2))
		if !errors.As(err, &none) || none.Wait > reach || none.Wait < reach-time.Minute {
			t.Errorf("before the floor: %v", err)
		}
		exec(t, db, fmt.Sprintf("UPDATE snowflake_namespaces SET server_since_ms = server_since_ms - %d", reach.Milliseconds()))
		next, n := acquire(2, time.Second)
		exec(t, db, fmt.Sprintf("UPDATE snowflake_namespaces SET server_since_ms = server_since_ms + %d", reach.Milliseconds()))
		next.Floor = next.Floor.Add(reach)
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
		exec(t, db, "UPDATE snowflake_namespaces SET server = 'a third', server_since_ms = 1")
		grant, n := acquire(6, 0)
		if d := grant.Floor.Sub(grant.Now); n != 8 || d > 2*reach || d < 2*reach-time.Minute {
			t.Errorf("floor %v ahead of the clock, %d statements; want %v and 8", d, n, 2*reach)
		}
	})
}

// The clock of the server before was ahead of that of its replica, as the horizons of its owners were.
func TestAFloorIsAboveHorizonsThatAreAheadOfTheReach(t *testing.T) {
	const reach = 20 * time.Second
	layout := snowflake.Default()
	eachServer(t, func(t *testing.T, target testdb.Target, dialect sqldb.Dialect) {
		db, store := openSQL(t, target, dialect)
		for i, test := range []struct {
			ahead, floor time.Duration
			expired      bool
			extend       bool // the first call is an extension
		}{
			{ahead: 15 * time.Second, floor: reach},
			{ahead: 40 * time.Second, floor: 40*time.Second + reach},
			{ahead: 40 * time.Second, floor: 40*time.Second + reach, extend: true},
			{ahead: 40 * time.Second, floor: reach, expired: true},
			{ahead: 24 * time.Hour, floor: reach}, // nobody can wait for it
		} {
			r := sqlRequest(fmt.Sprint("n", i), 0, 0)
			r.Layout, r.Reach, r.TTL = layout.String(), reach, 5*time.Minute
			owner := keep(mustAcquire(t, store, r).Claim)
			owner.Deadline = far{}
			horizon := int64(time.Until(layout.Epoch())/-layout.Tick()) + test.ahead.Milliseconds()
			mustExtend(t, store, owner, horizon)
			if test.expired {
				exec(t, db, "UPDATE snowflake_leases SET expires_ms = 1 WHERE worker = 0")
			}

			exec(t, db, "UPDATE snowflake_namespaces SET server = 'another'")
			if test.extend {
				mustExtend(t, store, owner, horizon)
			}

			r.First, r.Last, r.Token = 1, 1, leasetest.NewToken()
			next := mustAcquire(t, store, r)
			if d := next.Floor.Sub(next.Now); d > test.floor || d < test.floor-5*time.Second {
				t.Errorf("%+v: the floor is %v ahead", test, d)
			}
		}
	})
}

// The pool leads to another server after the look and before the worker is taken. What that server has can differ from
// what was seen in any way; its revision can be the same.
func TestAServerThatChangesDuringAnAcquisitionSetsAFloor(t *testing.T) {
	const update, seen = "UPDATE snowflake_namespaces SET ", 1_000_000_000_000
	eachServer(t, func(t *testing.T, target testdb.Target, dialect sqldb.Dialect) {
		db, store := openSQL(t, target, dialect)
		mustAcquire(t, store, sqlRequest("n", 0, 0))
		worker := int64(1)
		for what, change := range map[string]string{
			"no process has called it yet":             "server = 'another', revision = revision + 1",
			"another process has, and has set a floor": fmt.Sprintf("server_since_ms = %d", int64(seen+1)),
			"the same, after other changes":            fmt.Sprintf("server_since_ms = %d, revision = revision + 1", int64(seen+1)),
			"its reach is greater":                     "reach_ms = reach_ms + 1",
			"its reach is greater, after one change":   "reach_ms = reach_ms + 1, revision = revision + 1",
		} {
			for _, floor := range []int64{0, seen} {
				for _, statement := range []int64{3, 2} { // of a new worker, then of a takeover of it
					exec(t, db, fmt.Sprintf(update+"server_since_ms = %d, reach_ms = 3600000", floor))
					exec(t, db, fmt.Sprintf("UPDATE snowflake_leases SET expires_ms = 0 WHERE worker = %d", worker))
					if statement == 2 && strings.HasPrefix(change, "server =") {
						continue // the worker has a row, and is not given out for an hour
					}

					asker, _ := countedStore(t, db, target, dialect, func(n int64) {
						if n == statement {
							exec(t, db, update+change)
						}
					})

					r := sqlRequest("n", worker, worker)
					r.Reach, r.Token = time.Hour, leasetest.NewToken()
					grant := mustAcquire(t, asker, r)
					var want time.Time
					if changed := ask[int64](t, db, "SELECT server_since_ms FROM snowflake_namespaces"); changed > 0 {
						want = time.UnixMilli(changed + ask[int64](t, db, "SELECT reach_ms FROM snowflake_namespaces"))
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

// Another caller is the first one on the new server, after the extension has failed because of it.
func TestAnExtensionGoesOnWhenAnotherCallerHasMetTheServer(t *testing.T) {
	extendWith(t, func(db *sql.DB, host string, n int64) {
		if n == 2 {
			exec(t, db, "UPDATE snowflake_namespaces SET server = '"+host+"'")
		}
	}, func(err error) bool { return err == nil })
}

func TestAnExtensionThatFindsAnotherServerEachTimeEnds(t *testing.T) {
	extendWith(t, func(db *sql.DB, _ string, n int64) {
		if n < 100 { // so that an endless extension succeeds
			exec(t, db, "UPDATE snowflake_namespaces SET server = 'another'")
		}
	}, func(err error) bool { return err != nil && !errors.Is(err, lease.ErrLost) })
}

// extendWith extends a lease after a failover. before is called before each statement, with what the namespace had as
// its server before the failover.
func extendWith(t *testing.T, before func(db *sql.DB, host string, n int64), want func(error) bool) {
	t.Helper()
	eachServer(t, func(t *testing.T, target testdb.Target, dialect sqldb.Dialect) {
		db := target.Open(t)
		grant := mustAcquire(t, newSQL(t, db, dialect), sqlRequest("n", 0, 0))
		host := ask[string](t, db, "SELECT server FROM snowflake_namespaces")
		store, _ := countedStore(t, db, target, dialect, func(n int64) { before(db, host, n) })
		exec(t, db, "UPDATE snowflake_namespaces SET server = 'another'")
		if err := extendErr(t, store, keep(grant.Claim), 10); !want(err) {
			t.Error(err)
		}
	})
}

// The second of two failovers leads to a server whose clock is behind the time of the first one.
func TestAServerWithAClockBehindTheLastFailoverKeepsTheFloor(t *testing.T) {
	eachServer(t, func(t *testing.T, target testdb.Target, dialect sqldb.Dialect) {
		db, store := openSQL(t, target, dialect)
		owner := mustAcquire(t, store, sqlRequest("n", 0, 0))
		changed := time.Now().Add(2 * time.Hour).Truncate(time.Millisecond)
		exec(t, db, fmt.Sprintf("UPDATE snowflake_namespaces SET server = 'another', server_since_ms = %d", changed.UnixMilli()))
		sure := keep(owner.Claim)
		sure.Deadline = far{}
		mustExtend(t, store, sure, 10) // has not expired
		if next := mustAcquire(t, store, sqlRequest("n", 1, 1)); !next.Floor.Equal(changed) {
			t.Errorf("floor %v, want %v", next.Floor, changed)
		}
	})
}

// A replica that is promoted may lack the greater reach, and then sets too low a floor.
func TestAGreaterReachCountsOnceReplicasHaveIt(t *testing.T) {
	eachSQL(t, func(t *testing.T, target testdb.Target, dialect sqldb.Dialect) {
		db, store := openSQL(t, target, dialect)
		r := sqlRequest("n", 0, 0)
		r.Reach = time.Minute
		grant := mustAcquire(t, store, r)
		claim := keep(grant.Claim)
		for _, step := range []struct {
			reach, limit, wait time.Duration
			prepare            string
		}{
			{reach: time.Minute},
			{reach: 2 * time.Minute, limit: time.Minute, wait: time.Hour},
			{reach: time.Minute},
			{
				prepare: "UPDATE snowflake_namespaces SET reach_since_ms = reach_since_ms - 1800000",
				reach:   2 * time.Minute, limit: time.Minute, wait: time.Hour / 2,
			},
			{reach: 3 * time.Minute, limit: time.Minute, wait: time.Hour},
			{prepare: "UPDATE snowflake_namespaces SET reach_since_ms = reach_since_ms - 3600000", reach: 3 * time.Minute},
			{reach: 4 * time.Minute, limit: 3 * time.Minute, wait: time.Hour},
		} {
			if step.prepare != "" {
				exec(t, db, step.prepare)
			}

			claim.Reach = step.reach
			_, err := store.Extend(t.Context(), claim, 10, time.Hour)
			var refused *lease.ReachError
			errors.As(err, &refused)
			switch {
			case dialect == sqldb.SQLite || step.limit == 0:
				if err != nil {
					t.Errorf("reach %v: %v", step.reach, err)
				}
			case refused == nil || refused.Limit != step.limit || refused.Wait > step.wait || refused.Wait < step.wait-10*time.Minute:
				t.Errorf("reach %v: %v, want the limit %v for %v", step.reach, err, step.limit, step.wait)
			}
		}
	})
}

// The second of two failovers leads back to the first server, which has kept its identity and missed what was between.
func TestAnOldPrimaryThatIsMadePrimaryAgainSetsAFloor(t *testing.T) {
	eachServer(t, func(t *testing.T, target testdb.Target, dialect sqldb.Dialect) {
		db, store := openSQL(t, target, dialect)
		other := newSQL(t, db, dialect)
		r := sqlRequest("n", 0, 0)
		r.Reach = time.Hour
		owner := mustAcquire(t, store, r)
		back := keepTables(t, db)
		exec(t, db, "UPDATE snowflake_namespaces SET server = 'another'")
		mustExtend(t, store, keep(owner.Claim), 10)
		back()
		mustExtend(t, store, keep(owner.Claim), 20)
		r.First, r.Last, r.Token = 1, 1, leasetest.NewToken()
		next := mustAcquire(t, other, r)
		if d := next.Floor.Sub(next.Now); d > time.Hour || d < time.Hour-time.Minute {
			t.Errorf("floor %v ahead of the clock, want %v", d, time.Hour)
		}
	})
}

// far is a deadline that is never reached.
type far struct{}

func (far) IsAhead() bool { return true }

// Each statement may run on another connection of the server. With pgx's default mode it needs PgBouncer 1.21.
func TestStoreKeepsTheContractBehindPgBouncer(t *testing.T) {
	t.Parallel()
	target := withDSN(testdb.PgBouncer, "&default_query_exec_mode=exec")(t)
	db, store := openSQL(t, target, sqldb.Postgres)
	leasetest.Run(t, func(*testing.T) leasestore.Store { return store }, settings(db))
}
