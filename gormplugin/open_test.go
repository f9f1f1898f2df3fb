package gormplugin_test

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/internal/testdb/gormdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
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
func (h *handle) entries(t testing.TB, opts ...sqllease.Option) []leasestore.Entry {
	t.Helper()
	store, err := sqllease.New(h.pool, sqldb.Dialect(h.Name()), opts...)
	noError(t, err)
	entries, err := store.List(context.Background(), "")
	noError(t, err)
	return entries
}

func (h *handle) held(t testing.TB) int {
	t.Helper()
	return len(slices.DeleteFunc(h.entries(t), func(e leasestore.Entry) bool { return !e.Held }))
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

			wantNoText(t, strings.Join(h.log.take(), "\n"), "snowflake_leases")
			equal(t, "registered plugin", h.Plugins["snowflake"], gorm.Plugin(keys))
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
			wantError(t, db.Create(&u).Error, lease.ErrClosed)
			equal(t, "key after Close", u.ID, 0)
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
		keys := h.leased(t, gormplugin.WithLeaseTables("my_"),
			gormplugin.WithLease(lease.WithNamespace("mine"), lease.WithWindow(40*time.Second)),
			gormplugin.WithLease(lease.WithWorkers(100, 200), lease.WithGenerator(snowflake.WithLead(0))),
			gormplugin.WithLayout(snowflake.MustPreset("wide")))

		status := keys.Lease().Status()
		equal(t, "namespace", status.Namespace, "mine")
		equal(t, "worker", status.Worker, 100)
		if ahead := time.Until(status.Horizon); ahead > 41*time.Second {
			t.Errorf("the horizon is %v ahead, the window 40s", ahead)
		}

		entries := h.entries(t, sqllease.WithTables("my_"))
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

// TestTheLeaseOfOpenReservesWorkers reserves while the lease extends, which shares nothing with that.
func TestTheLeaseOfOpenReservesWorkers(t *testing.T) {
	check := func(t *testing.T, dialector gorm.Dialector) {
		t.Helper()
		h := openHandle(t, dialector, gorm.Config{})
		clock, keys := h.pushed(t)
		h.migrate(t, &user{})

		for range 2 {
			noError(t, keys.Lease().Reserve(t.Context(), 1023, "orders"))
			clock.extend(t, keys)
			must(t, h.Create(&user{Name: "a"}))
		}

		wantError(t, keys.Lease().Reserve(t.Context(), 1023, "lines"), lease.ErrNoWorker)
		wantError(t, keys.Lease().Reserve(t.Context(), 0, "lines"), lease.ErrNoWorker) // its own

		noError(t, keys.Close(t.Context()))
		reserved := slices.DeleteFunc(h.entries(t), func(e leasestore.Entry) bool { return !e.Reserved() })
		equal(t, "reserved workers", len(reserved), 1)
		equal(t, "workers held after Close", h.held(t), 1)
	}

	testdb.Each(t, func(t *testing.T, target testdb.Target) { check(t, gormdb.Dialector(target)) })
	t.Run("memory", func(t *testing.T) { check(t, sqlite.Open(":memory:")) })
}

// foreign is a dialect that Open does not know.
type foreign struct{ gorm.Dialector }

func (foreign) Name() string { return "clickhouse" }

func TestOpenRefusesWhatCannotHoldALease(t *testing.T) {
	h, unused := on(t, testdb.SQLite(t)), testdb.SQLite(t)
	failed := h.Session(&gorm.Session{})
	_ = failed.AddError(gorm.ErrRecordNotFound)
	empty, err := gorm.Open(nil, &gorm.Config{Logger: &recorder{}})
	noError(t, err)

	registered := on(t, testdb.SQLite(t))
	noError(t, registered.Use(gormplugin.New(newCounting())))
	tx := must(t, h.Begin())
	defer tx.Rollback()
	prepared := must(t, openHandle(t, gormdb.Dialector(testdb.SQLite(t)), gorm.Config{PrepareStmt: true}).Begin())
	defer prepared.Rollback()

	for name, c := range map[string]struct {
		db   *gorm.DB
		opts []gormplugin.Option
		want error
		text string
	}{
		"nil":                    {db: nil, want: gorm.ErrInvalidDB},
		"zero":                   {db: &gorm.DB{}, want: gorm.ErrInvalidDB},
		"no dialect":             {db: empty, want: gorm.ErrInvalidDB},
		"an error":               {db: failed, want: gorm.ErrRecordNotFound},
		"a transaction":          {db: tx, want: gorm.ErrInvalidTransaction},
		"a prepared transaction": {db: prepared, want: gorm.ErrInvalidTransaction},
		"a dry run": {
			db:   openHandle(t, gormdb.Dialector(unused), gorm.Config{DryRun: true}).DB,
			want: gorm.ErrDryRunModeUnsupported,
		},
		"a plugin already": {db: registered.DB, want: gorm.ErrRegistered, text: "already has a plugin"},
		"another dialect": {
			db:   openHandle(t, foreign{gormdb.Dialector(testdb.SQLite(t))}, gorm.Config{}).DB,
			want: gorm.ErrUnsupportedDriver, text: `"clickhouse"`,
		},
		"a bad table": {
			db: h.DB, opts: []gormplugin.Option{gormplugin.WithLeaseTables("a-b")},
			want: lease.ErrOption, text: `"a-b"`,
		},
		"no table": {
			db: h.DB, opts: []gormplugin.Option{gormplugin.WithLeaseTables("")},
			want: gormplugin.ErrOption,
		},
		"a bad window": {
			db: h.DB, opts: []gormplugin.Option{gormplugin.WithLease(lease.WithWindow(1))},
			want: lease.ErrOption,
		},
		"a bad option": {
			db: h.DB, opts: []gormplugin.Option{gormplugin.WithNamed("", newCounting())},
			want: gormplugin.ErrOption,
		},
	} {
		keys, err := gormplugin.Open(t.Context(), c.db, c.opts...)
		wantErrorOf(t, name, err, c.want, c.text)
		equal(t, "plugin of "+name, keys, nil)
	}

	err = h.Connection(func(single *gorm.DB) error {
		_, err := gormplugin.Open(t.Context(), single)
		return err
	})
	wantError(t, err, gorm.ErrInvalidDB)

	if on(t, unused).Migrator().HasTable("snowflake_leases") ||
		h.Migrator().HasTable("my_leases") || len(h.Plugins) > 0 {
		t.Errorf("something is left: plugins %v", h.Plugins)
	}
}

// restricted returns the DSN of a user who may only read.
func restricted(t *testing.T, target testdb.Target, db *gorm.DB) gorm.Dialector {
	t.Helper()
	switch target.Name {
	case "postgres":
		return postgres.Open(target.DSN + "&role=pg_read_all_data")
	case "sqlite":
		return sqlite.Open("file:" + target.DSN + "&mode=ro")
	}

	var name string
	must(t, db.Raw("SELECT database()").Scan(&name))

	config, err := mysqldriver.ParseDSN(target.DSN)
	noError(t, err)
	config.User, config.Passwd = "u"+name[max(0, len(name)-30):], ""

	must(t, db.Exec("CREATE USER "+config.User))
	t.Cleanup(func() { must(t, db.Exec("DROP USER "+config.User)) })
	must(t, db.Exec("GRANT SELECT ON `"+name+"`.* TO "+config.User))
	return mysql.Open(config.FormatDSN())
}

func TestOpenSaysAtOnceThatARightIsMissing(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		t.Parallel()
		h := on(t, target)
		must(t, h.Exec("CREATE TABLE a (b int)")) // so that SQLite has a file
		reader := openHandle(t, restricted(t, target, h.DB), gorm.Config{})

		again := gormplugin.WithLease(lease.WithObserver(func(e lease.Event) {
			if e.Kind == lease.Failed {
				t.Error(e.Err)
			}
		}))

		_, err := gormplugin.Open(t.Context(), reader.DB, again)
		wantText(t, fmt.Sprint(err), "sqlflake sql leases") // which prints the table that is missing

		noError(t, h.leased(t).Close(t.Context()))
		_, err = gormplugin.Open(t.Context(), reader.DB, again)
		wantErrorOf(t, "without the right to write", err, lease.ErrOption, "UPDATE")
	})
}

