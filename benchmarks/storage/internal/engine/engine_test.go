package engine

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/key"
	"github.com/sqlflake/sqlflake/internal/testdb"
)

func TestMain(m *testing.M) { os.Exit(testdb.Main(m)) }

// at returns where a test's database is, and skips the test if there is none.
func at(t *testing.T, name string) string {
	t.Helper()
	if server := servers[name]; server != nil {
		return server(t).DSN
	}
	if name == "postgres18" {
		return testdb.Postgres18(t).DSN
	}
	return t.TempDir()
}

func open(t *testing.T, name string) Engine {
	t.Helper()
	return openAt(t, name, at(t, name))
}

func openAt(t *testing.T, name, at string) Engine {
	t.Helper()
	e, err := Open(t.Context(), name, at)
	must(t, err)
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("close %s: %v", name, err)
		}
	})

	return e
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// one returns the only value of a query.
func one[T any](t *testing.T, db *sql.DB, query string, args ...any) (value T) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), query, args...).Scan(&value); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return value
}

// fill creates a table with a secondary index and n rows, and returns a key that it has; nil if the database makes
// them.
func fill(t *testing.T, e Engine, table string, k key.Kind, n int) any {
	t.Helper()
	must(t, e.Create(t.Context(), Table{
		Name: table, Kind: k, Columns: []Column{{Name: "name", Text: true}, {Name: "amount"}},
		Indexes: []string{"amount"},
	}))
	source, err := k.New(key.Config{Seed: 1, Clients: 1})
	must(t, err)
	columns, keys := "name, amount", make([]any, n)

	if source != nil {
		columns += ", id"
		must(t, source(keys))
	}

	for first := 0; first < n; first += 500 {
		var args []any
		text := "INSERT INTO " + table + " (" + columns + ") VALUES "
		for i := first; i < min(first+500, n); i++ {
			row := []any{fmt.Sprintf("account number %06d", i), int64(i * 7919 % 100_003), e.Value(keys[i])}
			before := "("
			for _, value := range row[:strings.Count(columns, ",")+1] {
				args = append(args, value)
				text, before = text+before+e.Placeholder(len(args)), ", "
			}
			text += "), "
		}

		_, err := e.DB().ExecContext(t.Context(), strings.TrimSuffix(text, ", "), args...)
		must(t, err)
	}

	return keys[n/2]
}

// wantSizes verifies which trees a table has, and returns the bytes of all.
func wantSizes(t *testing.T, e Engine, table string, k key.Kind) int64 {
	t.Helper()
	s, err := e.Sizes(t.Context(), table)
	must(t, err)
	clustered := e.Dialect() == "mariadb" || e.Name() == "sqlite" && k.Store == key.Integer && !k.Beside
	if s.Secondary <= 0 || clustered != (s.Primary == 0) || s.Table <= s.Primary+s.Secondary && s.Table > 3*8192 {
		t.Errorf("%s: %+v", table, s)
	}
	return s.Table
}

func TestEveryKindOnEveryEngine(t *testing.T) {
	const n = 3000
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			ctx, e := t.Context(), open(t, name)
			for _, k := range key.Kinds() {
				suffix := strings.ReplaceAll(k.Name, "-", "_")
				parent, child := "parent_"+suffix, "child_"+suffix
				if !k.OnEngine(e.Name()) {
					continue
				}

				id := fill(t, e, parent, k, n)
				must(t, e.Create(ctx, Table{
					Name: child, Kind: k, Indexes: []string{"parent_id"},
					Columns: []Column{{Name: "parent_id", References: parent}},
				}))
				must(t, e.Settle(ctx, parent, child))

				if size := wantSizes(t, e, parent, k) / n; size < 40 || size > 300 {
					t.Errorf("%s has %d bytes a row", k.Name, size)
				}

				wantSizes(t, e, child, k) // one index for the reference, no second one
				if id != nil && one[int](t, e.DB(), "SELECT count(*) FROM "+parent+" WHERE id = "+e.Placeholder(1),
					e.Value(id)) != 1 {
					t.Errorf("%s: no row has the key that was sent", k.Name)
				}

				strange := map[key.Store]any{
					key.UUID: [16]byte{}, key.Text: "nobody",
					key.Integer: int64(math.MaxInt64),
				}[k.Store]
				orphan := "INSERT INTO " + child + " (parent_id) VALUES (" + e.Placeholder(1) + ")"
				if _, err := e.DB().ExecContext(ctx, orphan, e.Value(strange)); err == nil {
					t.Errorf("%s: a child without a parent was stored", k.Name)
				}

				must(t, e.Drop(ctx, child, parent))
				if _, err := e.Sizes(ctx, parent); err == nil {
					t.Errorf("%s: the table was dropped and still has sizes", k.Name)
				}
			}
		})
	}
}

