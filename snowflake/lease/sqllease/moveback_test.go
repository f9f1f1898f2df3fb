package sqllease_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// A reservation may be of a worker that was used, until Reserve has found that and given it back.
func TestAMoveStartsAboveTheOwnerBeforeAReservation(t *testing.T) {
	db := testdb.SQLite(t).Open(t)
	store := newSQL(t, db, sqldb.SQLite)
	spent := tickAt(formerLayout, time.Now().Add(time.Second)) // by a clock that is ahead
	claim := keep(mustAcquire(t, store, layoutRequest(formerLayout, 7, 7)).Claim)
	mustExtend(t, store, claim, spent)
	mustRelease(t, store, claim)
	exec(t, db, fmt.Sprintf("UPDATE snowflake_leases SET horizon = %d WHERE worker = 7", spent))
	r := layoutRequest(formerLayout, 7, 7)
	r.TTL, r.Holder.Host = 250*365*24*time.Hour, "reserved for old rows"
	mustAcquire(t, store, r)
	grant := acquireWhenDue(t, store, moving(formerLayout, laterLayout, 0, 5))
	wantAbove(t, laterLayout, grant.Horizon, formerLayout, spent)
}

// The greatest ID of a Clustered layout is that of its period, so the way back takes up to a period, too.
func TestANamespaceMovesToClusteredAndBack(t *testing.T) {
	db := testdb.SQLite(t).Open(t)
	clustered := snowflake.MustPreset("clustered")
	for _, way := range [][2]snowflake.Layout{{formerLayout, clustered}, {clustered, formerLayout}} {
		exec(t, db, "DROP TABLE IF EXISTS snowflake_leases")
		store := newSQL(t, db, sqldb.SQLite)
		claim := keep(mustAcquire(t, store, layoutRequest(way[0], 0, 0)).Claim)
		mustExtend(t, store, claim, tickAt(way[0], time.Now()))
		mustRelease(t, store, claim)
		_, err := store.Acquire(t.Context(), moving(way[0], way[1], 0, 0))
		var none *lease.NoWorkerError
		if err != nil && (!errors.As(err, &none) || none.Wait > clustered.Period()+time.Minute) {
			t.Errorf("from %v to %v: %v", way[0], way[1], err)
		}
	}
}

// Each move adds up to a period to the start. So a way back that begins before waits for it, and does not put it off.
func TestTheWayBackWaitsForTheStart(t *testing.T) {
	db := testdb.SQLite(t).Open(t)
	store, clustered := newSQL(t, db, sqldb.SQLite), snowflake.MustPreset("clustered")
	claim := keep(mustAcquire(t, store, layoutRequest(formerLayout, 0, 0)).Claim)
	const ahead = 40 * time.Minute
	start := tickAt(clustered, time.Now().Add(ahead))
	exec(t, db, fmt.Sprintf(`UPDATE snowflake_leases SET layout = '%s', version = '{"start":%d}', protocol = 2 WHERE worker = -1`, clustered, start))
	exec(t, db, "UPDATE snowflake_leases SET epoch = 2, token = '', expires_ms = 1000 WHERE worker = 0")
	before := nsVersion(t, db)
	for range 2 {
		wantWait(t, store, moving(clustered, formerLayout, 0, 0), ahead, "not above the ones before yet")
		wantWait(t, store, moving(formerLayout, clustered, 0, 0), ahead, "not above the ones before yet")
		if after := nsVersion(t, db); !strings.HasPrefix(after, strings.TrimSuffix(before, "}")) {
			t.Errorf("settings %q, were %q", after, before)
		}
	}
	if _, err := store.Extend(t.Context(), claim, start, time.Hour); !errors.Is(err, lease.ErrLost) {
		t.Errorf("an owner of the layout before: %v", err)
	}
}