// Two tables would be two sets of workers.
func TestOpenMakesNoTableBesideThatOfAnotherSchema(t *testing.T) {
	target := testdb.Postgres(t)
	h := on(t, target)
	keys := h.leased(t)
	table := keys.Lease().Status().Table
	noError(t, keys.Close(t.Context()))
	target.DSN = regexp.MustCompile("search_path=[^&]+").ReplaceAllString(target.DSN, "search_path=public")
	other := on(t, target)

	_, err := gormplugin.Open(t.Context(), other.DB)
	wantErrorOf(t, "Open with another search_path", err, lease.ErrOption, "gormplugin.WithLeaseTables", table)
	other.wantCounts(t, map[string]int{"pg_class WHERE relname = 'snowflake_leases'": 1})

	keys, err = gormplugin.Open(t.Context(), other.DB, gormplugin.WithLeaseTables(strings.TrimSuffix(table, "leases")))
	noError(t, err)
	equal(t, "the table", keys.Lease().Status().Table, table)
	noError(t, keys.Close(t.Context()))
}

func TestOpenDoesNotWaitForEverForADatabase(t *testing.T) {
	for lock, open := range map[string]func(testing.TB) testdb.Target{
		"BEGIN; LOCK TABLE snowflake_leases": testdb.Postgres,
		"LOCK TABLES snowflake_leases WRITE": testdb.MariaDB,
	} {
		target := open(t)
		h := on(t, target)
		noError(t, h.leased(t).Close(t.Context()))

		h.pool.SetMaxOpenConns(1) // which has the lock from now on
		must(t, h.Exec(lock))

		ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // so that a failure ends
		defer cancel()
		_, err := gormplugin.Open(ctx, on(t, target).DB, gormplugin.WithOpenTimeout(50*time.Millisecond))
		wantErrorOf(t, "Open while the table is locked", err, context.DeadlineExceeded, "not answered for 50ms")
	}
}

