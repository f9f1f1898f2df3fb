package sqllease_test

import (
	"context"
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
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// The two differ in nothing but the order of the fields, so an ID of each can be the same number.
var formerLayout, laterLayout = snowflake.Default(), snowflake.MustLayout(snowflake.Default().Epoch(), time.Millisecond,
	snowflake.Field{Name: "time", Bits: 41}, snowflake.Field{Name: "sequence", Bits: 12}, snowflake.Field{Name: "worker", Bits: 10})

// used leases a worker, raises its horizon to a time, and gives it back there.
func used(t *testing.T, store leasestore.Store, layout snowflake.Layout, worker int64, until time.Time) {
	t.Helper()
	claim := keep(mustAcquire(t, store, layoutRequest(layout, worker, worker)).Claim)
	mustExtend(t, store, claim, tickAt(layout, until))
	mustRelease(t, store, claim)
}

// content returns what both tables have, but for the revisions.
func content(t *testing.T, db *sql.DB) string {
	t.Helper()
	var all strings.Builder
	for _, query := range []string{
		"SELECT CONCAT_WS(' ', namespace, layout, generation, start_tick, first_worker, last_worker) FROM snowflake_namespaces ORDER BY 1",
		"SELECT CONCAT_WS(' ', namespace, worker, epoch, token, horizon, generation, reserved_for) FROM snowflake_leases ORDER BY 1",
	} {
		rows, err := db.QueryContext(t.Context(), query)
		must(t, err)
		defer rows.Close()
		for rows.Next() {
			var row string
			must(t, rows.Scan(&row))
			all.WriteString(row + "\n")
		}
		must(t, rows.Err())
	}

	return all.String()
}

func TestANamespaceMovesAndStartsAboveAllThatWas(t *testing.T) {
	eachDatabase(t, func(t *testing.T, target testdb.Target, dialect sqldb.Dialect) {
		db, store := openSQL(t, target, dialect)
		ahead := time.Now().Add(2 * time.Second)
		used(t, store, formerLayout, 3, ahead)
		used(t, store, formerLayout, 1, time.Now())
		start, err := store.Move(t.Context(), "n", laterLayout)
		must(t, err)
		if least, err := laterLayout.Follows(formerLayout, ahead); err != nil || start.Before(least) || start.After(least.Add(time.Minute)) {
			t.Errorf("the start is %v, want %v, %v", start, least, err)
		}
		if again, err := store.Move(t.Context(), "n", laterLayout); err != nil || !again.Equal(start) {
			t.Errorf("the second call: %v, %v, want %v", again, err, start)
		}

		_, err = store.Acquire(t.Context(), layoutRequest(formerLayout, 0, 9))
		wantErr(t, "an old process that starts", err, lease.ErrLayout, formerLayout.String(), laterLayout.String())
		for _, worker := range []int64{3, 8} { // one that had an owner, and one that had none
			var none *lease.NoWorkerError
			r := layoutRequest(laterLayout, worker, worker)
			r.Tick = tickAt(laterLayout, time.Now())
			grant, err := store.Acquire(t.Context(), r)
			if errors.As(err, &none) {
				wantErr(t, "before the start", err, lease.ErrNoWorker, start.UTC().Format(time.RFC3339Nano), "moved to another layout")
			}
			for errors.As(err, &none) {
				if !none.Start.Equal(start) {
					t.Errorf("the error names the start %v, want %v", none.Start, start)
				}
				time.Sleep(min(none.Wait+time.Millisecond, time.Second))
				grant, err = store.Acquire(t.Context(), r)
			}
			if err != nil || grant.Horizon != tickAt(laterLayout, start) || grant.Now.Before(start) {
				t.Errorf("worker %d: %+v, %v, want the horizon %d", worker, grant, err, tickAt(laterLayout, start))
			}
			mustRelease(t, store, grant.Claim)
		}
		least := ask[int64](t, db, "SELECT MIN(horizon) FROM snowflake_leases")
		wantEqual(t, "the least horizon", least, tickAt(laterLayout, start))
		wantLayout(t, store, laterLayout)
		back, err := store.Move(t.Context(), "n", formerLayout)
		if least, _ := formerLayout.Follows(laterLayout, start); err != nil || back.Before(least) {
			t.Errorf("the way back: %v, %v, want %v or later", back, err, least)
		}
	})
}

func TestOpenSaysThatItWaitsForTheStartOfALayout(t *testing.T) {
	store := newSQL(t, testdb.SQLite(t).Open(t), sqldb.SQLite)
	used(t, store, formerLayout, 3, time.Now().Add(14*time.Minute+30*time.Second))
	start, err := store.Move(t.Context(), "n", laterLayout)
	must(t, err)

	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = lease.Open(ctx, store, lease.WithNamespace("n"), lease.WithGenerator(snowflake.WithLayout(laterLayout)))
	wantErr(t, "Open", err, context.DeadlineExceeded, "moved to another layout", start.UTC().Format(time.RFC3339Nano), "in 14m")
}

func TestAMoveThatCanNotBeIsRefusedAndChangesNothing(t *testing.T) {
	eachDatabase(t, func(t *testing.T, target testdb.Target, dialect sqldb.Dialect) {
		db, store := openSQL(t, target, dialect)
		used(t, store, formerLayout, 600, time.Now())
		for what, test := range map[string]struct {
			prepare, undo string
			namespace     string
			to            snowflake.Layout
			kind          error
			part          string
		}{
			"no namespace":       {namespace: "m", to: laterLayout, kind: lease.ErrOption, part: "nobody has used"},
			"no layout":          {namespace: "n", kind: lease.ErrOption, part: "zero Layout"},
			"a layout that ends": {namespace: "n", to: snowflake.MustPreset("javascriptsafe"), kind: lease.ErrLayout, part: "can't move"},
			"a share without a worker of it": {
				prepare:   "UPDATE snowflake_namespaces SET first_worker = 512, last_worker = 1023",
				undo:      "UPDATE snowflake_namespaces SET first_worker = 0, last_worker = 9223372036854775807",
				namespace: "n", to: snowflake.MustPreset("wide"), kind: lease.ErrOption, part: "0 to 255",
			},
			"a horizon that is years ahead": {
				prepare:   fmt.Sprintf("UPDATE snowflake_leases SET horizon = horizon + %d", (20 * 365 * 24 * time.Hour).Milliseconds()),
				undo:      fmt.Sprintf("UPDATE snowflake_leases SET horizon = horizon - %d", (20 * 365 * 24 * time.Hour).Milliseconds()),
				namespace: "n", to: laterLayout, kind: lease.ErrLayout, part: "ahead",
			},
			"a lease that is held": {
				prepare:   fmt.Sprintf("UPDATE snowflake_leases SET expires_ms = %d, host = 'web-1'", time.Now().Add(time.Hour).UnixMilli()),
				undo:      "UPDATE snowflake_leases SET expires_ms = 1, host = ''",
				namespace: "n", to: laterLayout, kind: errHeld, part: `held by "web-1"`,
			},
			"a worker of SQL functions": {
				prepare:   "UPDATE snowflake_leases SET reserved_for = 'SQL functions', host = 'f'",
				undo:      "UPDATE snowflake_leases SET reserved_for = '', host = ''",
				namespace: "n", to: laterLayout, kind: errHeld, part: "reserved for SQL functions, f",
			},
		} {
			if test.prepare != "" {
				exec(t, db, test.prepare)
			}

			before := content(t, db)
			_, err := store.Move(t.Context(), test.namespace, test.to)
			if held := (*sqllease.HeldError)(nil); errors.As(err, &held) {
				err = fmt.Errorf("%w: %w", errHeld, err)
			}

			wantErr(t, what, err, test.kind, test.part)
			wantEqual(t, what, content(t, db), before)
			if test.undo != "" {
				exec(t, db, test.undo)
			}
		}
	})
}

var errHeld = errors.New("held")

// Reserve and Move: the reservation stays, and is of no use in the new layout.
func TestAReservationOutlivesAMoveAndIsRefused(t *testing.T) {
	eachDatabase(t, func(t *testing.T, target testdb.Target, dialect sqldb.Dialect) {
		store := newSQL(t, target.Open(t), dialect)
		open := func(layout snowflake.Layout) *lease.Lease {
			l, err := lease.Open(t.Context(), store, lease.WithNamespace("n"), lease.WithWindow(10*time.Millisecond),
				lease.WithGenerator(snowflake.WithLayout(layout)))
			must(t, err)
			return l
		}

		before := open(formerLayout)
		must(t, before.Reserve(t.Context(), 1023, "orders"))
		must(t, before.Close(t.Context()))
		must(t, errOf(store.Move(t.Context(), "n", laterLayout)))
		after := open(laterLayout)
		defer after.Close(t.Context())
		for worker := range int64(2) {
			err := after.Reserve(t.Context(), 1023-worker, "orders")
			wantErr(t, fmt.Sprint("worker ", 1023-worker), err, lease.ErrNoWorker)
		}

		entries, err := store.List(t.Context(), "n")
		if last := entries[len(entries)-1]; err != nil || !last.Reserved() || last.Worker != 1023 {
			t.Errorf("%+v, %v", last, err)
		}
	})
}

// An owner extends, and a process with the layout before starts, before each statement of a move. Who comes first decides:
// either nothing moves, or neither of the two can do anything any more.
func TestAnOldProcessThatStartsInTheMidstOfAMoveIssuesNothing(t *testing.T) {
	eachDatabase(t, func(t *testing.T, target testdb.Target, dialect sqldb.Dialect) {
		db, old := openSQL(t, target, dialect)
		moved, kept := 0, 0
		for statement := int64(1); ; statement++ {
			clear(t, db)
			used(t, old, formerLayout, 1, time.Now())
			expired := keep(mustAcquire(t, old, layoutRequest(formerLayout, 2, 2)).Claim)
			exec(t, db, "UPDATE snowflake_leases SET expires_ms = 1")

			type answer struct {
				claim leasestore.Claim
				err   error
			}
			started, extended := make(chan answer, 1), make(chan error, 1)
			begun := false
			mover := movingStore(t, db, target, dialect, func(n int64) {
				if n != statement {
					return
				}
				begun = true
				ctx := context.WithoutCancel(t.Context())
				go func() {
					grant, err := old.Acquire(ctx, layoutRequest(formerLayout, 5, 5))
					started <- answer{grant.Claim, err}
				}()
				go func() {
					_, err := old.Extend(ctx, expired, tickAt(formerLayout, time.Now().Add(time.Minute)), time.Hour)
					extended <- err
				}()
				time.Sleep(100 * time.Millisecond) // they wait for a lock, or are done
			})
			_, err := mover.Move(t.Context(), "n", laterLayout)
			if !begun { // the move has fewer steps
				break
			}
			began, first := <-started, <-extended
			goesOn := func(c leasestore.Claim) error {
				_, err := old.Extend(t.Context(), keep(c), tickAt(formerLayout, time.Now()), time.Hour)
				return err
			}

			var held *sqllease.HeldError
			switch {
			case err == nil:
				moved++
				if began.err == nil {
					wantErr(t, fmt.Sprintf("step %d: moved, and the process that started goes on", statement), goesOn(began.claim), lease.ErrLost)
				} else {
					wantErr(t, fmt.Sprintf("step %d: moved, and a process starts", statement), began.err, lease.ErrLayout)
				}
				wantErr(t, fmt.Sprintf("step %d: moved, and the owner extends", statement), first, lease.ErrLost)
				wantErr(t, fmt.Sprintf("step %d: and extends later", statement), goesOn(expired), lease.ErrLost)
			case !errors.As(err, &held):
				t.Errorf("step %d: %v", statement, err)
			default:
				kept++
				if began.err == nil && goesOn(began.claim) != nil || first == nil && goesOn(expired) != nil {
					t.Errorf("step %d: not moved, and a process has lost its worker", statement)
				}
			}
		}
		if moved == 0 || kept == 0 {
			t.Errorf("%d moves, %d that a process has prevented", moved, kept)
		}
	})
}

// On a cluster that takes writes on each node, another node adds a worker before each statement of a move: no lock of
// the move holds there. The process is refused, or nothing moves.
func TestAWorkerThatAnotherNodeAddsInTheMidstOfAMoveIssuesNothing(t *testing.T) {
	eachServer(t, func(t *testing.T, target testdb.Target, dialect sqldb.Dialect) {
		db, old := openSQL(t, target, dialect)
		for statement, begun := int64(1), true; begun; statement++ {
			begun = false
			clear(t, db)
			used(t, old, formerLayout, 1, time.Now())

			claim := keep(leasestore.Claim{Namespace: "n", Worker: 5, Epoch: 1, Token: leasetest.NewToken()})
			mover := movingStore(t, db, target, dialect, func(n int64) {
				if n == statement {
					begun = true
					exec(t, db, fmt.Sprintf(insertLease+"('n', 5, 1, '%s', 0, %d, 0, '', '', 0, '', 0)",
						claim.Token, time.Now().Add(time.Hour).UnixMilli()))
				}
			})
			_, err := mover.Move(t.Context(), "n", laterLayout)

			var held *sqllease.HeldError
			if begun && !errors.As(err, &held) {
				_, err := old.Extend(t.Context(), claim, tickAt(formerLayout, time.Now()), time.Hour)
				wantErr(t, fmt.Sprintf("step %d: moved, and the process extends", statement), err, lease.ErrLost)
			}
		}
	})
}

// A worker is added by a statement that has begun before the move, and ends after that has begun.
func TestAMoveWaitsForAWorkerThatIsBeingAdded(t *testing.T) {
	eachServer(t, func(t *testing.T, target testdb.Target, dialect sqldb.Dialect) {
		db, store := openSQL(t, target, dialect)
		used(t, store, formerLayout, 1, time.Now())
		tx := begin(t, db)
		lock := map[sqldb.Dialect]string{sqldb.Postgres: "FOR SHARE", sqldb.MySQL: "LOCK IN SHARE MODE"}[dialect]
		exec(t, tx, "SELECT * FROM snowflake_namespaces "+lock)
		exec(t, tx, fmt.Sprintf(insertLease+"('n', 9, 1, '', 0, %d, 0, '', 'web-9', 0, '', 0)",
			time.Now().Add(time.Hour).UnixMilli()))

		answer := make(chan error, 1)
		go func() {
			_, err := store.Move(t.Context(), "n", laterLayout)
			answer <- err
		}()
		awaitLocks(t, db, dialect, 1, answer)
		must(t, tx.Commit())
		var held *sqllease.HeldError
		if err := <-answer; !errors.As(err, &held) || held.Worker != 9 {
			t.Errorf("%v, want a *HeldError for worker 9", err)
		}
	})
}

// The server forgets the move, as a replica does that lagged. Owners of the new layout had raised their horizons.
func TestAfterAFailoverThatForgetsAMoveTheNextOneStartsAboveAll(t *testing.T) {
	const reach = 10 * time.Second
	eachServer(t, func(t *testing.T, target testdb.Target, dialect sqldb.Dialect) {
		db, store := openSQL(t, target, dialect)
		r := layoutRequest(formerLayout, 0, 0)
		r.Reach = reach
		mustRelease(t, store, mustAcquire(t, store, r).Claim)
		back := keepTables(t, db)
		must(t, errOf(store.Move(t.Context(), "n", laterLayout)))
		r.Layout, r.Token = laterLayout.String(), leasetest.NewToken()
		time.Sleep(20 * time.Millisecond) // to the start
		owner := keep(mustAcquire(t, store, r).Claim)
		horizon := tickAt(laterLayout, time.Now().Add(reach/2))
		mustExtend(t, store, owner, horizon)

		back()
		exec(t, db, "UPDATE snowflake_namespaces SET server = 'another'")
		again := newSQL(t, db, dialect)
		_, err := again.Acquire(t.Context(), r)
		wantErr(t, "a new process", err, lease.ErrLayout)
		start, err := again.Move(t.Context(), "n", laterLayout)
		if err != nil || start.Before(laterLayout.Start(horizon)) {
			t.Errorf("the start is %v, %v, below the horizon of an owner that was forgotten, %v", start, err, laterLayout.Start(horizon))
		}
		wantErr(t, "the owner that was forgotten", extendErr(t, store, owner, horizon+1), lease.ErrLost)
	})
}
