package engine

import (
	"context"
	"database/sql"
	"errors"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/testdb"
)

var servers = []string{"postgres", "mariadb"}

func eachServer(t *testing.T, f func(t *testing.T, e Engine)) {
	t.Helper()
	for _, name := range servers {
		t.Run(name, func(t *testing.T) { f(t, open(t, name)) })
	}
}

func place(e Engine) string {
	if p, ok := e.(*postgres); ok {
		return p.place
	}
	return e.(*mariadb).place
}

func conn(t *testing.T, e Engine) *sql.Conn {
	t.Helper()
	c, err := e.DB().Conn(t.Context())
	must(t, err)
	t.Cleanup(func() { _ = c.Close() }) // the test may have closed it already
	return c
}

func TestBulkKeepsEveryByte(t *testing.T) {
	eachServer(t, func(t *testing.T, e Engine) {
		for _, name := range []string{"snowflake", "uuidv4", "uuidv4-text", "ulid-text", "auto"} {
			k := find(t, name)
			table := Table{
				Name: "bulk_" + strings.ReplaceAll(name, "-", "_"), Kind: k,
				Columns: []Column{{Name: "name", Type: Name}, {Name: "amount"}, {Name: "made", Type: Moment}},
			}
			must(t, e.Create(t.Context(), table))
			names := []string{"", "tab\tnew\nline\rback\\slash\\N", `"quoted", 'so'`, "Zürich 東京 🙂"}
			if e.Dialect() == "mariadb" {
				names = append(names, "nul\x00byte")
			}
			made := time.Date(2026, 3, 4, 5, 6, 7, 890_123_000, time.UTC)
			all, keys := rowsOf(t, e, k, 3000)
			for i := range all {
				row := all[i][len(all[i])-2:]
				row[0] = names[i%len(names)]
				all[i] = append(all[i], made)
			}
			must(t, e.Bulk(t.Context(), conn(t, e), table.Name, columnsOf(table), all))
			for i, want := range names {
				query := "SELECT count(*) FROM " + table.Name + " WHERE name = " + e.Placeholder(1) + " AND made = " + e.Placeholder(2)
				args := []any{want, made}
				if keys != nil {
					query += " AND id = " + e.Placeholder(3)
					args = append(args, e.Value(keys[i]))
				}
				if n := one[int](t, e.DB(), query, args...); n == 0 {
					t.Errorf("%s: no row has %q", name, want)
				}
			}
			if n := one[int](t, e.DB(), "SELECT count(*) FROM "+table.Name); n != len(all) {
				t.Errorf("%s: %d rows", name, n)
			}
			if keys != nil {
				if err := e.Bulk(t.Context(), conn(t, e), table.Name, columnsOf(table), all[:1]); err == nil {
					t.Errorf("%s: a key was loaded twice", name)
				}
			}
		}
	})
}

// TestNameComesBackWithOtherTypes: drivers cache statements by their text.
func TestNameComesBackWithOtherTypes(t *testing.T) {
	eachServer(t, func(t *testing.T, e Engine) {
		held := conn(t, e)
		for _, name := range []string{"explicit", "uuidv4", "uuidv4-text"} {
			table := accounts("same", find(t, name))
			must(t, e.Create(t.Context(), table))
			rows, _ := rowsOf(t, e, table.Kind, 20)
			must(t, e.Bulk(t.Context(), held, "same", columnsOf(table), rows[:10]))
			insert(t, e, "same", columnsOf(table), rows[10:])
			must(t, e.Drop(t.Context(), "same"))
		}
	})
}

func usage(t *testing.T, e Engine) Usage {
	t.Helper()
	u, err := e.Usage(t.Context())
	must(t, err)
	return u
}

func TestUsageCounts(t *testing.T) {
	eachServer(t, func(t *testing.T, e Engine) {
		table := accounts("used", find(t, "uuidv4"))
		must(t, e.Create(t.Context(), table))
		rows, _ := rowsOf(t, e, table.Kind, 20_000)
		must(t, e.Settle(t.Context(), "used"))
		var u Usage
		for part := range slices.Chunk(rows, 2000) { // the lowest of them counts: other tests use the server, too
			before := usage(t, e)
			insert(t, e, "used", columnsOf(table), part)
			if used := usage(t, e).Since(before); u.Log == 0 || used.Log < u.Log {
				u = used
			}
		}
		t.Logf("%+v", u)
		if perRow := u.Log / 2000; perRow < 100 || perRow > 2000 {
			t.Errorf("%d bytes of log a row", perRow)
		}
		if u.Hits < 2000 {
			t.Errorf("%d pages were in the cache; each row looks at one at least", u.Hits)
		}
		if e.Name() == "postgres" && u.PageImages < 0 || e.Dialect() == "mariadb" && u.PageImages != -1 {
			t.Errorf("%d page images", u.PageImages)
		}
		if u.Written < 0 || u.Reads < 0 {
			t.Errorf("%+v", u)
		}
	})
}

