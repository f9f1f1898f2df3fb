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
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

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

func layoutRequest(layout snowflake.Layout, first, last int64) lease.Request {
	r := sqlRequest("n", first, last)
	r.Layout = layout.String()
	return r
}

// wantErr checks that the error is of the kind and names the parts.
func wantErr(t *testing.T, what string, err, kind error, parts ...string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("%s: %v, want %v", what, err, kind)
	}
	for _, part := range parts {
		if err != nil && !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v, want %q in it", what, err, part)
		}
	}
}

func TestANamespaceLendsTheWorkersOfItsShareOnly(t *testing.T) {
	eachDatabase(t, func(t *testing.T, target testdb.Target, dialect sqldb.Dialect) {
		db := target.Open(t)
		store, layout := newSQL(t, db, dialect), snowflake.Default()
		for _, want := range []snowflake.Layout{{}, layout} { // the first call creates the namespace
			if got, err := store.Layout(t.Context(), "n"); got != want || err != nil {
				t.Errorf("the layout of the namespace is %q, %v, want %q", got, err, want)
			}
			if err := store.SetShare(t.Context(), "n", layout, 4, 7); err != nil {
				t.Fatal(err)
			}
		}
		wantErr(t, "another share", store.SetShare(t.Context(), "n", layout, 4, 8), lease.ErrOption, "4 to 7", "4 to 8")
		_, err := store.Acquire(t.Context(), layoutRequest(layout, 8, 1023))
		wantErr(t, "workers outside", err, lease.ErrOption, "8 to 1023", "4 to 7")
		for range 2 { // new workers, then takeovers
			var claims []lease.Claim
			for range 4 {
				grant := mustAcquire(t, store, layoutRequest(layout, 0, 1023))
				if grant.Worker < 4 || grant.Worker > 7 {
					t.Errorf("worker %d", grant.Worker)
				}
				mustExtend(t, store, keep(grant.Claim), 500)
				claims = append(claims, grant.Claim)
			}
			var none *lease.NoWorkerError
			if _, err := store.Acquire(t.Context(), layoutRequest(layout, 0, 1023)); !errors.As(err, &none) || none.First != 4 || none.Last != 7 {
				t.Errorf("when all are held: %v", err)
			}
			for _, c := range claims {
				mustRelease(t, store, c)
			}
		}
		exec(t, db, "UPDATE snowflake_leases SET version = '' WHERE worker = -1") // a failover to a replica that does not know the share
		if grant := mustAcquire(t, store, layoutRequest(layout, 0, 1023)); grant.Worker < 4 || grant.Worker > 7 || nsVersion(t, db) != `{"workers":[4,7]}` {
			t.Errorf("after a failover: worker %d, settings %q", grant.Worker, nsVersion(t, db))
		}
		// The condition of every statement that knows protocol 1, for a worker and for the namespace.
		if open := ask[int64](t, db, "SELECT COUNT(*) FROM snowflake_leases WHERE protocol <= 1"); open != 0 {
			t.Errorf("%d rows without a mark", open)
		}
	})
}

func TestSetShareRefuses(t *testing.T) {
	eachDatabase(t, func(t *testing.T, target testdb.Target, dialect sqldb.Dialect) {
		db := target.Open(t)
		store, layout := newSQL(t, db, dialect), snowflake.Default()
		claim := mustAcquire(t, store, layoutRequest(layout, 9, 9)).Claim
		var later *lease.VersionError
		for what, test := range map[string]struct {
			namespace   string
			layout      snowflake.Layout
			first, last int64
			kind        error
			part        string
		}{
			"no namespace":           {"", layout, 0, 7, lease.ErrOption, "namespace"},
			"no layout":              {"m", snowflake.Layout{}, 0, 0, lease.ErrOption, "layout"},
			"negative":               {"m", layout, -1, 7, lease.ErrOption, "-1"},
			"reversed":               {"m", layout, 7, 6, lease.ErrOption, "6"},
			"beyond the layout":      {"m", layout, 0, 1024, lease.ErrOption, "1023"},
			"another layout":         {"n", snowflake.MustPreset("wide"), 0, 255, lease.ErrLayout, "sequence:14"},
			"a worker outside of it": {"n", layout, 0, 7, lease.ErrOption, "worker 9"},
		} {
			wantErr(t, what, store.SetShare(t.Context(), test.namespace, test.layout, test.first, test.last), test.kind, test.part)
		}
		mustExtend(t, store, keep(claim), 5) // nothing has changed
		if err := store.SetShare(t.Context(), "n", layout, 9, 9); err != nil {
			t.Fatal(err)
		}
		mustExtend(t, store, keep(claim), 6) // nor has it for those who know shares
		for _, text := range []string{`{"workers":[9,9],"more":1}`, `{"workers":[9,9]} `, `{"workers":[9]}`, `{"workers":[9,8]}`, `{"workers":[9,9,9]}`, "x", "{}"} {
			exec(t, db, fmt.Sprintf("UPDATE snowflake_leases SET version = '%s' WHERE worker = -1", text))
			if _, err := store.Acquire(t.Context(), layoutRequest(layout, 9, 9)); !errors.As(err, &later) {
				t.Errorf("settings %q: %v, want a *VersionError", text, err)
			}
			if err := store.SetShare(t.Context(), "n", layout, 9, 9); !errors.As(err, &later) {
				t.Errorf("SetShare with settings %q: %v, want a *VersionError", text, err)
			}
		}
	})
}