// A node of a cluster that lags answers what reads the rows of the workers, after another one has moved the namespace.
func TestAMoveWaitsForAnOwnerThatAnotherNodeShows(t *testing.T) {
	db := testdb.SQLite(t).Open(t)
	store, lags := newSQL(t, db, sqldb.SQLite), false
	// There is no other row, which a fence would have to find.
	if err := store.SetShare(t.Context(), "n", formerLayout, 0, 9); err != nil {
		t.Fatal(err)
	}
	var owner lease.Claim
	spent := tickAt(formerLayout, time.Now().Add(10*time.Second))
	mover := newSQL(t, &rewrittenDB{db, func(query string) string {
		switch {
		case strings.Contains(query, "SET version =") && nsVersion(t, db) != `{"workers":[0,9]}` && owner.Token == "": // moves, after the announcement
			exec(t, db, "CREATE TABLE past AS SELECT * FROM snowflake_leases")
			r := layoutRequest(formerLayout, 0, 9)
			r.Reach = time.Minute
			owner = keep(mustAcquire(t, store, r).Claim)
			mustExtend(t, store, owner, spent)
			lags = true
		case lags && !strings.Contains(query, "ORDER BY") && strings.HasPrefix(query, "SELECT namespace"):
			return strings.ReplaceAll(query, `"snowflake_leases"`, "past")
		}
		return query
	}}, sqldb.SQLite)
	if grant, err := mover.Acquire(t.Context(), moving(formerLayout, laterLayout, 0, 9)); owner.Token == "" || err == nil {
		t.Fatalf("%+v beside the owner %+v", grant, owner)
	}
	lags = false
	wantWait(t, mover, moving(formerLayout, laterLayout, 0, 9), time.Hour, fmt.Sprintf("worker %d is", owner.Worker))
	mustRelease(t, store, owner)
	wantAbove(t, laterLayout, acquireWhenDue(t, mover, moving(formerLayout, laterLayout, 0, 9)).Horizon, formerLayout, spent)
}

// PostgreSQL reads the row of the namespace as it was when the takeover began, before it waited for the row of the worker.
func TestATakeoverThatIsLateByTwoMovesStartsAboveThem(t *testing.T) {
	db := testdb.Postgres(t).Open(t)
	db.SetMaxOpenConns(10)
	store, slow := newSQL(t, db, sqldb.Postgres), newSQL(t, db, sqldb.Postgres)
	for worker := range int64(2) {
		mustRelease(t, store, mustAcquire(t, store, layoutRequest(formerLayout, worker, worker)).Claim)
	}
	move := func(from, to snowflake.Layout) (start int64) {
		t.Helper()
		if _, err := store.Announce(t.Context(), "n", to); err != nil {
			t.Fatal(err)
		}
		backdate(t, db, 2*time.Hour)
		grant := acquireWhenDue(t, store, moving(from, to, 0, 0))
		mustRelease(t, store, grant.Claim)
		return grant.Horizon
	}
	move(formerLayout, laterLayout) // worker 1 is fenced, and nobody takes it
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }() // fails after the commit
	exec(t, tx, "SELECT 1 FROM snowflake_leases WHERE worker = 1 FOR UPDATE")
	answer := make(chan lease.Grant, 1)
	go func() {
		r := layoutRequest(laterLayout, 1, 1)
		r.Reach = time.Minute
		grant, err := slow.Acquire(t.Context(), r)
		if err != nil {
			t.Error(err)
		}
		answer <- grant
	}()
	const waiting = "SELECT COUNT(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid) " +
		"WHERE NOT l.granted AND a.query LIKE 'UPDATE%' AND a.datname = current_database()"
	for ask[int64](t, db, waiting) == 0 {
		continue
	}
	move(laterLayout, formerLayout)
	start := move(formerLayout, laterLayout)
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if late := <-answer; late.Horizon < start {
		t.Errorf("%+v, want the start %d", late, start)
	}
}

