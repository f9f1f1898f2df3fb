package gormplugin_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/internal/testdb/gormdb"
	"github.com/sqlflake/sqlflake/snowflake"
)

func TestMain(m *testing.M) { os.Exit(testdb.Main(m)) }

// firstID is the first ID of a counting generator, far from what a database counts up to.
const firstID snowflake.ID = 1_000_000_000_000_000_001

// counting is a generator that counts, and keeps the sizes of all calls. It fails with err if that is set.
type counting struct {
	mu    sync.Mutex
	next  snowflake.ID
	calls []int
	ctxs  []context.Context
	err   error
	quiet bool // keeps no calls
}

func newCounting() *counting { return &counting{next: firstID} }

func (c *counting) Fill(ctx context.Context, dst []snowflake.ID) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.quiet {
		c.calls = append(c.calls, len(dst))
		c.ctxs = append(c.ctxs, ctx)
	}
	if c.err != nil {
		return c.err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	for i := range dst {
		dst[i] = c.next
		c.next++
	}
	return nil
}

// takeCalls returns the sizes of the calls since the last time.
func (c *counting) takeCalls() []int {
	c.mu.Lock()
	defer c.mu.Unlock()
	calls := c.calls
	c.calls = nil
	return calls
}

// recorder keeps the statements that GORM runs, and the warnings it gives.
type recorder struct {
	mu         sync.Mutex
	statements []string
	warnings   []string
}

func (r *recorder) LogMode(logger.LogLevel) logger.Interface { return r }
func (r *recorder) Info(context.Context, string, ...any)     {}
func (r *recorder) Error(_ context.Context, m string, a ...any) {
	r.Warn(context.Background(), m, a...)
}

func (r *recorder) Warn(_ context.Context, message string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.warnings = append(r.warnings, fmt.Sprintf(message, args...))
}

func (r *recorder) Trace(_ context.Context, _ time.Time, fc func() (string, int64), _ error) {
	statement, _ := fc()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.statements = append(r.statements, statement)
}

// take returns the statements since the last time.
func (r *recorder) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	statements := r.statements
	r.statements = nil
	return statements
}

// takeLike returns those that start with a word.
func (r *recorder) takeLike(word string) []string {
	return slices.DeleteFunc(r.take(), func(s string) bool { return !strings.HasPrefix(strings.TrimLeft(s, "("), word) })
}

// env is a database with the plugin.
type env struct {
	*handle
	gen    *counting
	target testdb.Target
	mysql  bool // ON DUPLICATE KEY UPDATE instead of ON CONFLICT
}

// open opens a handle with the plugin and creates the tables of the models.
func open(t testing.TB, target testdb.Target, dialector gorm.Dialector, config gorm.Config, models []any, opts ...gormplugin.Option) *env {
	t.Helper()
	h, gen := openHandle(t, dialector, config), newCounting()
	noError(t, h.Use(gormplugin.New(gen, opts...)))
	h.migrate(t, models...)
	return &env{handle: h, gen: gen, target: target, mysql: dialector.Name() == "mysql"}
}

// each runs f on every kind of database at the same time, with tables for the models. It returns before they have
// ended.
func each(t *testing.T, f func(t *testing.T, db *env), models ...any) {
	t.Helper()
	eachWith(t, gorm.Config{}, f, models...)
}

func eachWith(t *testing.T, config gorm.Config, f func(t *testing.T, db *env), models ...any) {
	t.Helper()
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		t.Parallel()
		f(t, open(t, target, gormdb.Dialector(target), config, models))
	})
}

// eachUpsert runs f on every kind of database, and on MariaDB once more without RETURNING, as MySQL is.
func eachUpsert(t *testing.T, config gorm.Config, f func(t *testing.T, db *env), models ...any) {
	t.Helper()
	eachWith(t, config, f, models...)
	for name, parameter := range map[string]string{"mysql": "", "mysql counting found rows": "&clientFoundRows=true"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target := testdb.MariaDB(t)
			target.DSN += parameter
			f(t, open(t, target, withoutReturning(target), config, models))
		})
	}
}

// withoutReturning connects to MariaDB as if it were MySQL.
func withoutReturning(target testdb.Target) gorm.Dialector {
	return mysql.New(mysql.Config{DSN: target.DSN, DisableWithReturning: true})
}

// onSQLite returns a handle on SQLite, for what does not depend on the database.
func onSQLite(t testing.TB, models ...any) *env {
	t.Helper()
	target := testdb.SQLite(t)
	return open(t, target, gormdb.Dialector(target), gorm.Config{}, models)
}

// must fails the test on the error of a statement.
func must(t testing.TB, result *gorm.DB) *gorm.DB {
	t.Helper()
	if result.Error != nil {
		t.Fatal(result.Error)
	}
	return result
}

func wantError(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error %v, want %v", err, want)
	}
}

func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// count returns the number of rows that a condition finds in a table.
func (h *handle) count(t testing.TB, table, where string, args ...any) int64 {
	t.Helper()
	var n int64
	must(t, h.Table(table).Where(where, args...).Count(&n))
	return n
}

// wantKeys compares the keys of all rows of a table with those in Go.
func (e *env) wantKeys(t testing.TB, table string, want ...snowflake.ID) {
	t.Helper()
	var got []int64
	must(t, e.Table(table).Order("id").Pluck("id", &got))
	wanted := make([]int64, len(want))
	for i, id := range want {
		wanted[i] = int64(id)
	}
	slices.Sort(wanted)
	if !slices.Equal(got, wanted) {
		t.Errorf("keys in %s: %v, want %v", table, got, wanted)
	}
}

func wantCalls(t testing.TB, gen *counting, want ...int) {
	t.Helper()
	if got := gen.takeCalls(); !slices.Equal(got, want) {
		t.Errorf("the generator was asked for %v IDs, want %v", got, want)
	}
}

func equal[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// autoMigrate creates tables without auto-increment for the keys that the plugin fills.
func autoMigrate(db *gorm.DB, models ...any) error {
	if err := gormplugin.DisableAutoIncrement(db, models...); err != nil {
		return err
	}
	return db.AutoMigrate(models...)
}
