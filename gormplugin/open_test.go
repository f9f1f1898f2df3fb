package gormplugin_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/internal/testdb/gormdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// handle is a database without the plugin, as Open gets it.
type handle struct {
	*gorm.DB
	pool *sql.DB
	log  *recorder
}

func openHandle(t testing.TB, dialector gorm.Dialector, config gorm.Config) *handle {
	t.Helper()
	log := &recorder{}
	config.Logger = log
	db, err := gorm.Open(dialector, &config)
	noError(t, err)
	pool, err := db.DB()
	noError(t, err)
	t.Cleanup(func() { _ = pool.Close() })
	return &handle{DB: db, pool: pool, log: log}
}

// on opens a handle on a target.
func on(t testing.TB, target testdb.Target) *handle {
	t.Helper()
	return openHandle(t, gormdb.Dialector(target), gorm.Config{})
}

// leased opens a plugin on the handle, and closes it at the end of the test.
func (h *handle) leased(t testing.TB, opts ...gormplugin.Option) *gormplugin.Plugin {
	t.Helper()
	keys, err := gormplugin.Open(t.Context(), h.DB, opts...)
	noError(t, err)
	t.Cleanup(func() {
		if err := keys.Close(context.Background()); err != nil && h.pool.Ping() == nil {
			t.Error(err)
		}
	})
	return keys
}

func (h *handle) migrate(t testing.TB, models ...any) {
	t.Helper()
	noError(t, h.AutoMigrate(models...))
	h.log.take()
}

// entries returns the rows of the lease table.
func (h *handle) entries(t testing.TB, opts ...sqllease.Option) []lease.Entry {
	t.Helper()
	store, err := sqllease.New(h.pool, sqldb.Dialect(h.Name()), opts...)
	noError(t, err)
	entries, err := store.List(context.Background(), "")
	noError(t, err)
	return entries
}

func (h *handle) held(t testing.TB) int {
	t.Helper()
	return len(slices.DeleteFunc(h.entries(t), func(e lease.Entry) bool { return !e.Held }))
}

func workerOf(id snowflake.ID) int64 { return snowflake.Default().Decompose(id).Worker }

func TestOpenNeedsNoNumber(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		workers, ids := map[int64]bool{}, map[snowflake.ID]bool{}
		for range 3 {
			h := on(t, target)
			keys := h.leased(t)
			h.migrate(t, &user{})
			users := named("a", "b", "c")
			must(t, h.Create(&users))
			for _, u := range users {
				if u.ID == 0 || ids[u.ID] {
					t.Errorf("key %d is 0 or came twice", u.ID)
				}
				ids[u.ID] = true
				workers[workerOf(u.ID)] = true
				equal(t, "worker of the lease", keys.Lease().Status().Worker, workerOf(u.ID))
			}
			for _, statement := range h.log.take() {
				if strings.Contains(statement, "snowflake_leases") {
					t.Errorf("GORM's log has a statement of the lease: %s", statement)
				}
			}
			if h.Plugins["snowflake"] != gorm.Plugin(keys) {
				t.Error("the plugin is not registered")
			}
		}
		equal(t, "workers of three handles", len(workers), 3)
	})
}

func TestCloseGivesTheWorkerBackAndEndsCreates(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		h := on(t, target)
		keys, other := h.leased(t), on(t, target)
		noError(t, other.Use(keys))
		h.migrate(t, &user{})
		a, b := user{Name: "a"}, user{Name: "b"}
		must(t, h.Create(&a))
		must(t, other.Create(&b))
		equal(t, "the second handle's worker", workerOf(b.ID), workerOf(a.ID))
		equal(t, "workers held", h.held(t), 1)
		for range 2 {
			noError(t, keys.Close(t.Context()))
		}
		equal(t, "workers held after Close", h.held(t), 0)
		for _, db := range []*gorm.DB{h.DB, other.DB} {
			u := user{Name: "c"}
			if err := db.Create(&u).Error; !errors.Is(err, lease.ErrClosed) || u.ID != 0 {
				t.Errorf("Create after Close: %v, key %d, want ErrClosed and 0", err, u.ID)
			}
		}
		must(t, h.Create(&user{Model: gormplugin.Model{ID: 7}})) // needs no ID
		again := on(t, target)
		again.leased(t, gormplugin.WithLease(lease.WithWorkers(workerOf(a.ID), workerOf(a.ID))))
		c := user{Name: "c"}
		must(t, again.Create(&c))
		if workerOf(c.ID) != workerOf(a.ID) || c.ID <= b.ID {
			t.Errorf("the next owner of worker %d made the key %d, after %d", workerOf(a.ID), c.ID, b.ID)
		}
	})
}

func TestCloseOfWhatHasNoLeaseDoesNothing(t *testing.T) {
	noError(t, (*gormplugin.Plugin)(nil).Close(t.Context()))
	unleased := gormplugin.New(newCounting())
	noError(t, unleased.Close(t.Context()))
	equal(t, "lease", unleased.Lease(), nil)
}

func TestOpenWithOptions(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		h := on(t, target)
		keys := h.leased(t, gormplugin.WithLeaseTable("my_leases"),
			gormplugin.WithLease(lease.WithNamespace("mine"), lease.WithWindow(40*time.Second)),
			gormplugin.WithLease(lease.WithWorkers(100, 200), lease.WithGenerator(snowflake.WithLead(0))),
			gormplugin.WithLayout(snowflake.MustPreset("wide")))
		status := keys.Lease().Status()
		equal(t, "namespace", status.Namespace, "mine")
		equal(t, "worker", status.Worker, 100)
		if ahead := time.Until(status.Horizon); ahead > 41*time.Second {
			t.Errorf("the horizon is %v ahead, the window 40s", ahead)
		}
		entries := h.entries(t, sqllease.WithTable("my_leases"))
		equal(t, "rows", len(entries), 1)
		equal(t, "layout", entries[0].Layout, snowflake.MustPreset("wide").String())
	})
}

func TestTheWindowSuitsTheDatabase(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		for namespace, connections := range map[string]int{"many": 0, "one": 1} { // whose first window counts at once
			h := openHandle(t, gormdb.Dialector(target), gorm.Config{PrepareStmt: true})
			h.pool.SetMaxOpenConns(connections)
			d := time.Until(h.leased(t, gormplugin.WithLease(lease.WithNamespace(namespace))).Lease().Status().Horizon)
			long := target.Name == "sqlite" || connections == 1
			if (d > time.Minute+time.Second) != long || d > lease.MaxWindow+time.Second {
				t.Errorf("%s connections: the horizon is %v ahead", namespace, d)
			}
		}
	})
}
