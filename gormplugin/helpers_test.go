package gormplugin_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
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

// kept is a list that several goroutines add to.
type kept[T any] struct {
	mu  sync.Mutex
	all []T
}

func (k *kept[T]) add(x T) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.all = append(k.all, x)
}

// take returns what was added since the last time.
func (k *kept[T]) take() []T {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := k.all
	k.all = nil
	return all
}

// counting is a generator that counts, and keeps the sizes of all calls. It fails with err if that is set.
type counting struct {
	mu    sync.Mutex
	next  snowflake.ID
	calls kept[int]
	ctxs  kept[context.Context]
	err   error
	quiet bool // keeps no calls
}

func newCounting() *counting { return &counting{next: firstID} }

func (c *counting) Fill(ctx context.Context, dst []snowflake.ID) error {
	if !c.quiet {
		c.calls.add(len(dst))
		c.ctxs.add(ctx)
	}
	if err := cmp.Or(c.err, ctx.Err()); err != nil {
		return err
	}

	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range dst {
		dst[i] = c.next
		c.next++
	}
	return nil
}

// recorder keeps the statements that GORM runs, and the warnings it gives.
type recorder struct {
	statements, warnings kept[string]
}

func (r *recorder) LogMode(logger.LogLevel) logger.Interface { return r }
func (r *recorder) Info(context.Context, string, ...any)     {}
func (r *recorder) Error(ctx context.Context, m string, a ...any) {
	r.Warn(ctx, m, a...)
}

func (r *recorder) Warn(_ context.Context, message string, args ...any) {
	r.warnings.add(fmt.Sprintf(message, args...))
}

func (r *recorder) Trace(_ context.Context, _ time.Time, fc func() (string, int64), _ error) {
	statement, _ := fc()
	r.statements.add(statement)
}

// take returns the statements since the last time.
func (r *recorder) take() []string { return r.statements.take() }

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
func open(t testing.TB, target testdb.Target, config gorm.Config, models []any, opts ...gormplugin.Option) *env {
	t.Helper()
	return openBy(t, target, gormdb.Dialector(target), config, models, opts...)
}

func openBy(
	t testing.TB, target testdb.Target, dialector gorm.Dialector, config gorm.Config, models []any,
	opts ...gormplugin.Option,
) *env {
	t.Helper()
	h, gen := openHandle(t, dialector, config), newCounting()
	noError(t, h.Use(gormplugin.New(gen, opts...)))
	h.migrate(t, models...)
	return &env{handle: h, gen: gen, target: target, mysql: dialector.Name() == "mysql"}
}

// kind is a kind of database, and how it is connected to.
type kind struct {
	name      string
	target    func(testing.TB) testdb.Target
	dialector func(testdb.Target) gorm.Dialector
}

// kinds are all kinds. The last ones are MariaDB without RETURNING, as MySQL is.
var kinds = []kind{
	{"sqlite", testdb.SQLite, gormdb.Dialector},
	{"postgres", testdb.Postgres, gormdb.Dialector},
	{"mariadb", testdb.MariaDB, gormdb.Dialector},
	{"mysql", testdb.MariaDB, withoutReturning},
	{"mysql counting found rows", testdb.MariaDB, countingFoundRows},
}

// withoutReturning connects to MariaDB as if it were MySQL.
func withoutReturning(target testdb.Target) gorm.Dialector {
	return mysql.New(mysql.Config{DSN: target.DSN, DisableWithReturning: true})
}

func countingFoundRows(target testdb.Target) gorm.Dialector {
	target.DSN += "&clientFoundRows=true"
	return withoutReturning(target)
}

// eachOf runs f on some kinds of databases at the same time, with tables for the models. It returns before they have
// ended.
func eachOf(
	t *testing.T, kinds []kind, config gorm.Config, f func(t *testing.T, db *env), models []any,
	opts ...gormplugin.Option,
) {
	t.Helper()
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			target := k.target(t)
			f(t, openBy(t, target, k.dialector(target), config, models, opts...))
		})
	}
}

