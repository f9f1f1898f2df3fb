package gormplugin_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// wrapped is a pool of the user's own, as one for tracing. It keeps the statements of ExecContext.
type wrapped struct {
	*sql.DB
	statements kept[string]
}

func (w *wrapped) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	w.statements.add(query)
	return w.DB.ExecContext(ctx, query, args...)
}

func (w *wrapped) GetDBConn() (*sql.DB, error) { return w.DB, nil }

// wrap returns a session of the handle with its own pool.
func (h *handle) wrap(session gorm.Session) (*gorm.DB, *wrapped) {
	own := &wrapped{DB: h.pool}
	db := h.Session(&gorm.Session{Context: context.Background()})
	db.Statement.ConnPool, db.ConnPool = own, own
	return db.Session(&session), own
}

// It uses a pool of the user's own.
func TestOpenCreatesNothingIfTheTableIsThere(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		for _, there := range []bool{false, true} {
			db, own := on(t, target).wrap(gorm.Session{PrepareStmt: there})
			keys, err := gormplugin.Open(t.Context(), db)
			noError(t, err)
			noError(t, keys.Close(t.Context()))
			ran := strings.Join(own.statements.take(), "\n")
			equal(t, "a CREATE was run", strings.Contains(ran, "CREATE"), !there)
			equal(t, "the lease uses the pool", ran != "", true)
		}
	})
}

func TestALeaseEndsWithItsPoolAndSaysSo(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		t.Parallel()
		h := on(t, target)
		other := on(t, target)
		other.migrate(t, &user{})
		clock, keys := h.pushed(t)
		noError(t, other.Use(keys))
		noError(t, h.pool.Close())
		var err error
		clock.until(t, "an error of the generator", func() bool {
			err = other.Create(&user{Name: "a"}).Error
			return err != nil
		})

		wantErrorOf(t, "Create on another handle", err, os.ErrClosed, "sql: database is closed")
		wantErrorOf(t, "Healthy", keys.Lease().Healthy(), os.ErrClosed)
		wantErrorOf(t, "Ready", keys.Lease().Ready(), os.ErrClosed)
		equal(t, "a warning says that the lease has ended", len(h.log.warnings.take()) > 0, true)
		for range 20 { // several times the pause between tries
			clock.Push(step)
			time.Sleep(2 * time.Millisecond) // for a goroutine that should not be there
		}

		equal(t, "warnings of a lease that goes on", len(h.log.warnings.take()), 0)
		wantError(t, keys.Close(t.Context()), os.ErrClosed)
	})
}

// setAside hides the lease table, and brings it back.
func setAside(t *testing.T, h *handle) (back func()) {
	t.Helper()
	must(t, h.Exec("ALTER TABLE snowflake_leases RENAME TO set_aside"))
	return func() {
		t.Helper()
		must(t, h.Exec("ALTER TABLE set_aside RENAME TO snowflake_leases"))
	}
}

func TestAStoreThatIsGoneIsAnErrorOfCreateAndComesBack(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		t.Parallel()
		h := on(t, target)
		clock, _ := h.pushed(t, lease.WithPatience(20*time.Millisecond))
		h.migrate(t, &user{})
		must(t, h.Create(&user{Name: "before"}))
		back := setAside(t, on(t, target))
		var err error
		u := user{Name: "never"}
		clock.until(t, "the horizon, and an extension that has failed", func() bool {
			u.ID = 0
			err = h.Create(&u).Error
			if err != nil && (!errors.Is(err, snowflake.ErrLeaseStalled) || u.ID != 0) {
				t.Fatalf("Create: %v, key %d, want ErrLeaseStalled and 0", err, u.ID)
			}
			var stalled *snowflake.StalledError
			return errors.As(err, &stalled) && stalled.Cause != nil && strings.Contains(stalled.Cause.Error(), "snowflake_leases")
		})

		equal(t, "rows with the key 0", h.count(t, "users", "id = ?", u.ID), 0) // the connection is usable
		eventually(t, "the return of all connections", func() bool { return h.pool.Stats().InUse == 0 })
		back()
		clock.until(t, "the recovery", func() bool { return h.Create(&user{Name: "after"}).Error == nil })
	})
}

// eachHeld runs f on databases whose extensions a transaction keeps out.
func eachHeld(t *testing.T, f func(t *testing.T, h *handle)) {
	t.Helper()
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		h := on(t, target)
		h.pool.SetMaxOpenConns(1)
		f(t, h)
	})
	t.Run("sqlite with many connections", func(t *testing.T) {
		f(t, on(t, testdb.SQLite(t)))
	})
}

func TestATransactionThatKeepsExtensionsOutDoesNotDeadlock(t *testing.T) {
	eachHeld(t, func(t *testing.T, h *handle) {
		t.Parallel()
		keepsExtensionsOut(t, h, context.Background())
	})
	t.Run("a request's context", func(t *testing.T) { // which can end
		eachHeld(t, func(t *testing.T, h *handle) {
			t.Parallel()
			keepsExtensionsOut(t, h, t.Context())
		})
	})
}

func keepsExtensionsOut(t *testing.T, h *handle, ctx context.Context) {
	t.Helper()
	clock, _ := h.pushed(t, lease.WithPatience(50*time.Millisecond))
	h.migrate(t, &user{})

	created := 0
	err := h.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		for ; ; created++ {
			if err := tx.Create(&user{Name: "a"}).Error; err != nil {
				return err
			}
			clock.Push(step)
		}
	})
	if created == 0 || !errors.Is(err, snowflake.ErrLeaseStalled) || strings.Contains(err.Error(), "nil") {
		t.Errorf("the transaction ended with %v after %d rows, want ErrLeaseStalled", err, created)
	}

	eventually(t, "the next create", func() bool { return h.Create(&user{Name: "next"}).Error == nil })
	eventually(t, "the return of all connections", func() bool { return h.pool.Stats().InUse == 0 })
	equal(t, "rows after the rollback", h.count(t, "users", "1 = 1"), 1)
}

