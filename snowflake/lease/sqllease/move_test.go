package sqllease_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// The two differ in nothing but the order of the fields, so an ID of each can be the same number.
var formerLayout, laterLayout = snowflake.Default(), snowflake.MustLayout(snowflake.Default().Epoch(), time.Millisecond,
	snowflake.Field{Name: "time", Bits: 41}, snowflake.Field{Name: "sequence", Bits: 12}, snowflake.Field{Name: "worker", Bits: 10})

// moving returns a request that may move the namespace to the layout.
func moving(from, to snowflake.Layout, first, last int64) lease.Request {
	r := layoutRequest(to, first, last)
	r.Former, r.Tick, r.Reach = from.String(), tickAt(to, time.Now()), time.Minute
	return r
}

// eachDatabase is eachSQL with one connection string for each database.
func eachDatabase(t *testing.T, f func(t *testing.T, target testdb.Target, dialect sqldb.Dialect)) {
	t.Helper()
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		t.Parallel() // it waits for the server, most of the time
		f(t, target, dialects[target.Name])
	})
}

func tickAt(l snowflake.Layout, at time.Time) int64 { return int64(at.Sub(l.Epoch()) / l.Tick()) }

func nsVersion(t *testing.T, db *sql.DB) string {
	t.Helper()
	return ask[string](t, db, "SELECT version FROM snowflake_leases WHERE worker = -1")
}

// backdate makes the announcement so much older.
func backdate(t *testing.T, db *sql.DB, by time.Duration) {
	t.Helper()
	earlier(t, db, "since", by)
}

// earlier changes a time in the settings of the namespace, as if so much time had passed since.
func earlier(t *testing.T, db *sql.DB, name string, by time.Duration) {
	t.Helper()
	text := regexp.MustCompile(`"`+name+`":\d+`).ReplaceAllStringFunc(nsVersion(t, db), func(s string) string {
		var ms int64
		_, _ = fmt.Sscanf(s, `"`+name+`":%d`, &ms) // the expression has matched, and a tick is 1 ms
		return fmt.Sprintf(`"%s":%d`, name, ms-by.Milliseconds())
	})
	exec(t, db, fmt.Sprintf("UPDATE snowflake_leases SET version = '%s' WHERE worker = -1", text))
}

// wantWait checks that the acquisition has to wait for about that long, for the reason.
func wantWait(t *testing.T, store *sqllease.Store, r lease.Request, wait time.Duration, why string) {
	t.Helper()
	var none *lease.NoWorkerError
	grant, err := store.Acquire(t.Context(), r)
	if !errors.As(err, &none) || (none.Wait-wait).Abs() > time.Minute || !strings.Contains(err.Error(), why) {
		t.Errorf("%+v, %v; want to wait %v for %q", grant, err, wait, why)
	}
}