// The settings have the place for one of the two layouts at a time.
func TestAMoveWhoseSettingsWillNotFitIsNotAnnounced(t *testing.T) {
	db := testdb.SQLite(t).Open(t)
	store := newSQL(t, db, sqldb.SQLite)
	fields := []snowflake.Field{{Name: "time", Bits: 41}, {Name: "worker", Bits: 10}}
	for i := range 5 {
		fields = append(fields, snowflake.Field{Name: strings.Repeat("x", 40) + strconv.Itoa(i), Bits: 1})
	}
	long := snowflake.MustLayout(formerLayout.Epoch(), time.Millisecond, append(fields, snowflake.Field{Name: "sequence", Bits: 7})...)
	for _, way := range [][2]snowflake.Layout{{long, formerLayout}, {formerLayout, long}} {
		exec(t, db, "DELETE FROM snowflake_leases")
		mustRelease(t, store, mustAcquire(t, store, layoutRequest(way[0], 0, 0)).Claim)
		_, err := store.Announce(t.Context(), "n", way[1])
		wantErr(t, way[0].String(), err, lease.ErrOption, "255")
		mustRelease(t, store, mustAcquire(t, store, layoutRequest(way[0], 0, 0)).Claim)
	}
}

// The processes of the next layout are rolled back when the first one has begun to move and no other will end it.
func TestTheWayBackEndsAMoveThatWasInterrupted(t *testing.T) {
	target := testdb.SQLite(t)
	db := target.Open(t)
	for stop, begun := int64(1), 0; ; stop++ {
		store := newSQL(t, db, sqldb.SQLite)
		exec(t, db, "DELETE FROM snowflake_leases")
		claim := keep(mustAcquire(t, store, layoutRequest(formerLayout, 0, 9)).Claim)
		spent := tickAt(formerLayout, time.Now()) - 5
		mustExtend(t, store, claim, spent)
		exec(t, db, "UPDATE snowflake_leases SET expires_ms = 1000 WHERE worker >= 0")
		ctx, kill := context.WithCancel(t.Context())
		victim, _ := countedStore(t, db, target, sqldb.SQLite, func(n int64) {
			if n == stop {
				kill()
			}
		})
		_, err := victim.Acquire(ctx, moving(formerLayout, laterLayout, 0, 9))
		if kill(); err == nil {
			if begun == 0 {
				t.Error("no stop was between the steps")
			}
			return
		}
		if !strings.Contains(nsVersion(t, db), `"from":`) {
			continue
		}
		begun++
		grant := acquireWhenDue(t, store, moving(laterLayout, formerLayout, 0, 9))
		wantAbove(t, formerLayout, grant.Horizon, formerLayout, spent)
		if text := nsVersion(t, db); strings.Contains(text, "from") || strings.Contains(text, "next") {
			t.Errorf("stopped at statement %d: %+v, settings %q", stop, grant, text)
		}
		_, err = store.Acquire(t.Context(), layoutRequest(laterLayout, 0, 9))
		wantErr(t, "the next layout", err, lease.ErrLayout, formerLayout.String())
	}
}

// The UPDATE of versions that know protocol 1 has these conditions.
func TestAnExtensionByAnOldVersionIsRefusedFromTheAnnouncementOn(t *testing.T) {
	eachDatabase(t, func(t *testing.T, target testdb.Target, dialect sqldb.Dialect) {
		db := target.Open(t)
		store := newSQL(t, db, dialect)
		claim := mustAcquire(t, store, layoutRequest(formerLayout, 0, 0)).Claim
		old := "UPDATE snowflake_leases AS w SET horizon = w.horizon + 7 FROM snowflake_leases AS ns WHERE w.namespace = 'n' AND w.worker = 0 " +
			"AND w.epoch = 1 AND w.protocol <= 1 AND ns.protocol <= 1 AND ns.namespace = w.namespace AND ns.worker = -1"
		if dialect == sqldb.MySQL {
			old = "UPDATE snowflake_leases AS w JOIN snowflake_leases AS ns ON ns.namespace = w.namespace AND ns.worker = -1 SET w.horizon = w.horizon + 7 " +
				"WHERE w.namespace = 'n' AND w.worker = 0 AND w.epoch = 1 AND w.protocol <= 1 AND ns.protocol <= 1"
		}
		for _, want := range []int64{7, 7} {
			exec(t, db, old)
			if e := theEntry(t, store); e.Horizon != want {
				t.Errorf("horizon %d, want %d", e.Horizon, want)
			}
			if _, err := store.Announce(t.Context(), "n", laterLayout); err != nil {
				t.Fatal(err)
			}
		}
		mustExtend(t, store, keep(claim), 8)
	})
}