// After an outage, or the sleep of a laptop, the first creates find the horizon passed. If they held all connections
// while they wait, the extension could not get one.
func TestACreateWaitsForTheLeaseWithoutAConnection(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		t.Parallel()
		for _, connections := range []int{1, 3} {
			h := on(t, target)
			h.pool.SetMaxOpenConns(connections)
			clock, keys := h.pushed(t, lease.WithPatience(time.Minute)) // then they fail
			h.migrate(t, &user{})
			var held []*gorm.DB
			for range connections {
				held = append(held, must(t, h.Begin()))
			}

			clock.pass(t, keys)
			const creates = 8
			errs := make(chan error, creates)
			for range creates {
				go func() { errs <- h.Create(&user{Name: "a"}).Error }()
			}

			for _, tx := range held {
				must(t, tx.Rollback())
			}

			for range creates {
				noError(t, <-errs)
			}
		}
	})
}

func TestAStalledLeaseDoesNotConcernOtherModels(t *testing.T) {
	type counted struct {
		ID   uint
		Name string
	}

	target := testdb.SQLite(t)
	h := on(t, target)
	clock, keys := h.pushed(t, lease.WithPatience(time.Hour))
	h.migrate(t, &user{}, &counted{})
	back := setAside(t, on(t, target))
	clock.pass(t, keys)
	create(t, h.DB, &counted{Name: "a"}, &user{Name: "b", Model: gormplugin.Model{ID: 5}})
	back()
	must(t, h.Create(&user{Name: "c"}))
}

func TestADatabaseInMemoryKeepsItsOneConnection(t *testing.T) {
	for _, dsn := range []string{":memory:", "", "file:private?mode=memory"} {
		h := openHandle(t, sqlite.Open(dsn), gorm.Config{})
		clock, keys := h.pushed(t)
		h.migrate(t, &user{})
		var users []user
		tx := must(t, h.Begin()) // extensions find the connection in use
		for range 3 {
			clock.extend(t, keys)
			users = named("a", "b")
			must(t, tx.Create(&users))
		}

		must(t, tx.Commit())
		equal(t, "connections", h.pool.Stats().OpenConnections, 1)
		// Nothing was extended, so it has to be held for as long as the database lives.
		if row := h.entries(t)[0]; !row.Held || time.Until(row.Expires) < 365*24*time.Hour || row.Horizon != 0 {
			t.Errorf("%q: the row in between: %+v", dsn, row)
		}

		noError(t, keys.Close(t.Context()))
		if left := snowflake.Default().Start(h.entries(t)[0].Horizon); !snowflake.Default().Time(users[1].ID).Before(left) {
			t.Errorf("%q: the last key %d is not below the horizon that is left, %v", dsn, users[1].ID, left)
		}

		equal(t, "workers held after Close", h.held(t), 0)
		equal(t, "connections at the end", h.pool.Stats().OpenConnections, 1)
		equal(t, "keys", h.Find(&[]user{}).RowsAffected, 6)
	}
}

func TestCloseOpensNoSecondDatabaseInMemory(t *testing.T) {
	h := openHandle(t, sqlite.Open(":memory:"), gorm.Config{})
	keys, err := gormplugin.Open(t.Context(), h.DB)
	noError(t, err)
	tx := must(t, h.Begin())
	wantFailure(t, "Close while the connection is in use", keys.Close(t.Context()))
	must(t, tx.Rollback())
	equal(t, "connections", h.pool.Stats().OpenConnections, 1)
	equal(t, "workers held", h.held(t), 1)
}

func TestALeaseInMemoryEndsWithItsPool(t *testing.T) {
	h := openHandle(t, sqlite.Open(":memory:"), gorm.Config{})
	clock, keys := h.pushed(t)
	noError(t, h.pool.Close())
	clock.until(t, "the end", func() bool { return errors.Is(keys.Lease().Healthy(), os.ErrClosed) })
	wantError(t, keys.Close(t.Context()), os.ErrClosed)
}

// A statement that has waited for the lease before its transaction is resolved and taken back as any other.
func TestACreateThatWaitedForTheLeaseForgetsNoGeneratedKey(t *testing.T) {
	h := on(t, testdb.SQLite(t))
	h.leased(t, gormplugin.WithReady(func() error { return errors.New("each create has to wait") }))
	h.migrate(t, &city{}, &street{}, &coupon{})
	first, again := coupon{Name: "a"}, coupon{Name: "a"}
	create(t, h.DB, &city{Code: "BER"}, &first)

	skipped, failed := city{Code: "BER"}, city{Code: "BER"}
	must(t, h.Clauses(nothing).Create(&skipped))
	wantFailure(t, "a second BER", h.Create(&failed).Error)
	wantIDs(t, []city{skipped, failed}, 0, 0)

	dry := city{Code: "PAR", Streets: []street{{}}}
	must(t, h.Session(&gorm.Session{DryRun: true}).Create(&dry))
	equal(t, "keys after a dry run", dry.ID+dry.Streets[0].ID+dry.Streets[0].CityID, 0)

	must(t, h.Clauses(by("name", "code", "number")).Create(&again))
	equal(t, "record of an updated row", again, first)
}