func TestOpenTakesNoWorkerIfItFails(t *testing.T) {
	h := on(t, testdb.SQLite(t))
	noError(t, h.Callback().Create().Remove("gorm:create"))

	keys, err := gormplugin.Open(t.Context(), h.DB)
	wantErrorOf(t, "the registration", err, gorm.ErrInvalidDB)
	equal(t, "plugin", keys, nil)
	equal(t, "workers that were taken", len(h.entries(t)), 1)
	equal(t, "workers held", h.held(t), 0)
}

func TestOpenEndsWithItsContext(t *testing.T) {
	target := testdb.SQLite(t)
	h := on(t, target)
	only := gormplugin.WithLease(lease.WithWorkers(5, 5))
	h.leased(t, only)

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	refused := gormplugin.WithLease(lease.WithObserver(func(e lease.Event) {
		if e.Kind == lease.Failed {
			cancel()
		}
	}))

	_, err := gormplugin.Open(ctx, on(t, target).DB, only, refused)
	wantErrorOf(t, "Open while all workers are held", err, context.Canceled)
	wantErrorOf(t, "Open while all workers are held", err, lease.ErrNoWorker)

	other := on(t, target)
	_, err = gormplugin.Open(t.Context(), other.DB, gormplugin.WithLayout(snowflake.Clustered()))
	wantErrorOf(t, "Open with another layout", err, lease.ErrLayout, "lease.WithNamespace")
	noError(t, other.leased(t).Close(t.Context())) // after it has failed
}

func TestOpenWithAnyConfiguration(t *testing.T) {
	for _, config := range []gorm.Config{
		{PrepareStmt: true},
		{SkipDefaultTransaction: true},
		{PrepareStmt: true, SkipDefaultTransaction: true},
		{DisableNestedTransaction: true},
		{CreateBatchSize: 2},
	} {
		// Each has a database of its own: in the same one, a lease would wait for the time that the clock of the one before
		// has reached.
		testdb.Each(t, func(t *testing.T, target testdb.Target) {
			t.Parallel()
			h := openHandle(t, gormdb.Dialector(target), config)
			clock, keys := h.pushed(t)
			h.migrate(t, &user{})

			for range 2 {
				clock.extend(t, keys)
				users := named("a", "b", "c")
				must(t, h.Create(&users))
			}

			noError(t, keys.Close(t.Context()))
			equal(t, "rows", h.count(t, "users", "1 = 1"), 6)
		})
	}
}