// acquireWhenDue waits for the first moment of the new layout.
func acquireWhenDue(t *testing.T, store *sqllease.Store, r lease.Request) lease.Grant {
	t.Helper()
	grant, err := store.Acquire(t.Context(), r)
	for begin := time.Now(); errors.Is(err, lease.ErrNoWorker) && time.Since(begin) < time.Minute; {
		time.Sleep(5 * time.Millisecond)
		grant, err = store.Acquire(t.Context(), r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return grant
}

// wantAbove checks that no ID from the horizon on is below one of the other layout before its horizon.
func wantAbove(t *testing.T, l snowflake.Layout, horizon int64, below snowflake.Layout, spent int64) {
	t.Helper()
	from, err := l.Follows(below, below.Start(spent))
	if err != nil || l.Start(horizon).Before(from) {
		t.Errorf("the start %v is before %v, %v", l.Start(horizon), from, err)
	}
}

func TestANamespaceMovesWhenTheLastLeaseHasEnded(t *testing.T) {
	eachDatabase(t, func(t *testing.T, target testdb.Target, dialect sqldb.Dialect) {
		db := target.Open(t)
		store := newSQL(t, db, dialect)
		from, to := formerLayout, laterLayout
		for range 2 { // there, and back
			r := layoutRequest(from, 0, 9)
			r.Reach = time.Minute
			killed, ends := mustAcquire(t, store, r).Claim, mustAcquire(t, store, layoutRequest(from, 0, 9)).Claim
			mustExtend(t, store, keep(killed), tickAt(from, time.Now()))
			exec(t, db, fmt.Sprintf("UPDATE snowflake_leases SET expires_ms = 1000 WHERE worker = %d", killed.Worker))
			if dialect != sqldb.SQLite {
				wantWait(t, store, moving(from, to, 0, 9), time.Hour, "replicas")
				backdate(t, db, 59*time.Minute)
				wantWait(t, store, moving(from, to, 0, 9), time.Minute, "replicas")
				backdate(t, db, 2*time.Minute)
			}
			wantWait(t, store, moving(from, to, 0, 9), time.Hour, fmt.Sprintf("worker %d is", ends.Worker))
			mustExtend(t, store, keep(ends), 5) // the former layout goes on
			other := mustAcquire(t, store, layoutRequest(from, 0, 9)).Claim
			mustRelease(t, store, other)
			_, err := store.Acquire(t.Context(), layoutRequest(to, 0, 9))
			wantErr(t, "without the option", err, lease.ErrLayout, to.String())
			mustRelease(t, store, ends)

			const ahead = 10 * time.Minute // a busy server takes seconds to answer
			spent := tickAt(from, time.Now().Add(ahead))
			exec(t, db, fmt.Sprintf("UPDATE snowflake_leases SET horizon = %d WHERE worker = %d", spent, killed.Worker))
			wantWait(t, store, moving(from, to, 0, 9), ahead, "not above the ones before yet")
			earlier(t, db, "start", ahead)
			spent -= ahead.Milliseconds()
			grant := acquireWhenDue(t, store, moving(from, to, 0, 9))
			wantAbove(t, to, grant.Horizon, from, spent)
			for _, c := range []lease.Claim{killed, ends, other} {
				if _, err := store.Extend(t.Context(), keep(c), 9, time.Hour); !errors.Is(err, lease.ErrLost) {
					t.Errorf("an owner of the former layout: %v, want ErrLost", err)
				}
			}
			_, err = store.Acquire(t.Context(), layoutRequest(from, 0, 9))
			wantErr(t, "the former layout", err, lease.ErrLayout, to.String())
			for range 9 { // workers with a row, and new ones
				next := mustAcquire(t, store, layoutRequest(to, 0, 9))
				wantAbove(t, to, next.Horizon, from, spent)
				mustExtend(t, store, keep(next.Claim), next.Horizon+5)
				mustRelease(t, store, next.Claim)
			}
			mustRelease(t, store, grant.Claim)
			from, to = to, from
		}
	})
}

// The process is killed at any statement, and another one goes on.
func TestAMoveThatWasInterruptedGoesOn(t *testing.T) {
	eachDatabase(t, func(t *testing.T, target testdb.Target, dialect sqldb.Dialect) {
		db := target.Open(t)
		for stop, done := int64(1), false; !done && stop < 40; stop++ {
			store := newSQL(t, db, dialect) // without what it has seen of the deleted rows
			exec(t, db, "DELETE FROM snowflake_leases")
			spent := tickAt(formerLayout, time.Now()) - 5
			for range 3 {
				mustExtend(t, store, keep(mustAcquire(t, store, layoutRequest(formerLayout, 0, 9)).Claim), spent)
			}
			exec(t, db, "UPDATE snowflake_leases SET expires_ms = 1000 WHERE worker >= 0")
			if dialect != sqldb.SQLite {
				wantWait(t, store, moving(formerLayout, laterLayout, 0, 9), time.Hour, "replicas")
				backdate(t, db, time.Hour)
			}
			ctx, kill := context.WithCancel(t.Context())
			victim, _ := countedStore(t, db, target, dialect, func(n int64) {
				if n == stop {
					kill()
				}
			})
			_, err := victim.Acquire(ctx, moving(formerLayout, laterLayout, 0, 2))
			done = err == nil
			kill()
			grants := map[int64]bool{}
			for range 2 { // the third may be the victim's
				grant := mustAcquire(t, store, moving(formerLayout, laterLayout, 0, 9))
				wantAbove(t, laterLayout, grant.Horizon, formerLayout, spent)
				grants[grant.Worker] = true
			}
			if text := nsVersion(t, db); len(grants) != 2 || !regexp.MustCompile(`^{"start":\d+}$`).MatchString(text) {
				t.Errorf("killed at statement %d: workers %v, settings %q", stop, grants, text)
			}
		}
	})
}

func TestProcessesThatMoveANamespaceTogetherAgree(t *testing.T) {
	eachDatabase(t, func(t *testing.T, target testdb.Target, dialect sqldb.Dialect) {
		db := target.Open(t)
		db.SetMaxOpenConns(10)
		store := newSQL(t, db, dialect)
		spent := tickAt(formerLayout, time.Now()) - 5
		claim := mustAcquire(t, store, layoutRequest(formerLayout, 0, 9)).Claim
		mustExtend(t, store, keep(claim), spent)
		mustRelease(t, store, claim)
		if _, err := store.Announce(t.Context(), "n", laterLayout); err != nil {
			t.Fatal(err)
		}
		backdate(t, db, time.Hour)
		var wait sync.WaitGroup
		grants := make([]lease.Grant, 8)
		for i := range grants {
			wait.Go(func() {
				var err error
				for begin := time.Now(); time.Since(begin) < time.Minute; { // SQLite may be busy, MariaDB find a deadlock
					if grants[i], err = store.Acquire(t.Context(), moving(formerLayout, laterLayout, 0, 7)); err == nil {
						return
					}
				}
				t.Error(err)
			})
		}
		wait.Wait()
		workers := map[int64]bool{}
		for _, g := range grants {
			workers[g.Worker] = true
			if g.Horizon != grants[0].Horizon {
				t.Errorf("starts %d and %d", g.Horizon, grants[0].Horizon)
			}
			wantAbove(t, laterLayout, g.Horizon, formerLayout, spent)
		}
		if len(workers) != len(grants) {
			t.Errorf("workers %v", workers)
		}
	})
}

// Nobody has issued an ID of the layout in between.
func TestASecondMoveStartsAboveTheFirst(t *testing.T) {
	db := testdb.SQLite(t).Open(t)
	store := newSQL(t, db, sqldb.SQLite)
	mustRelease(t, store, mustAcquire(t, store, layoutRequest(laterLayout, 0, 0)).Claim)
	start := tickAt(laterLayout, time.Now()) + 200
	exec(t, db, fmt.Sprintf(`UPDATE snowflake_leases SET version = '{"start":%d}', protocol = 2 WHERE worker = -1`, start))
	grant := acquireWhenDue(t, store, moving(laterLayout, formerLayout, 0, 0))
	wantAbove(t, formerLayout, grant.Horizon, laterLayout, start+1)
}

func TestAnAcquisitionThatLookedBeforeTheMoveIsRefused(t *testing.T) {
	eachDatabase(t, func(t *testing.T, target testdb.Target, dialect sqldb.Dialect) {
		db := target.Open(t)
		for worker, statement := range map[int64]int64{0: 2, 1: 3} { // a takeover, a new worker
			exec(t, db, "DROP TABLE IF EXISTS snowflake_leases")
			store := newSQL(t, db, dialect)
			mustRelease(t, store, mustAcquire(t, store, layoutRequest(formerLayout, 0, 0)).Claim)
			if _, err := store.Announce(t.Context(), "n", laterLayout); err != nil {
				t.Fatal(err)
			}
			backdate(t, db, time.Hour)
			asker, _ := countedStore(t, db, target, dialect, func(n int64) {
				if n == statement {
					mustRelease(t, store, acquireWhenDue(t, store, moving(formerLayout, laterLayout, 0, 0)).Claim)
				}
			})
			grant, err := asker.Acquire(t.Context(), layoutRequest(formerLayout, worker, worker))
			wantErr(t, fmt.Sprintf("worker %d: %+v", worker, grant), err, lease.ErrLayout, laterLayout.String())
		}
	})
}

// A statement of the former layout began before the namespace moved, and ends after.
func TestALateStatementOfTheFormerLayoutIsWaitedFor(t *testing.T) {
	eachDatabase(t, func(t *testing.T, target testdb.Target, dialect sqldb.Dialect) {
		db := target.Open(t)
		store := newSQL(t, db, dialect)
		former := mustAcquire(t, store, layoutRequest(formerLayout, 0, 9)).Claim
		exec(t, db, "UPDATE snowflake_leases SET expires_ms = 1000 WHERE worker >= 0")
		if _, err := store.Announce(t.Context(), "n", laterLayout); err != nil {
			t.Fatal(err)
		}
		backdate(t, db, time.Hour)
		// An extension, which the others do not see until the namespace has moved: the fence waits for it.
		spent := tickAt(formerLayout, time.Now()) + 300
		late := fmt.Sprintf("UPDATE snowflake_leases SET horizon = %d, expires_ms = %d WHERE namespace = 'n' AND worker = 0", spent, time.Now().Add(time.Hour).UnixMilli())
		if dialect == sqldb.SQLite { // has no two writers: the extension is between two statements
			asker, _ := countedStore(t, db, target, dialect, func(n int64) {
				if n == 5 { // look, meet, look, list
					exec(t, db, late)
				}
			})
			wantWait(t, asker, moving(formerLayout, laterLayout, 0, 9), time.Hour, "worker 0 is")
		} else {
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = tx.Rollback() }() // fails after the commit
			exec(t, tx, late)
			answer := make(chan error, 1)
			go func() {
				_, err := store.Acquire(t.Context(), moving(formerLayout, laterLayout, 0, 9))
				answer <- err
			}()
			for nsVersion(t, db) == "" || !strings.Contains(nsVersion(t, db), `"from":`) {
				select {
				case err := <-answer:
					t.Fatalf("Acquire did not wait for the row: %v", err)
				case <-time.After(5 * time.Millisecond):
				}
			}
			time.Sleep(20 * time.Millisecond) // most likely the fence waits for the row by now
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
			wantErr(t, "while the late extension counts", <-answer, lease.ErrNoWorker, "worker 0 is")
		}
		// It was the last one, and a worker that is added by a late statement is never used.
		if _, err := store.Extend(t.Context(), keep(former), spent+9, time.Hour); !errors.Is(err, lease.ErrLost) {
			t.Errorf("another extension: %v", err)
		}
		exec(t, db, "UPDATE snowflake_leases SET expires_ms = 1000 WHERE worker = 0")
		grant := acquireWhenDue(t, store, moving(formerLayout, laterLayout, 0, 0))
		wantAbove(t, laterLayout, grant.Horizon, formerLayout, spent)
		added := lease.Claim{Namespace: "n", Worker: 5, Epoch: 1, Token: leasetest.NewToken()}
		exec(t, db, fmt.Sprintf("INSERT INTO snowflake_leases SELECT namespace, 5, 1, '%s', 0, %d, 0, '%s', '', 0, '', 2 FROM snowflake_leases WHERE worker = -1",
			added.Token, time.Now().Add(time.Hour).UnixMilli(), formerLayout))
		if _, err := store.Extend(t.Context(), keep(added), 9, time.Hour); !errors.Is(err, lease.ErrLost) {
			t.Errorf("a worker that was added late: %v", err)
		}
		exec(t, db, "UPDATE snowflake_leases SET expires_ms = 1000, horizon = 9000000000000 WHERE worker = 5")
		if next := mustAcquire(t, store, layoutRequest(laterLayout, 5, 5)); next.Horizon != grant.Horizon {
			t.Errorf("horizon %d, want the start %d", next.Horizon, grant.Horizon)
		}
	})
}

func TestAMoveThatCanNotBeIsRefusedAndChangesNothing(t *testing.T) {
	eachDatabase(t, func(t *testing.T, target testdb.Target, dialect sqldb.Dialect) {
		db := target.Open(t)
		store := newSQL(t, db, dialect)
		smaller := snowflake.MustLayout(formerLayout.Epoch(), time.Millisecond, snowflake.Field{Name: "time", Bits: 41},
			snowflake.Field{Name: "worker", Bits: 10}, snowflake.Field{Name: "sequence", Bits: 2})
		if err := store.SetShare(t.Context(), "n", formerLayout, 512, 1023); err != nil {
			t.Fatal(err)
		}
		claim := mustAcquire(t, store, layoutRequest(formerLayout, 512, 512)).Claim
		mustExtend(t, store, keep(claim), tickAt(formerLayout, time.Now()))
		before := nsVersion(t, db)
		refused := func(what string, r lease.Request, parts ...string) {
			t.Helper()
			_, err := store.Acquire(t.Context(), r)
			wantErr(t, what, err, lease.ErrLayout, parts...)
			if after := nsVersion(t, db); after != before {
				t.Errorf("%s: settings %q, were %q", what, after, before)
			}
		}
		r := moving(formerLayout, smaller, 512, 1023)
		refused("a layout that never follows", r, "no ID of")
		r = moving(formerLayout, laterLayout, 512, 1023)
		r.Former = "another"
		refused("a former layout that the namespace does not have", r, formerLayout.String())
		r = moving(formerLayout, laterLayout, 512, 1023)
		r.Layout = "unknown"
		refused("a layout that can't be read", r, "unknown")
		_, err := store.Acquire(t.Context(), moving(formerLayout, snowflake.MustPreset("wide"), 0, 255))
		wantErr(t, "without a worker of the share", err, lease.ErrOption, "512 to 1023", "255")
		exec(t, db, fmt.Sprintf("UPDATE snowflake_leases SET horizon = %d WHERE worker = 512", tickAt(formerLayout, time.Now().Add(time.Hour))))
		refused("IDs that are far ahead", moving(formerLayout, laterLayout, 512, 1023), "too far ahead")
		exec(t, db, "UPDATE snowflake_leases SET horizon = 5, expires_ms = 7258118400000, token = 'reserved for the server', host = 'the server' WHERE worker = 512")
		exec(t, db, fmt.Sprintf(`UPDATE snowflake_leases SET version = '{"workers":[512,1023],"since":1,"next":"%s"}' WHERE worker = -1`, laterLayout))
		refused("a reserved worker", moving(formerLayout, laterLayout, 512, 1023), "worker 512 is reserved", "the server")
		_, err = store.Announce(t.Context(), "n", snowflake.Layout{})
		wantErr(t, "no layout", err, lease.ErrOption, "zero Layout")
		_, err = store.Announce(t.Context(), "m", laterLayout)
		wantErr(t, "a namespace that does not exist", err, lease.ErrOption, "m")
		exec(t, db, "UPDATE snowflake_leases SET expires_ms = 1000 WHERE worker = 512")

		// An announcement counts until it is withdrawn.
		third := snowflake.MustLayout(formerLayout.Epoch(), time.Millisecond, snowflake.Field{Name: "time", Bits: 41},
			snowflake.Field{Name: "worker", Bits: 11}, snowflake.Field{Name: "sequence", Bits: 11})
		for range 2 {
			ready, err := store.Announce(t.Context(), "n", third)
			if ahead := time.Until(ready); err != nil || (dialect != sqldb.SQLite) != (ahead > 30*time.Minute) {
				t.Errorf("ready in %v, %v", ahead, err)
			}
		}
		before = nsVersion(t, db)
		refused("another layout than the announced one", moving(formerLayout, laterLayout, 512, 1023), third.String())
		_, err = store.Announce(t.Context(), "n", laterLayout)
		wantErr(t, "another announcement", err, lease.ErrLayout, third.String())
		if _, err := store.Announce(t.Context(), "n", formerLayout); err != nil {
			t.Error(err)
		}
		if text := nsVersion(t, db); text != `{"workers":[512,1023]}` {
			t.Errorf("settings %q", text)
		}
	})
}
