package gormsettled_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/contrib/settled"
	"github.com/sqlflake/sqlflake/contrib/settled/gormsettled"
	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/gormplugin/gormtest"
	"github.com/sqlflake/sqlflake/internal/skip"
	"github.com/sqlflake/sqlflake/internal/testclock"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/internal/testdb/gormdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

func TestMain(m *testing.M) { os.Exit(testdb.Main(m)) }

type event struct {
	ID   snowflake.ID
	Kind string
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, target testdb.Target) (*gorm.DB, *sql.DB) {
	t.Helper()
	db, err := gorm.Open(gormdb.Dialector(target), &gorm.Config{Logger: logger.Discard})
	must(t, err)
	pool, err := db.DB()
	must(t, err)
	t.Cleanup(func() { _ = pool.Close() })
	return db, pool
}

func TestReadUsesTheLeasesOfOpen(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		if target.Name == "sqlite" {
			skip.Inapplicable(t, "all processes have one clock")
		}

		// The plugin's own window lies between these two.
		for _, window := range []time.Duration{lease.DefaultWindow, lease.MaxWindow} {
			db, pool := open(t, target)
			namespace := lease.WithNamespace(window.String())
			keys, err := gormplugin.Open(t.Context(), db, gormplugin.WithLease(namespace))
			must(t, err)
			t.Cleanup(func() { _ = keys.Close(context.Background()) })

			// A process whose clock is behind issues an ID that the bound may not pass.
			const behind = 8 * time.Second
			store, err := sqllease.New(pool, sqldb.Dialect(db.Name()))
			must(t, err)
			l, err := lease.Open(t.Context(), store, namespace, lease.WithWindow(window),
				lease.WithClock(testclock.New(-behind)), lease.WithLogger(slog.New(slog.DiscardHandler)))
			must(t, err)
			bound, id, err := readBound(t, db, l.Generator())
			if err != nil || bound.Below > id || !strings.Contains(bound.Reason, "behind") {
				t.Errorf("%+v, %v with a window of %v and a clock that is %v behind, which has issued %d", bound, err,
					window, behind, id)
			}
			must(t, l.Close(t.Context()))
		}
	})
}

// readBound repeats a Read that finds the lists of the server's transactions stale, as beside other tests. It returns an
// ID that was issued just before: the bound passes an ID that no transaction holds.
func readBound(t *testing.T, db *gorm.DB, g *snowflake.Generator) (settled.Bound, snowflake.ID, error) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		id, err := g.Next()
		must(t, err)
		bound, err := gormsettled.Read(t.Context(), db, &event{}, settled.WithMargin(time.Second))
		if !errors.Is(err, settled.ErrUnknown) || time.Now().After(deadline) {
			return bound, id, err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func TestReadRejectsATransaction(t *testing.T) {
	db, _ := open(t, testdb.SQLite(t))
	gen, err := snowflake.New(3)
	must(t, err)
	must(t, db.Use(gormplugin.New(gen)))

	err = db.Transaction(func(tx *gorm.DB) error {
		_, err := gormsettled.Read(t.Context(), tx, &event{})
		return err
	})
	if !errors.Is(err, gorm.ErrInvalidTransaction) {
		t.Errorf("error %v, want ErrInvalidTransaction", err)
	}
	if b, err := gormsettled.Read(t.Context(), db, &event{}); err != nil || b.Below == 0 || b.Reason != "" {
		t.Errorf("outside: %+v, %v", b, err)
	}
}

func ExampleRead() {
	type Event struct {
		ID   snowflake.ID
		Kind string
	}
	check := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	gen := gormtest.New(snowflake.Default(), time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC), time.Hour)
	db, err := gorm.Open(sqlite.Open(":memory:"), &gorm.Config{Logger: logger.Discard}, gormplugin.New(gen))
	check(err)
	check(db.AutoMigrate(&Event{}))
	check(db.Create(&[]Event{{Kind: "ordered"}, {Kind: "paid"}, {Kind: "sent"}}).Error)

	var last snowflake.ID // a reader keeps it
	read := func() ([]Event, error) {
		bound, err := gormsettled.Read(context.Background(), db, &Event{}) // before the rows
		if err != nil {
			return nil, err // ask again later
		}

		var events []Event
		page := gormplugin.Page{After: last, Limit: 100}
		err = db.Where("id < ?", bound.Below).Clauses(page).Find(&events).Error
		if len(events) > 0 {
			last = events[len(events)-1].ID
		}
		return events, err
	}
	for range 2 {
		events, err := read()
		for _, e := range events {
			fmt.Print(e.Kind, " ")
		}
		fmt.Println(len(events), err)
	}
	// Output:
	// ordered paid sent 3 <nil>
	// 0 <nil>
}
