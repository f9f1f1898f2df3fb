package gormplugin_test

import (
	"context"
	"database/sql"
	"errors"
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
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, db)
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	return &handle{DB: db, pool: pool, log: log}
}

// leased opens a plugin on the handle, and closes it at the end of the test.
func (h *handle) leased(t testing.TB, opts ...gormplugin.Option) *gormplugin.Plugin {
	t.Helper()
	keys, err := gormplugin.Open(t.Context(), h.DB, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := keys.Close(context.Background()); err != nil && !errors.Is(err, sql.ErrConnDone) && !h.isClosed() {
			t.Error(err)
		}
	})
	return keys
}

func (h *handle) isClosed() bool {
	err := h.pool.Ping()
	return err != nil && strings.Contains(err.Error(), "database is closed")
}

func (h *handle) migrate(t testing.TB, models ...any) {
	t.Helper()
	if err := h.AutoMigrate(models...); err != nil {
		t.Fatal(err)
	}
	h.log.take()
}

// entries returns the rows of the lease table.
func (h *handle) entries(t testing.TB, opts ...sqllease.Option) []lease.Entry {
	t.Helper()
	dialect := map[string]sqldb.Dialect{"postgres": sqldb.Postgres, "mysql": sqldb.MySQL, "sqlite": sqldb.SQLite}[h.Name()]
	store, err := sqllease.New(h.pool, dialect, opts...)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := store.List(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

func (h *handle) held(t testing.TB) (n int) {
	t.Helper()
	for _, e := range h.entries(t) {
		if e.Held {
			n++
		}
	}
	return n
}

func workerOf(id snowflake.ID) int64 { return snowflake.Default().Decompose(id).Worker }

func TestOpenNeedsNoNumber(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		workers, ids := map[int64]bool{}, map[snowflake.ID]bool{}
		for range 3 {
			h := openHandle(t, gormdb.Dialector(target), gorm.Config{})
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
		h := openHandle(t, gormdb.Dialector(target), gorm.Config{})
		keys, other := h.leased(t), openHandle(t, gormdb.Dialector(target), gorm.Config{})
		if err := other.Use(keys); err != nil {
			t.Fatal(err)
		}
		h.migrate(t, &user{})
		a, b := user{Name: "a"}, user{Name: "b"}
		must(t, h.Create(&a))
		must(t, other.Create(&b))
		equal(t, "the second handle's worker", workerOf(b.ID), workerOf(a.ID))
		equal(t, "workers held", h.held(t), 1)
		for range 2 {
			if err := keys.Close(t.Context()); err != nil {
				t.Errorf("Close: %v", err)
			}
		}
		equal(t, "workers held after Close", h.held(t), 0)
		for _, db := range []*gorm.DB{h.DB, other.DB} {
			u := user{Name: "c"}
			if err := db.Create(&u).Error; !errors.Is(err, lease.ErrClosed) || u.ID != 0 {
				t.Errorf("Create after Close: %v, key %d, want ErrClosed and 0", err, u.ID)
			}
		}
		must(t, h.Create(&user{Model: gormplugin.Model{ID: 7}})) // needs no ID
		again := openHandle(t, gormdb.Dialector(target), gorm.Config{})
		again.leased(t, gormplugin.WithLease(lease.WithWorkers(workerOf(a.ID), workerOf(a.ID))))
		c := user{Name: "c"}
		must(t, again.Create(&c))
		if workerOf(c.ID) != workerOf(a.ID) || c.ID <= b.ID {
			t.Errorf("the next owner of worker %d made the key %d, after %d", workerOf(a.ID), c.ID, b.ID)
		}
	})
}

func TestCloseOfWhatHasNoLeaseDoesNothing(t *testing.T) {
	var none *gormplugin.Plugin
	for _, keys := range []*gormplugin.Plugin{none, gormplugin.New(newCounting())} {
		if err := keys.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if gormplugin.New(newCounting()).Lease() != nil {
		t.Error("New has a lease")
	}
}

func TestOpenWithOptions(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		h := openHandle(t, gormdb.Dialector(target), gorm.Config{})
		keys := h.leased(t, gormplugin.WithLeaseTable("my_leases"),
			gormplugin.WithLease(lease.WithNamespace("mine"), lease.WithWindow(40*time.Second)),
			gormplugin.WithLease(lease.WithWorkers(100, 200), lease.WithGenerator(snowflake.WithLayout(snowflake.MustPreset("wide")))))
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
	ahead := func(t *testing.T, h *handle) time.Duration {
		t.Helper()
		keys := h.leased(t, gormplugin.WithLease(lease.WithNamespace(t.Name()))) // whose first window counts at once
		return time.Until(keys.Lease().Status().Horizon)
	}
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		for name, connections := range map[string]int{"many": 0, "one": 1} {
			t.Run(name, func(t *testing.T) {
				h := openHandle(t, gormdb.Dialector(target), gorm.Config{PrepareStmt: true})
				h.pool.SetMaxOpenConns(connections)
				long := target.Name == "sqlite" || connections == 1
				if d := ahead(t, h); (d > time.Minute+time.Second) != long || d > lease.MaxWindow+time.Second {
					t.Errorf("the horizon is %v ahead", d)
				}
			})
		}
	})
}