func TestSizesAreThoseOfTheFile(t *testing.T) {
	for _, k := range key.Kinds() {
		if !k.OnEngine("sqlite") {
			continue
		}

		e := open(t, "sqlite").(*sqlite)
		fill(t, e, "t", k, 3000)
		_, err := e.db.ExecContext(t.Context(), "DELETE FROM t WHERE amount % 3 = 0") // free pages
		must(t, err)
		pages := 1 + one[int64](t, e.db, "PRAGMA freelist_count") + wantSizes(t, e, "t", k)/4096 // 1: of sqlite_schema

		if count := one[int64](t, e.db, "PRAGMA page_count"); pages != count {
			t.Errorf("%s: the trees and the free list have %d pages, the file has %d", k.Name, pages, count)
		}

		must(t, e.Drop(t.Context(), "t"))
		if n := one[int64](t, e.db, "PRAGMA page_count"); n > 2 {
			t.Errorf("%s: %d pages are left", k.Name, n)
		}
	}

	uuidv4 := key.Find([]string{"uuidv4"})[0]
	e := open(t, "mariadb").(*mariadb)
	for _, n := range []int{100, 3000, 60_000} {
		fill(t, e, "t", uuidv4, n)
		sum := wantSizes(t, e, "t", uuidv4) / e.pageSize
		pages := one[int64](t, e.db, `SELECT count(*) FROM information_schema.INNODB_BUFFER_PAGE
			WHERE table_name = ? AND page_type = 'INDEX'`, "`"+e.place+"`.`t`")
		if sum < pages-pages/100-1 || sum > pages+pages/5+1 { // small indexes count as the pages that are reserved
			t.Errorf("%d rows: %d pages, %d in the buffer pool", n, sum, pages)
		}
		must(t, e.Drop(t.Context(), "t"))
	}
}

const secret = "geh/eim@1"

func TestErrorsSayWhereAndKeepThePassword(t *testing.T) {
	for _, test := range []struct {
		engine, dsn string
		want        []string
	}{
		{
			"postgres", "postgres://me:" + url.QueryEscape(secret) + "@127.0.0.1:1/shop",
			[]string{"127.0.0.1:1", "shop", "me"},
		},
		{"postgres", "postgres://me:" + secret + "@127.0.0.1:1/shop", []string{"DSN"}},
		{"postgres", "host=/nowhere user=me dbname=shop password=" + secret, []string{"/nowhere", "shop"}},
		{"mariadb", "me:" + secret + "@tcp(127.0.0.1:1)/", []string{"127.0.0.1:1", "me", "start it"}},
		{"mariadb", "me:" + secret + "@" + secret, []string{"DSN"}},
	} {
		_, err := Open(t.Context(), test.engine, test.dsn)
		if err == nil {
			t.Errorf("%s was opened", test.dsn)
			continue
		}

		for _, word := range test.want {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%q is not in: %v", word, err)
			}
		}

		if strings.Contains(err.Error(), "geh") || strings.Contains(err.Error(), "eim") {
			t.Errorf("the password is in: %v", err)
		}
	}
}

var servers = map[string]func(testing.TB) testdb.Target{"postgres": testdb.Postgres, "mariadb": testdb.MariaDB}

func places(t *testing.T, e Engine, name string) int {
	t.Helper()
	return one[int](t, e.DB(), "SELECT count(*) FROM information_schema.schemata WHERE schema_name = '"+name+"'")
}

func TestCloseLeavesNothingBehind(t *testing.T) {
	for name := range servers {
		ctx, cancel := context.WithCancel(t.Context())
		server := at(t, name)
		e, err := Open(ctx, name, server)
		must(t, err)
		place := serverOf(e).place
		fill(t, e, "t", key.Kinds()[0], 100)
		// One transaction is open and one statement runs when the program is interrupted.
		tx, err := e.DB().BeginTx(context.WithoutCancel(ctx), nil)
		must(t, err)
		_, err = tx.ExecContext(ctx, "UPDATE t SET amount = 1")
		must(t, err)
		busy := make(chan error)
		sleep := map[string]string{
			"postgres": "SELECT pg_sleep(600) FROM t",
			"mariadb":  "SELECT SLEEP(600) FROM t",
		}[name]
		go func() {
			_, err := e.DB().ExecContext(ctx, sleep)
			busy <- err
		}()
		time.Sleep(100 * time.Millisecond)
		second := openAt(t, name, server)

		cancel()
		if err := <-busy; err == nil {
			t.Error("it was not interrupted")
		}

		must(t, e.Close())
		_ = tx.Rollback()
		if places(t, second, place) != 0 || places(t, second, serverOf(second).place) != 1 {
			t.Errorf("%s was not removed, or the place of another run was", place)
		}
	}
}

func serverOf(e Engine) *served {
	if p, ok := e.(*postgres); ok {
		return &p.served
	}
	return &e.(*mariadb).served
}

func TestSQLiteRemovesItsFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "100%41 a?b#c&d=e") // signs of a URI
	must(t, os.Mkdir(dir, 0o700))
	ctx, cancel := context.WithCancel(t.Context())
	e, err := Open(ctx, "sqlite", dir)
	must(t, err)
	fill(t, e, "t", key.Kinds()[0], 10)
	wantSizes(t, e, "t", key.Kinds()[0])
	cancel()
	must(t, e.Close())

	if _, err := Open(ctx, "sqlite", dir); err == nil {
		t.Error("opened with a context that has ended")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