// A worker outside of the share is taken while the share is set.
func TestAShareThatIsSetDuringAnAcquisitionCounts(t *testing.T) {
	eachDatabase(t, func(t *testing.T, target testdb.Target, dialect sqldb.Dialect) {
		db := target.Open(t)
		owner, layout := newSQL(t, db, dialect), snowflake.Default()
		share := func(what string, want error) {
			t.Helper()
			if err := owner.SetShare(t.Context(), "n", layout, 0, 7); !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", what, err, want)
			}
		}
		for what, test := range map[string]struct {
			marked    bool
			statement int64 // before which the share is set
		}{
			"after the look":                              {false, 2},
			"before the row":                              {false, 3},
			"before the row of a marked namespace":        {true, 3},
			"while the row is invisible, in a marked one": {true, 4},
		} {
			exec(t, db, "DELETE FROM snowflake_leases")
			mustRelease(t, owner, mustAcquire(t, owner, layoutRequest(layout, 0, 0)).Claim)
			if test.marked {
				exec(t, db, "UPDATE snowflake_leases SET protocol = 2")
			}
			asker, _ := countedStore(t, db, target, dialect, func(n int64) {
				switch {
				case n != test.statement:
				case n == 4: // SetShare has found no row
					exec(t, db, `UPDATE snowflake_leases SET version = '{"workers":[0,7]}' WHERE worker = -1`)
				default:
					share(what, nil)
				}
			})
			grant, err := asker.Acquire(t.Context(), layoutRequest(layout, 9, 9))
			wantErr(t, what, err, lease.ErrOption, "0 to 7")
			if err == nil {
				t.Errorf("%s: %+v", what, grant)
			}
		}
		// The row was not committed when the share was set.
		exec(t, db, "DELETE FROM snowflake_leases")
		mustRelease(t, owner, mustAcquire(t, owner, layoutRequest(layout, 0, 0)).Claim)
		claim := lease.Claim{Namespace: "n", Worker: 9, Epoch: 1, Token: leasetest.NewToken()}
		share("an invisible row", nil)
		exec(t, db, fmt.Sprintf("INSERT INTO snowflake_leases SELECT namespace, 9, 1, '%s', 0, %d, 0, layout, '', 0, '', 1 FROM snowflake_leases WHERE worker = -1",
			claim.Token, time.Now().Add(time.Hour).UnixMilli()))
		if _, err := owner.Extend(t.Context(), keep(claim), 5, time.Hour); !errors.Is(err, lease.ErrLost) {
			t.Errorf("an extension of a row that the mark could not find: %v", err)
		}
		share("a row that came late", lease.ErrOption)
	})
}

// The statement that reserves has begun when the share is set, and ends later. A reservation is never extended.
func TestAShareThatIsSetDuringAReservationCounts(t *testing.T) {
	db := testdb.Postgres(t).Open(t)
	db.SetMaxOpenConns(10)
	store := newSQL(t, db, sqldb.Postgres)
	l, err := lease.Open(t.Context(), store, lease.WithNamespace("n"), lease.WithWorkers(0, 7))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close(t.Context())
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }() // fails after the first one
	exec(t, tx, "INSERT INTO snowflake_leases SELECT namespace, 9, 1, '', 0, 0, 0, layout, '', 0, '' FROM snowflake_leases WHERE worker = -1")
	reserved := make(chan error, 1)
	go func() { reserved <- l.Reserve(t.Context(), 9, "orders") }()
	const waiting = "SELECT COUNT(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid) " +
		"WHERE NOT l.granted AND a.query LIKE 'INSERT%' AND a.datname = current_database()"
	for ask[int64](t, db, waiting) == 0 {
		continue
	}
	share := store.SetShare(t.Context(), "n", snowflake.Default(), 0, 7)
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if share != nil {
		t.Fatal(share)
	}
	wantErr(t, "Reserve", <-reserved, lease.ErrOption, "0 to 7")
	wantErr(t, "SetShare after it", store.SetShare(t.Context(), "n", snowflake.Default(), 0, 7), lease.ErrOption, "worker 9")
}
