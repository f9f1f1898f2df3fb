package gormplugin_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/internal/testdb/gormdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

func TestOpenWithAnyConfiguration(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		t.Parallel()
		var made, rows int64
		for _, config := range []gorm.Config{
			{PrepareStmt: true},
			{SkipDefaultTransaction: true},
			{PrepareStmt: true, SkipDefaultTransaction: true},
			{DisableNestedTransaction: true},
			{CreateBatchSize: 2},
		} {
			h := openHandle(t, gormdb.Dialector(target), config)
			clock := newPushed()
			keys := clock.open(t, h)
			h.migrate(t, &user{})
			for range 2 {
				clock.extend(t, keys)
				users := named("a", "b", "c")
				must(t, h.Create(&users))
				made += 3
			}
			noError(t, keys.Close(t.Context()))
			must(t, h.Model(&user{}).Count(&rows))
			equal(t, "rows", rows, made)
		}
	})
}

// wrapped is a pool of the user's own, as one for tracing. It keeps the statements of ExecContext.
type wrapped struct {
	*sql.DB
	mu         sync.Mutex
	statements []string
}

func (w *wrapped) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	w.mu.Lock()
	w.statements = append(w.statements, query)
	w.mu.Unlock()
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
			created := slices.ContainsFunc(own.statements, func(s string) bool { return strings.Contains(s, "CREATE") })
			equal(t, "a CREATE was run", created, !there)
			equal(t, "the lease uses the pool", len(own.statements) > 0, true)
		}
	})
}

func TestALeaseEndsWithItsPoolAndSaysSo(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		t.Parallel()
		h := on(t, target)
		other := on(t, target)
		other.migrate(t, &user{})
		clock := newPushed()
		keys := clock.open(t, h)
		noError(t, other.Use(keys))
		noError(t, h.pool.Close())
		var err error
		clock.until(t, "an error of the generator", func() bool {
			err = other.Create(&user{Name: "a"}).Error
			return err != nil
		})
		if !errors.Is(err, os.ErrClosed) || !strings.Contains(err.Error(), "sql: database is closed") {
			t.Errorf("Create on another handle: %v, want os.ErrClosed and what database/sql says", err)
		}
		if err := keys.Lease().Healthy(); !errors.Is(err, os.ErrClosed) || !errors.Is(keys.Lease().Ready(), os.ErrClosed) {
			t.Errorf("Healthy: %v, Ready: %v, want os.ErrClosed", err, keys.Lease().Ready())
		}
		if len(h.log.takeWarnings()) == 0 {
			t.Error("no warning says that the lease has ended")
		}
		for range 20 { // several times the pause between tries
			clock.Push(step)
			time.Sleep(2 * time.Millisecond) // for a goroutine that should not be there
		}
		equal(t, "warnings of a lease that goes on", len(h.log.takeWarnings()), 0)
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
		clock := newPushed()
		clock.open(t, h, lease.WithPatience(20*time.Millisecond))
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
			return err != nil && strings.Contains(err.Error(), "snowflake_leases")
		})
		var rows int64
		must(t, h.Model(&user{}).Where("id = ?", u.ID).Count(&rows)) // the connection is usable
		equal(t, "rows with the key 0", rows, 0)
		eventually(t, "the return of all connections", func() bool { return h.pool.Stats().InUse == 0 })
		back()
		clock.until(t, "the recovery", func() bool { return h.Create(&user{Name: "after"}).Error == nil })
	})
}