// Other servers take over that have, or have not, what the one before was told.
func TestAMoveSurvivesAFailover(t *testing.T) {
	eachDatabase(t, func(t *testing.T, target testdb.Target, dialect sqldb.Dialect) {
		if dialect == sqldb.SQLite {
			return // has no servers
		}
		db := target.Open(t)
		store := newSQL(t, db, dialect)
		failover := func(ago time.Duration) { // to what the replica has
			t.Helper()
			exec(t, db, "DELETE FROM snowflake_leases")
			exec(t, db, "INSERT INTO snowflake_leases SELECT * FROM replica")
			exec(t, db, fmt.Sprintf("UPDATE snowflake_leases SET expires_ms = %d WHERE worker = -1", time.Now().Add(-ago).UnixMilli()))
			store = newSQL(t, db, dialect) // the same processes would find the old revision
		}
		replicate := func() {
			t.Helper()
			exec(t, db, "DROP TABLE IF EXISTS replica")
			exec(t, db, "CREATE TABLE replica AS SELECT * FROM snowflake_leases")
		}
		r := layoutRequest(formerLayout, 0, 9)
		r.Reach = time.Second
		owner := mustAcquire(t, store, r).Claim
		mustExtend(t, store, keep(owner), tickAt(formerLayout, time.Now()))
		replicate()
		mover := moving(formerLayout, laterLayout, 0, 9)
		mover.Reach = time.Second
		wantWait(t, store, mover, time.Hour, "replicas")
		failover(0) // the announcement is forgotten: it begins again
		mustExtend(t, store, keep(owner), tickAt(formerLayout, time.Now()))
		wantWait(t, store, mover, time.Hour, "replicas")
		replicate()
		failover(0) // the announcement is known, and too young for a move: the former layout goes on
		r.Token, r.First, r.Last = leasetest.NewToken(), 20, 20
		next := mustAcquire(t, store, r).Claim
		mustRelease(t, store, next)
		backdate(t, db, 2*time.Hour)
		mustRelease(t, store, owner)
		exec(t, db, "UPDATE snowflake_leases SET expires_ms = 0 WHERE worker = -1")
		replicate()

		grant := mustAcquire(t, store, mover) // moved on the old primary
		spent := tickAt(laterLayout, time.Now().Add(time.Second))
		mustExtend(t, store, keep(grant.Claim), spent)
		failover(time.Millisecond)
		r.Token = leasetest.NewToken()
		_, err := store.Acquire(t.Context(), r)
		wantErr(t, "the former layout where the old primary may have moved", err, lease.ErrLayout, "before the failover")
		_, err = store.Announce(t.Context(), "n", formerLayout)
		wantErr(t, "a withdrawal there", err, lease.ErrLayout, "before the failover")
		mover.Token = leasetest.NewToken()
		again := acquireWhenDue(t, store, mover)
		if again.Floor.Before(laterLayout.Start(spent).Add(-2*time.Millisecond - time.Second)) {
			t.Errorf("%+v, want a floor", again)
		}
		wantAbove(t, laterLayout, again.Horizon, formerLayout, tickAt(formerLayout, again.Floor))
		if _, err := store.Extend(t.Context(), keep(grant.Claim), spent+5, time.Hour); !errors.Is(err, lease.ErrLost) {
			t.Errorf("an owner that the replica has never heard of: %v", err)
		}
	})
}

