package sqlfunc_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/contrib/sqlfunc"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

func newGenerator(tb testing.TB) *snowflake.Generator {
	tb.Helper()
	gen, err := snowflake.New(3)
	if err != nil {
		tb.Fatal(err)
	}
	return gen
}

func TestSQLiteDateFunctionsReadTheTime(t *testing.T) {
	layout := snowflake.Default()
	db := openSQLite(t, layout, "snowflake", nil)
	id, err := layout.MinAt(time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	got := scan[string](t, db, "SELECT strftime('%Y-%m-%d %H:%M:%f', snowflake_time(?))", id)
	if got != "2026-01-02 03:04:05.678" {
		t.Errorf("strftime reads %s", got)
	}
	minute, day := id-5678<<22, id-(((3*60+4)*60)*1000+5678)<<22
	for text, want := range map[string]snowflake.ID{
		"2026-01-02 03:04:05.678": id, "2026-01-02T03:04:05.678Z": id, "2026-01-02 04:04:05.678999+01:00": id,
		"2026-01-02T03:04:05.678": id, "2026-01-02 03:04": minute, "2026-01-02T03:04": minute, "2026-01-02 03:04Z": minute,
		"2026-01-02T04:04+01:00": minute, "2026-01-02": day,
	} {
		if got := scan[snowflake.ID](t, db, "SELECT snowflake_min(?)", text); got != want {
			t.Errorf("snowflake_min(%s) = %d, want %d", text, got, want)
		}
	}
	// Deterministic functions are allowed in indexes.
	db.exec(t, "CREATE TABLE visits (id BIGINT PRIMARY KEY)", "CREATE INDEX visits_day ON visits (date(snowflake_time(id)))")
}

func TestSQLiteDefaultIsTheNextID(t *testing.T) {
	db := openSQLite(t, snowflake.Default(), "snowflake", newGenerator(t))
	for _, table := range []string{
		"t (id BIGINT PRIMARY KEY NOT NULL DEFAULT (snowflake_next()), n INT)",
		"t (id INTEGER PRIMARY KEY NOT NULL DEFAULT (snowflake_next()), n INT) WITHOUT ROWID",
		"t (id BIGINT NOT NULL UNIQUE DEFAULT (snowflake_next()), n INT)",
	} {
		db.exec(t, "CREATE TABLE "+table)
		var done sync.WaitGroup
		for range 8 { // connections
			done.Go(func() {
				_, err := db.ExecContext(t.Context(), "INSERT INTO t (n) WITH RECURSIVE seq (i) AS "+
					"(SELECT 1 UNION ALL SELECT i + 1 FROM seq WHERE i < 1000) SELECT i FROM seq")
				if err != nil {
					t.Error(err)
				}
			})
		}
		done.Wait()
		rows := scan[int](t, db, "SELECT count(DISTINCT id) FROM t")
		least := scan[snowflake.ID](t, db, "SELECT min(id) FROM t")
		if rows != 8000 || snowflake.Default().Decompose(least).Worker != 3 {
			t.Errorf("%s: %d IDs from %d on", table, rows, least)
		}
		db.exec(t, "DROP TABLE t")
	}
	// The documented exception.
	db.exec(t, "CREATE TABLE t (id INTEGER PRIMARY KEY DEFAULT (snowflake_next()), n INT)", "INSERT INTO t (n) VALUES (1)")
	if id := scan[int64](t, db, "SELECT id FROM t"); id != 1 {
		t.Errorf("INTEGER PRIMARY KEY is %d; the documentation says that SQLite ignores its DEFAULT", id)
	}
}

func TestSQLiteNextFailsAsTheGeneratorDoes(t *testing.T) {
	l, err := lease.Open(t.Context(), lease.NewMemory(time.Now))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	db := openSQLite(t, snowflake.Default(), "snowflake", l.Generator())
	db.exec(t, "CREATE TABLE t (id BIGINT PRIMARY KEY NOT NULL DEFAULT (snowflake_next()), n INT)")
	db.fails(t, db, "INSERT INTO t (n) VALUES (1)", "", lease.ErrClosed.Error())
	if n := scan[int](t, db, "SELECT count(*) FROM t"); n != 0 {
		t.Errorf("%d rows were inserted", n)
	}
}

type registrar struct{ err error }

func (r registrar) RegisterFunc(string, any, bool) error { return r.err }

func TestSQLiteReturnsErrorsOfTheConnection(t *testing.T) {
	failure := errors.New("full")
	err := server{}.functions(t, snowflake.Default()).RegisterSQLite(registrar{failure}, newGenerator(t))
	if !errors.Is(err, failure) || strings.Count(err.Error(), "sqlfunc: register snowflake_") != 5 {
		t.Errorf("error %v, want one for each function", err)
	}
	err = server{}.functions(t, preset("twitter")).RegisterSQLite(registrar{}, newGenerator(t))
	if !errors.Is(err, sqlfunc.ErrOption) {
		t.Errorf("a generator of another layout: %v, want ErrOption", err)
	}
}
