package gormplugin_test

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"log/slog"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"
	"gorm.io/gorm/schema"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/testclock"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// pushed is a clock that tests push ahead, and with it leases.
type pushed struct{ *testclock.Clock }

const (
	window = time.Minute     // of a lease with this clock
	step   = 5 * time.Second // more than the lease waits before it asks again

	// ahead is how far the clock may be ahead of the server's. Beyond it and a window the lease would wait.
	ahead = 10 * window

	answer = 30 * time.Millisecond // the time for an extension between two steps
)

// pushed opens a plugin with a lease that has such a clock, and closes it at the end of the test. Calls of the generator
// are patient, unless the options say otherwise.
func (h *handle) pushed(t testing.TB, opts ...lease.Option) (pushed, *gormplugin.Plugin) {
	t.Helper()
	c := pushed{testclock.New(0)}
	return c, h.leased(t, gormplugin.WithLease(append([]lease.Option{
		lease.WithClock(c.Clock), lease.WithWindow(window), lease.WithMaxSkew(ahead), lease.WithPatience(patience),
	}, opts...)...))
}

// until pushes the clock, so that the lease extends and horizons pass, until the condition holds.
func (c pushed) until(t testing.TB, what string, condition func() bool) {
	t.Helper()
	eventually(t, what, func() bool {
		for begin := time.Now(); time.Since(begin) < answer; time.Sleep(time.Millisecond) {
			if condition() {
				return true
			}
		}
		c.Push(step)
		return false
	})
}

// pass pushes the clock beyond the horizon of a lease that can't be extended.
func (c pushed) pass(t testing.TB, keys *gormplugin.Plugin) {
	t.Helper()
	c.until(t, "the horizon", func() bool { return keys.Lease().Status().Horizon.Before(c.Now()) })
}

// extend pushes the clock until the lease has extended.
func (c pushed) extend(t testing.TB, keys *gormplugin.Plugin) {
	t.Helper()
	before := keys.Lease().Status().Horizon
	c.until(t, "an extension", func() bool { return keys.Lease().Status().Horizon.After(before) })
}

// patience bounds waits for what other goroutines and the server do. On a busy machine they take seconds.
const patience = 3 * time.Minute

// eventually waits until the condition holds.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for begin := time.Now(); !condition(); time.Sleep(time.Millisecond) {
		if time.Since(begin) > patience {
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

func TestTheLeaseTellsGORMsLogger(t *testing.T) {
	for _, c := range []struct {
		level     logger.LogLevel
		has, lack []string
	}{
		{logger.Info, []string{"[info] snowflake lease acquired namespace=n%d worker=0 epoch=1 horizon=", "snowflake lease released", "[warn] snowflake lease lost"}, nil},
		{
			logger.Warn,
			[]string{
				"[warn] snowflake lease lost", `error="lease: worker was taken over`, "[warn] snowflake lease acquired",
			},
			[]string{"[info]", "released", "extended"},
		},
		{logger.Error, nil, []string{"snowflake"}},
		{logger.Silent, nil, []string{"snowflake"}},
	} {
		t.Run(fmt.Sprint(c.level), func(t *testing.T) {
			var text bytes.Buffer
			h := on(t, testdb.SQLite(t))
			h.Logger = logger.New(log.New(&text, "", 0), logger.Config{LogLevel: c.level})
			clock, keys := h.pushed(t, lease.WithNamespace("n%d"))
			_, err := h.pool.Exec("UPDATE snowflake_leases SET epoch = epoch + 1")
			noError(t, err)
			clock.until(t, "another worker", func() bool { return keys.Lease().Status().Losses > 0 && keys.Lease().Status().Held })
			noError(t, keys.Close(t.Context()))
			wantText(t, text.String(), c.has...)
			wantNoText(t, text.String(), append(c.lack, "UPDATE", "SELECT", "INSERT", "CREATE")...)
		})
	}
}

// GORM's default logger writes to standard output, which may be the data of a program.
func TestTheFirstWorkerIsInTheDefaultLogOnce(t *testing.T) {
	var text bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&text, nil)))
	defer slog.SetDefault(before)

	for _, level := range []logger.LogLevel{logger.Silent, logger.Error, logger.Warn, logger.Info} {
		h := on(t, testdb.SQLite(t))
		h.Logger = logger.New(log.New(io.Discard, "", 0), logger.Config{LogLevel: level})
		keys := h.leased(t, gormplugin.WithLease(lease.WithNamespace(fmt.Sprint("level", level))))
		noError(t, keys.Close(t.Context()))
	}

	got := text.String()
	if strings.Count(got, "\n") != 1 || !strings.Contains(got, `acquired" namespace=level3 worker=0`) {
		t.Errorf("want one line, for the level Warn, got\n%s", got)
	}
}

func TestWithLoggerComesBeforeGORMsLogger(t *testing.T) {
	var text, gorms bytes.Buffer
	h := on(t, testdb.SQLite(t))
	h.Logger = logger.New(log.New(&gorms, "", 0), logger.Config{LogLevel: logger.Info})
	keys := h.leased(t, gormplugin.WithLease(lease.WithLogger(slog.New(slog.NewTextHandler(&text, nil)))))
	noError(t, keys.Close(t.Context()))
	if !strings.Contains(text.String(), "acquired") || gorms.Len() > 0 {
		t.Errorf("own log:\n%s\nGORM's log:\n%s", &text, &gorms)
	}
}

func TestTableOfGivesTheLeasesOfOpen(t *testing.T) {
	h := on(t, testdb.SQLite(t))
	keys := h.leased(t)
	table, err := gormplugin.TableOf(t.Context(), h.DB, &user{})
	noError(t, err)
	if table.DB != h.pool || table.Lease != keys.Lease() || table.Leases == nil || table.Layout != snowflake.Default() {
		t.Errorf("%+v", table)
	}

	gen, err := snowflake.New(3)
	noError(t, err)
	other, _ := openWith(t, testdb.SQLite(t), gormplugin.New(gen))
	table, err = gormplugin.TableOf(t.Context(), other, &user{})
	if err != nil || table.DB == nil || table.Lease != nil || table.Leases != nil {
		t.Errorf("with a generator of New: %+v, %v", table, err)
	}
}

func TestTableOfRejectsHandlesAndModels(t *testing.T) {
	h := on(t, testdb.SQLite(t))
	_, err := gormplugin.TableOf(t.Context(), h.DB, &user{})
	wantErrorOf(t, "without a plugin", err, gormplugin.ErrCondition)

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
		"no model": {h.DB, 1, schema.ErrUnsupportedDataType},
	} {
		_, err := gormplugin.TableOf(t.Context(), c.db, c.model)
		wantErrorOf(t, name, err, c.want)
	}

	err = h.Transaction(func(tx *gorm.DB) error {
		_, err := gormplugin.TableOf(t.Context(), tx, &user{})
		return err
	})
	wantError(t, err, gorm.ErrInvalidTransaction)
}
