package gormplugin_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/skip"
	"github.com/sqlflake/sqlflake/internal/testclock"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/internal/testdb/gormdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
	"github.com/sqlflake/sqlflake/sqltypes/settled"
)

func TestSettledUsesTheLeasesOfOpen(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		if target.Name == "sqlite" {
			skip.Inapplicable(t, "all processes have one clock")
		}
		const behind = 8 * time.Second
		for _, window := range []time.Duration{lease.DefaultWindow, lease.MaxWindow} { // Open has one between them
			h := openHandle(t, gormdb.Dialector(target), gorm.Config{})
			namespace := window.String()
			h.leased(t, gormplugin.WithLease(lease.WithNamespace(namespace)))
			store, err := sqllease.New(h.pool, sqldb.Dialect(h.Name()))
			noError(t, err)
			l, err := lease.Open(t.Context(), store, lease.WithNamespace(namespace), lease.WithWindow(window),
				lease.WithClock(testclock.New(-behind)), lease.WithLogger(slog.New(slog.DiscardHandler)))
			noError(t, err)
			id, err := l.Generator().Next()
			noError(t, err)
			// Transactions of other tests add to the lag, and those that read the lists of a server may keep them old.
			var b settled.Bound
			eventually(t, "a bound", func() bool {
				b, err = gormplugin.Settled(t.Context(), h.DB, &user{}, settled.WithMargin(time.Second))
				return !errors.Is(err, settled.ErrUnknown)
			})
			if err != nil || b.Below > id || !strings.Contains(b.Reason, "behind") {
				t.Errorf("%+v, %v with a window of %v and a clock that is %v behind, which has issued %d", b, err, window, behind, id)
			}
			if err := l.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestSettledRejectsHandlesAndModels(t *testing.T) {
	h := openHandle(t, gormdb.Dialector(testdb.SQLite(t)), gorm.Config{})
	if _, err := gormplugin.Settled(t.Context(), h.DB, &user{}); !errors.Is(err, gormplugin.ErrCondition) {
		t.Errorf("without a plugin: %v, want ErrCondition", err)
	}
	h.leased(t)
	failed := h.Session(&gorm.Session{})
	_ = failed.AddError(gorm.ErrNotImplemented)
	for name, c := range map[string]struct {
		db    *gorm.DB
		model any
		want  error
	}{
		"nil":      {nil, &user{}, gorm.ErrInvalidDB},
		"dry run":  {h.Session(&gorm.Session{DryRun: true}), &user{}, gorm.ErrDryRunModeUnsupported},
		"failed":   {failed, &user{}, gorm.ErrNotImplemented},
		"no key":   {h.DB, &struct{ Name string }{}, gorm.ErrPrimaryKeyRequired},
		"no model": {h.DB, 1, nil},
	} {
		if _, err := gormplugin.Settled(t.Context(), c.db, c.model); err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	err := h.Transaction(func(tx *gorm.DB) error {
		_, err := gormplugin.Settled(t.Context(), tx, &user{})
		return err
	})
	wantError(t, err, gorm.ErrInvalidTransaction)
	gen, err := snowflake.New(3)
	noError(t, err)
	other, _ := openWith(t, testdb.SQLite(t), gormplugin.New(gen))
	if b, err := gormplugin.Settled(t.Context(), other, &user{}); err != nil || b.Below == 0 || b.Reason != "" {
		t.Errorf("with a generator of New: %+v, %v", b, err)
	}
}
