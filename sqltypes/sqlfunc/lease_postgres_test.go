package sqlfunc_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
	"github.com/sqlflake/sqlflake/sqltypes/sqlfunc"
)

func request(layout snowflake.Layout, first, last int64) lease.Request {
	return lease.Request{
		Namespace: "shop", Layout: layout.String(), First: first, Last: last,
		Token: leasetest.NewToken(), TTL: time.Hour, Tick: 1,
	}
}

// keep returns the claim for an extension that keeps the token.
func keep(c lease.Claim) lease.Claim {
	c.Next = c.Token
	return c
}

func newStore(t *testing.T, db server) *sqllease.Store {
	t.Helper()
	store, err := sqllease.New(db, sqldb.Postgres)
	if err == nil {
		err = store.Migrate(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func TestLeasesNeverGetTheReservedWorker(t *testing.T) {
	db := openPostgres(t)
	layout := snowflake.MustPreset("javascriptsafe")
	for range 2 {
		db.install(t, layout, sqlfunc.WithWorker(5), sqlfunc.WithLeaseTable("", "shop"))
	}
	store := newStore(t, db)
	got := map[int64]bool{}
	for range layout.MaxWorker() {
		grant, err := store.Acquire(t.Context(), request(layout, 0, layout.MaxWorker()))
		if err != nil {
			t.Fatal(err)
		}
		got[grant.Worker] = true
	}
	if len(got) != int(layout.MaxWorker()) || got[5] {
		t.Errorf("leased %v, want all but 5", got)
	}
	for _, r := range []lease.Request{request(layout, 0, layout.MaxWorker()), request(layout, 5, 5)} {
		var none *lease.NoWorkerError
		if grant, err := store.Acquire(t.Context(), r); !errors.As(err, &none) || none.Wait <= 0 {
			t.Errorf("leased %+v, %v, want ErrNoWorker with a wait", grant, err)
		}
	}
	entries, err := store.List(t.Context(), "shop")
	if err != nil || len(entries) != 16 || !entries[5].Held || entries[5].Holder.Version != "sqlfunc" ||
		!entries[5].Expires.Equal(time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("%+v, %v", entries, err)
	}
}

func TestReservingAHeldWorkerFails(t *testing.T) {
	db := openPostgres(t)
	layout := snowflake.Default()
	store := newStore(t, db)
	grant, err := store.Acquire(t.Context(), request(layout, 7, 7))
	if err != nil {
		t.Fatal(err)
	}
	f := db.functions(t, layout, sqlfunc.WithWorker(7), sqlfunc.WithLeaseTable("", "shop"))
	if err := f.Install(t.Context(), db, sqldb.Postgres); sqlState(err) != "55006" {
		t.Errorf("error %v, want 55006, object_in_use", err)
	}
	if got := scan[bool](t, db, "SELECT to_regprocedure('snowflake_next()') IS NULL"); !got {
		t.Error("the function is there all the same")
	}
	// After its release, IDs start above all that its owner may have issued.
	horizon := int64(time.Since(layout.Epoch())/layout.Tick()) + 5000
	if _, err := store.Extend(t.Context(), keep(grant.Claim), horizon, time.Hour); err != nil {
		t.Fatal(err)
	}
	if err := store.Release(t.Context(), grant.Claim, horizon); err != nil {
		t.Fatal(err)
	}
	if err := f.Install(t.Context(), db, sqldb.Postgres); err != nil {
		t.Fatal(err)
	}
	if id := scan[snowflake.ID](t, db, "SELECT snowflake_next()"); layout.Time(id).Before(layout.Start(horizon)) {
		t.Errorf("the first ID is of %v, the horizon was %v", layout.Time(id), layout.Start(horizon))
	}
	if _, err := store.Extend(t.Context(), keep(grant.Claim), horizon+1, time.Hour); !errors.Is(err, lease.ErrLost) {
		t.Errorf("the owner of before: %v, want ErrLost", err)
	}
}

func TestReservingInANamespaceOfAnotherLayoutFails(t *testing.T) {
	db := openPostgres(t)
	if _, err := newStore(t, db).Acquire(t.Context(), request(snowflake.MustPreset("wide"), 7, 7)); err != nil {
		t.Fatal(err)
	}
	f := db.functions(t, snowflake.Default(), sqlfunc.WithWorker(1), sqlfunc.WithLeaseTable("", "shop"))
	if err := f.Install(t.Context(), db, sqldb.Postgres); sqlState(err) != "55000" {
		t.Errorf("error %v, want 55000", err)
	}
}

// The same worker in two schemas of one database would be issued twice.
func TestWorkerIsReservedForOnlyOneFunction(t *testing.T) {
	db := openPostgres(t)
	layout := snowflake.Default()
	db.install(t, layout, sqlfunc.WithWorker(5), sqlfunc.WithLeaseTable("", "shop"))
	second := []sqlfunc.Option{sqlfunc.WithName("other"), sqlfunc.WithLeaseTable("", "shop")}
	f := db.functions(t, layout, append(second, sqlfunc.WithWorker(5))...)
	if err := f.Install(t.Context(), db, sqldb.Postgres); sqlState(err) != "55006" ||
		!strings.Contains(err.Error(), "worker 5 is reserved") || !strings.Contains(err.Error(), ".snowflake_next") {
		t.Errorf("error %v, want 55006 and whose it is", err)
	}
	db.install(t, layout, append(second, sqlfunc.WithWorker(6))...)
}

// The horizon of the last owner may be below IDs that the function has issued for another worker.
func TestReservingNeverSetsTheStateBack(t *testing.T) {
	db := openPostgres(t)
	layout := snowflake.Default()
	store := newStore(t, db)
	grant, err := store.Acquire(t.Context(), request(layout, 7, 7))
	if err == nil {
		_, err = store.Extend(t.Context(), keep(grant.Claim), 1000, time.Hour)
	}
	if err == nil {
		err = store.Release(t.Context(), grant.Claim, 1000)
	}
	if err != nil {
		t.Fatal(err)
	}
	db.install(t, layout, sqlfunc.WithWorker(1))
	// Ahead of the clock, so that only the state determines the next ID.
	db.exec(t, "SELECT setval('snowflake_state', (snowflake_next() >> 22) + 5000 << 19)")
	before := scan[snowflake.ID](t, db, "SELECT snowflake_next()")
	db.install(t, layout, sqlfunc.WithWorker(7), sqlfunc.WithLeaseTable("", "shop"))
	if after := scan[snowflake.ID](t, db, "SELECT snowflake_next()"); after <= before {
		t.Errorf("%v after %v", layout.Decompose(after), layout.Decompose(before))
	}
}