// rewrittenDB is a server that executes other statements.
type rewrittenDB struct {
	*sql.DB
	rewrite func(query string) string
}

func (d *rewrittenDB) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return d.DB.ExecContext(ctx, d.rewrite(query), args...)
}

func (d *rewrittenDB) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return d.DB.QueryContext(ctx, d.rewrite(query), args...)
}

// The start would be by the wrong clock, and nobody would get a worker until then. An announcement by a clock that is behind
// would count as one that replicas know.
func TestAMoveWaitsForTheServersClockToBeSet(t *testing.T) {
	days := 0 // by which its clock is ahead
	server := &rewrittenDB{testdb.SQLite(t).Open(t), func(query string) string {
		return strings.ReplaceAll(query, "2440587.5)", fmt.Sprintf("2440587.5 + (%d))", days))
	}}
	newSQL(t, server, sqldb.SQLite)
	for what, settings := range map[string]string{
		"before the announcement": "",
		"before the layout":       fmt.Sprintf(`{"since":%d,"next":"%s"}`, time.Now().UnixMilli(), laterLayout),
		"before the start":        fmt.Sprintf(`{"from":"%s"}`, formerLayout),
	} {
		exec(t, server, "DELETE FROM snowflake_leases")
		store := newSQL(t, server, sqldb.SQLite) // the same one would find the old revision
		mustRelease(t, store, mustAcquire(t, store, layoutRequest(formerLayout, 0, 0)).Claim)
		if settings != "" {
			exec(t, server, "UPDATE snowflake_leases SET protocol = 2")
			exec(t, server, "UPDATE snowflake_leases SET version = '"+settings+"' WHERE worker = -1")
		}
		if strings.Contains(settings, "from") {
			exec(t, server, fmt.Sprintf("UPDATE snowflake_leases SET layout = '%s' WHERE worker = -1", laterLayout))
		}
		for _, days = range []int{365, -365} {
			_, err := store.Acquire(t.Context(), moving(formerLayout, laterLayout, 0, 0))
			wantErr(t, what, err, lease.ErrClockSkew, "8760h")
			if settings == "" {
				_, err = store.Announce(t.Context(), "n", laterLayout)
				wantErr(t, "Announce", err, lease.ErrClockSkew, "8760h")
			}
			if got := nsVersion(t, server.DB); got != settings {
				t.Errorf("%s: settings %q, want %q", what, got, settings)
			}
		}
		days = 0
		// So would a floor be that a promoted server has written with a wrong clock. README.md says how to mend it.
		exec(t, server, "UPDATE snowflake_leases SET expires_ms = 2e12 WHERE worker = -1") // in 2033
		_, err := store.Acquire(t.Context(), moving(formerLayout, laterLayout, 0, 0))
		wantErr(t, what, err, lease.ErrLayout, "too far ahead")
		exec(t, server, "UPDATE snowflake_leases SET expires_ms = 0 WHERE worker = -1")
		acquireWhenDue(t, store, moving(formerLayout, laterLayout, 0, 0))
	}
}

// The clock of the caller is known to a tick.
func TestANamespaceMovesToALayoutWithLongTicks(t *testing.T) {
	store := newSQL(t, testdb.SQLite(t).Open(t), sqldb.SQLite)
	long := snowflake.MustLayout(formerLayout.Epoch(), 10_000*time.Hour, snowflake.Field{Name: "time", Bits: 4},
		snowflake.Field{Name: "worker", Bits: 10}, snowflake.Field{Name: "sequence", Bits: 49})
	mustRelease(t, store, mustAcquire(t, store, layoutRequest(formerLayout, 0, 0)).Claim)
	grant, err := store.Acquire(t.Context(), moving(formerLayout, long, 0, 0))
	wantErr(t, fmt.Sprintf("%+v", grant), err, lease.ErrNoWorker, "not above the ones before yet")
}