// TestUsageCountsOtherConnections: a session of PostgreSQL reports its counts after a second or more.
func TestUsageCountsOtherConnections(t *testing.T) {
	e := open(t, "postgres")
	fill(t, e, accounts("t", find(t, "explicit")), 3000)
	must(t, e.Settle(t.Context(), "t"))
	pages := trees(t, e, "t")[0].Bytes / 8192
	before := usage(t, e)
	held := []*sql.Conn{conn(t, e), conn(t, e), conn(t, e)}
	for _, c := range held {
		for range 10 { // a session that has not reported recently reports the first at once
			one[int](t, c, "SELECT count(*) FROM t")
		}
	}
	for _, c := range held {
		must(t, c.Close())
	}
	if got := usage(t, e).Since(before).Hits; got < 30*pages {
		t.Errorf("%d hits, want %d for 30 times %d pages", got, 30*pages, pages)
	}
}

// TestCPUOfClosedConnectionsCounts: the processes and threads that served them have ended.
func TestCPUOfClosedConnectionsCounts(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("Linux only")
	}
	work := map[string]string{
		"postgres": "SELECT count(*) FROM generate_series(1, 1000000)",
		"mariadb":  "SELECT BENCHMARK(300000, SHA2('x', 256))",
	}
	eachServer(t, func(t *testing.T, e Engine) {
		before := usage(t, e).CPU
		if before < 0 {
			t.Skip(e.Notes())
		}
		c := conn(t, e)
		const enough = 150 * time.Millisecond
		for usage(t, e).CPU-before < enough {
			one[int](t, c, work[e.Name()])
		}
		must(t, c.Close())
		e.DB().SetMaxIdleConns(-1)             // closes them
		const rounding = 30 * time.Millisecond // ended processes are counted in steps of 10 ms
		used := usage(t, e).CPU - before
		for end := time.Now().Add(20 * time.Second); used < enough-rounding && time.Now().Before(end); { // they end later
			time.Sleep(50 * time.Millisecond)
			used = usage(t, e).CPU - before
		}
		if used < enough-rounding {
			t.Errorf("%v after the connections were closed", used)
		}
	})
}

// exists looks for a place on a connection of its own.
func exists(t *testing.T, name, place string) bool {
	t.Helper()
	target := map[string]func(testing.TB) testdb.Target{"postgres": testdb.Postgres, "mariadb": testdb.MariaDB}[name](t)
	// The name is set by the test.
	return one[int](t, target.Open(t), "SELECT count(*) FROM information_schema.schemata WHERE schema_name = '"+place+"'") > 0
}

func TestCloseLeavesNothingBehind(t *testing.T) {
	for _, name := range servers {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			e, err := Open(ctx, name, config(t, name))
			must(t, err)
			fill(t, e, accounts("t", find(t, "explicit")), 100)
			if !exists(t, name, place(e)) {
				t.Fatal("it was not there")
			}
			// One transaction is left open and one statement runs when the program is interrupted.
			tx, err := e.DB().BeginTx(context.WithoutCancel(ctx), nil)
			must(t, err)
			defer func() { _ = tx.Rollback() }()
			_, err = tx.ExecContext(ctx, "INSERT INTO t (id, name, amount) VALUES (-1, '', 1)")
			must(t, err)
			busy := make(chan error)
			sleep := map[string]string{"postgres": "SELECT pg_sleep(600) FROM t", "mariadb": "SELECT SLEEP(600) FROM t"}[name]
			go func() {
				_, err := e.DB().ExecContext(ctx, sleep)
				busy <- err
			}()
			time.Sleep(100 * time.Millisecond)
			cancel()
			if err := <-busy; err == nil {
				t.Error("it was not interrupted")
			}
			must(t, e.Close())
			if exists(t, name, place(e)) {
				t.Errorf("%s is still there", place(e))
			}
		})
	}
}

// TestAPlaceOfAnotherRunIsNotDropped: by chance two runs could choose the same name.
func TestAPlaceOfAnotherRunIsNotDropped(t *testing.T) {
	eachServer(t, func(t *testing.T, first Engine) {
		e, err := newServer(first.Name(), config(t, first.Name()))
		must(t, err)
		switch e := e.(type) {
		case *postgres:
			e.place = place(first)
		case *mariadb:
			e.place = place(first)
		}
		if err := errors.Join(e.open(t.Context(), false), e.Close()); !refused(err) || !exists(t, first.Name(), place(first)) {
			t.Errorf("%s was dropped, or there was no error: %v", place(first), err)
		}
	})
}

func TestEnginesInParallel(t *testing.T) {
	for i := range 6 {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			eachServer(t, func(t *testing.T, e Engine) {
				fill(t, e, accounts("t", find(t, "uuidv4")), 500)
				for _, tree := range trees(t, e, "t") {
					if tree.Density <= 0 {
						t.Errorf("%+v: %v", tree, e.Notes())
					}
				}
			})
		})
	}
}

func TestIsLocal(t *testing.T) {
	for host, want := range map[string]bool{
		"127.8.0.1": true, "::1": true, "localhost": true, "": true, "/var/run/postgresql": true, "@abstract": true,
		"10.0.0.1": false, "db.example.org": false, "localhost.example.org": false, "::2": false,
	} {
		if isLocal(host) != want {
			t.Errorf("%q: %v", host, !want)
		}
	}
}
