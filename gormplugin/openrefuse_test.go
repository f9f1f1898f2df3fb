package gormplugin_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"gorm.io/driver/mysql"
	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// foreign is a dialect that Open does not know.
type foreign struct{ gorm.Dialector }

func (foreign) Name() string { return "clickhouse" }

func TestOpenRefusesWhatCannotHoldALease(t *testing.T) {
	h := openHandle(t, testdb.SQLite(t).Dialector(), gorm.Config{})
	failed := h.Session(&gorm.Session{})
	_ = failed.AddError(gorm.ErrRecordNotFound)
	empty, err := gorm.Open(nil, &gorm.Config{Logger: &recorder{}})
	if err != nil {
		t.Fatal(err)
	}
	registered := openHandle(t, testdb.SQLite(t).Dialector(), gorm.Config{})
	if err := registered.Use(gormplugin.New(newCounting())); err != nil {
		t.Fatal(err)
	}
	tx := must(t, h.Begin())
	defer tx.Rollback()
	prepared := must(t, openHandle(t, testdb.SQLite(t).Dialector(), gorm.Config{PrepareStmt: true}).Begin())
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
		"a plugin already":       {db: registered.DB, want: gorm.ErrRegistered},
		"another dialect": {
			db:   openHandle(t, foreign{testdb.SQLite(t).Dialector()}, gorm.Config{}).DB,
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
	if !errors.Is(err, gorm.ErrInvalidDB) {
		t.Errorf("Open on a single connection: %v", err)
	}
	if h.Migrator().HasTable("my_leases") || len(h.Plugins) > 0 {
		t.Errorf("something is left: plugins %v", h.Plugins)
	}
}

// TestOpenRefusesConnectionsThatDoNotCommit: two of them would have one worker, since neither sees the other's row.
func TestOpenRefusesConnectionsThatDoNotCommit(t *testing.T) {
	target := testdb.MariaDB(t)
	h := openHandle(t, mysql.Open(target.DSN+"&autocommit=0"), gorm.Config{})
	keys, err := gormplugin.Open(t.Context(), h.DB)
	if keys != nil || !errors.Is(err, lease.ErrOption) || !strings.Contains(err.Error(), "autocommit") {
		t.Errorf("Open: %v, %v, want ErrConfig", keys, err)
	}
	openHandle(t, mysql.Open(target.DSN+"&autocommit=1"), gorm.Config{}).leased(t)
}

func TestOpenTakesNoWorkerIfItFails(t *testing.T) {
	h := openHandle(t, testdb.SQLite(t).Dialector(), gorm.Config{})
	if err := h.Callback().Create().Remove("gorm:create"); err != nil {
		t.Fatal(err)
	}
	keys, err := gormplugin.Open(t.Context(), h.DB)
	if keys != nil || !errors.Is(err, gorm.ErrInvalidDB) {
		t.Fatalf("Open: %v, %v, want ErrInvalidDB of the registration", keys, err)
	}
	entries := h.entries(t)
	equal(t, "workers that were taken", len(entries), 1)
	equal(t, "workers held", h.held(t), 0)
}

func TestOpenEndsWithItsContext(t *testing.T) {
	target := testdb.SQLite(t)
	h := openHandle(t, target.Dialector(), gorm.Config{})
	only := gormplugin.WithLease(lease.WithWorkers(5, 5))
	h.leased(t, only)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	refused := gormplugin.WithLease(lease.WithHook(func(lease.Event) { cancel() }))
	second := openHandle(t, target.Dialector(), gorm.Config{})
	if _, err := gormplugin.Open(ctx, second.DB, only, refused); !errors.Is(err, context.Canceled) || !errors.Is(err, lease.ErrNoWorker) {
		t.Errorf("Open while all workers are held: %v, want Canceled and ErrNoWorker", err)
	}
	other := openHandle(t, target.Dialector(), gorm.Config{})
	wide := gormplugin.WithLease(lease.WithGenerator(snowflake.WithLayout(snowflake.Wide())))
	if _, err := gormplugin.Open(t.Context(), other.DB, wide); !errors.Is(err, lease.ErrLayout) {
		t.Errorf("Open with another layout: %v, want ErrLayout", err)
	}
	if _, err := gormplugin.Open(t.Context(), other.DB); err != nil {
		t.Errorf("Open after it has failed: %v", err)
	} else if err := other.Plugins["snowflake"].(*gormplugin.Plugin).Close(t.Context()); err != nil {
		t.Error(err)
	}
}
