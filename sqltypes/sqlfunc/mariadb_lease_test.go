package sqlfunc_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
	"github.com/sqlflake/sqlflake/sqltypes/sqlfunc"
)

func TestMariaDBReservesItsWorkerInTheTableOfLeases(t *testing.T) {
	db := openMariaDB(t)
	layout := snowflake.MustPreset("javascriptsafe")
	store, err := sqllease.New(db, sqldb.MySQL)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	options := []lease.Option{
		lease.WithGenerator(snowflake.WithLayout(layout)), lease.WithNamespace("it's"),
		lease.WithWindow(time.Minute),
		lease.WithLogger(slog.New(slog.DiscardHandler)),
	}
	held, err := lease.Open(t.Context(), store, options...)
	if err != nil {
		t.Fatal(err)
	}
	worker := held.Generator().Worker()
	f, err := sqlfunc.New(layout, sqlfunc.WithWorker(worker), sqlfunc.WithLeaseTable("", "it's"))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Install(t.Context(), db, sqldb.MySQL); err == nil || !strings.Contains(err.Error(), "is leased") {
		t.Fatalf("a worker that is leased was reserved: %v", err)
	}
	if err := held.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	// A process left this row when it died five seconds ahead of the clock.
	horizon := int64(time.Since(layout.Epoch())/layout.Tick()) + 5000
	db.exec(t, "UPDATE snowflake_leases SET horizon = ? WHERE worker = ?", horizon, worker)
	for range 2 {
		if err := f.Install(t.Context(), db, sqldb.MySQL); err != nil {
			t.Fatal(err)
		}
	}
	if id := scan[snowflake.ID](t, db, "SELECT snowflake_next()"); layout.Time(id).Before(layout.Start(horizon)) {
		t.Errorf("the first ID is of %s, the owner before had IDs until %s", layout.Time(id), layout.Start(horizon))
	}
	for range layout.MaxWorker() {
		l, err := lease.Open(t.Context(), store, options...)
		if err != nil {
			t.Fatal(err)
		}
		if l.Generator().Worker() == worker {
			t.Errorf("worker %d was leased", worker)
		}
		defer func() { _ = l.Close(t.Context()) }()
	}
}

func TestMariaDBReservesAWorkerForOnlyOneFunction(t *testing.T) {
	db := openMariaDB(t)
	install := func(worker int64, options ...sqlfunc.Option) error {
		f, err := sqlfunc.New(snowflake.Default(), append(options, sqlfunc.WithWorker(worker), sqlfunc.WithLeaseTable("", "shop"))...)
		if err != nil {
			t.Fatal(err)
		}
		return f.Install(t.Context(), db, sqldb.MySQL)
	}
	if err := install(5); err != nil {
		t.Fatal(err)
	}
	err := install(5, sqlfunc.WithName("other"))
	if err == nil || !strings.Contains(err.Error(), "worker 5 is reserved") || !strings.Contains(err.Error(), ".snowflake_next") {
		t.Errorf("error %v, want whose the worker is", err)
	}
	if err := install(6, sqlfunc.WithName("other")); err != nil {
		t.Error(err)
	}
}