func each(t *testing.T, f func(t *testing.T, db *env), models ...any) {
	t.Helper()
	eachWith(t, gorm.Config{}, f, models...)
}

func eachWith(t *testing.T, config gorm.Config, f func(t *testing.T, db *env), models ...any) {
	t.Helper()
	eachOf(t, kinds[:3], config, f, models)
}

// eachUpsert runs f on every kind of database, and on MariaDB once more without RETURNING.
func eachUpsert(t *testing.T, config gorm.Config, f func(t *testing.T, db *env), models ...any) {
	t.Helper()
	eachOf(t, kinds, config, f, models)
}

// eachMySQL runs f on MariaDB, with and without RETURNING.
func eachMySQL(t *testing.T, config gorm.Config, f func(t *testing.T, db *env), models ...any) {
	t.Helper()
	eachOf(t, kinds[2:], config, f, models)
}

// onSQLite returns a handle on SQLite, for what does not depend on the database.
func onSQLite(t testing.TB, models ...any) *env {
	t.Helper()
	return open(t, testdb.SQLite(t), gorm.Config{}, models)
}

// must fails the test on the error of a statement.
func must(t testing.TB, result *gorm.DB) *gorm.DB {
	t.Helper()
	if result.Error != nil {
		t.Fatal(result.Error)
	}
	return result
}

// create creates records, each by a statement of its own.
func create(t testing.TB, tx *gorm.DB, records ...any) {
	t.Helper()
	tx = tx.Session(&gorm.Session{})
	for _, record := range records {
		must(t, tx.Create(record))
	}
}

// wantError checks that an error wraps another one, nil for none, and has all texts.
func wantError(t testing.TB, err, want error, texts ...string) {
	t.Helper()
	wantErrorOf(t, "it", err, want, texts...)
}

// wantErrorOf is wantError for a case of a table.
func wantErrorOf(t testing.TB, what string, err, want error, texts ...string) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: error %v, want %v", what, err, want)
	}
	wantText(t, fmt.Sprintf("%s: error %v", what, err), texts...)
}

// wantFailure checks that there is an error.
func wantFailure(t testing.TB, what string, err error) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: no error", what)
	}
}

// wantText checks that a text has all parts.
func wantText(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in %s", part, text)
		}
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

// wantNoText checks that a text has none of the parts.
func wantNoText(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if strings.Contains(text, part) {
			t.Errorf("%q is in %s", part, text)
		}
	}
}

// wantCounts compares the numbers of rows, by what follows FROM.
func (h *handle) wantCounts(t testing.TB, want map[string]int) {
	t.Helper()
	for from, n := range want {
		var got int
		must(t, h.Raw("SELECT count(*) FROM "+from).Scan(&got))
		equal(t, "rows of "+from, got, n)
	}
}

// wantKeys compares the keys of all rows of a table with those in Go. The column is id unless table is table.column.
func (h *handle) wantKeys(t testing.TB, table string, want ...snowflake.ID) {
	t.Helper()
	var got []snowflake.ID
	table, column, _ := strings.Cut(table, ".")
	column = cmp.Or(column, "id")
	must(t, h.Table(table).Order(column).Pluck(column, &got))
	slices.Sort(want)
	equals(t, "keys in "+table, got, want...)
}

// wantIDs compares the keys of records, of whatever type, with those wanted.
func wantIDs[T any](t testing.TB, records []T, want ...snowflake.ID) {
	t.Helper()
	got := make([]any, len(records))
	for i, record := range records {
		got[i] = reflect.Indirect(reflect.ValueOf(record)).FieldByName("ID").Interface()
	}
	equal(t, fmt.Sprintf("keys of %T", records), fmt.Sprint(got), fmt.Sprint(want))
}

// equals compares several values.
func equals[T comparable](t testing.TB, what string, got []T, want ...T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func wantCalls(t testing.TB, gen *counting, want ...int) {
	t.Helper()
	equals(t, "IDs that the generator was asked for", gen.calls.take(), want...)
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
