package gormplugin_test

import (
	"context"
	"errors"
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
)

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
		"a dry run":              {db: openHandle(t, gormdb.Dialector(unused), gorm.Config{DryRun: true}).DB, want: gorm.ErrDryRunModeUnsupported},
		"a plugin already":       {db: registered.DB, want: gorm.ErrRegistered, text: "already has a plugin"},
		"another dialect": {
			db:   openHandle(t, foreign{gormdb.Dialector(testdb.SQLite(t))}, gorm.Config{}).DB,
			want: gorm.ErrUnsupportedDriver, text: `"clickhouse"`,
		},
		"a bad table":  {db: h.DB, opts: []gormplugin.Option{gormplugin.WithLeaseTable("a-b")}, want: lease.ErrOption, text: `"a-b"`},
		"no table":     {db: h.DB, opts: []gormplugin.Option{gormplugin.WithLeaseTable("")}, want: gormplugin.ErrOption},
		"a bad window": {db: h.DB, opts: []gormplugin.Option{gormplugin.WithLease(lease.WithWindow(1))}, want: lease.ErrOption},
		"a bad option": {db: h.DB, opts: []gormplugin.Option{gormplugin.WithNamed("", newCounting())}, want: gormplugin.ErrOption},
	} {
		t.Run(name, func(t *testing.T) {
			keys, err := gormplugin.Open(t.Context(), c.db, c.opts...)
			if keys != nil || !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("Open: %v, %v, want %v with %q", keys, err, c.want, c.text)
			}
		})
	}
	err = h.Connection(func(single *gorm.DB) error {
		_, err := gormplugin.Open(t.Context(), single)
		return err
	})
	wantError(t, err, gorm.ErrInvalidDB)
	if on(t, unused).Migrator().HasTable("snowflake_leases") || h.Migrator().HasTable("my_leases") || len(h.Plugins) > 0 {
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
		if _, err := gormplugin.Open(t.Context(), reader.DB, again); err == nil || !strings.Contains(err.Error(), "snowflake sql leases") {
			t.Errorf("without the table: %v, want a hint at the command that prints it", err)
		}
		noError(t, h.leased(t).Close(t.Context()))
		_, err := gormplugin.Open(t.Context(), reader.DB, again)
		if !errors.Is(err, lease.ErrOption) || !strings.Contains(err.Error(), "UPDATE") {
			t.Errorf("without the right to write: %v, want ErrOption and the rights", err)
		}
	})
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
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "not answered for 50ms") {
			t.Errorf("Open while the table is locked: %v, want DeadlineExceeded and the time", err)
		}
	}
}

func TestOpenTakesNoWorkerIfItFails(t *testing.T) {
	h := on(t, testdb.SQLite(t))
	noError(t, h.Callback().Create().Remove("gorm:create"))
	if keys, err := gormplugin.Open(t.Context(), h.DB); keys != nil || !errors.Is(err, gorm.ErrInvalidDB) {
		t.Fatalf("Open: %v, %v, want ErrInvalidDB of the registration", keys, err)
	}
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
	if _, err := gormplugin.Open(ctx, on(t, target).DB, only, refused); !errors.Is(err, context.Canceled) || !errors.Is(err, lease.ErrNoWorker) {
		t.Errorf("Open while all workers are held: %v, want Canceled and ErrNoWorker", err)
	}
	other := on(t, target)
	clustered := gormplugin.WithLayout(snowflake.Clustered())
	if _, err := gormplugin.Open(t.Context(), other.DB, clustered); !errors.Is(err, lease.ErrLayout) ||
		!strings.Contains(err.Error(), "lease.WithNamespace") {
		t.Errorf("Open with another layout: %v, want ErrLayout and the option for a namespace", err)
	}
	noError(t, other.leased(t).Close(t.Context())) // after it has failed
}
