package processtest

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/dbserver"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// TestCrowdOnPostgres reports what many processes cost a PostgreSQL server of their own, with the defaults of Debian
// except for the number of connections: 500 real processes that open a lease at once, and 1,000 leases that are held
// on ten connections. It takes minutes and some gigabytes, so it runs with SNOWFLAKE_TEST_LONG=1 only.
func TestCrowdOnPostgres(t *testing.T) {
	count, holders := Scale(0, 500), Scale(0, 1000)
	if count == 0 {
		t.Skip("needs SNOWFLAKE_TEST_LONG=1")
	}
	port := strconv.Itoa(FreePort(t)) // a Unix socket with a full backlog refuses at once, and is asked again and again
	server, err := dbserver.Start(t.Context(), dbserver.Config{Name: "postgres", Args: []string{
		"-c", "max_connections=600", "-c", "shared_preload_libraries=pg_stat_statements",
		"-c", "listen_addresses=127.0.0.1", "-c", "port=" + port,
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Stop() })
	p := place{Kind: "postgres", Driver: "pgx", DSN: "postgres://postgres@127.0.0.1:" + port + "/postgres?sslmode=disable"}
	db, err := sql.Open(p.Driver, p.DSN)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	run(t, db, "CREATE EXTENSION pg_stat_statements")
	crowd := serverUse{db: db, folder: server.Folder}

	o := Order{Place: p.String(), Last: int64(count) - 1, Window: time.Minute, Gate: true, Limit: 100} // as gormplugin.Open
	processes := make([]*Process, count)
	for i := range processes {
		processes[i] = MustStart(t, o)
	}
	for _, q := range processes {
		Eventually(t, "a process at the gate", func() bool { return len(q.Noted(Ready)) > 0 }, q)
	}
	crowd.begin(t)
	for _, q := range processes {
		if err := q.Go(); err != nil {
			t.Fatal(err)
		}
	}
	workers := map[int64]bool{}
	for _, q := range processes {
		Eventually(t, "a worker and all IDs", func() bool { return q.Count() == o.Limit && len(q.Noted(lease.Acquired)) > 0 }, q)
		workers[q.Noted(lease.Acquired)[0].Worker] = true
	}
	crowd.report(t, strconv.Itoa(count)+" processes have opened a lease, of a namespace that was empty")
	for _, q := range processes {
		if err := q.Finish(); err != nil {
			t.Error(err)
		}
	}
	store := p.store(t)
	c := TakeCensus(processes)
	c.Check(t, store)
	if len(workers) != count || c.IDs != count*o.Limit {
		t.Errorf("%d processes have %d workers and %d IDs", count, len(workers), c.IDs)
	}

	stores := make([]lease.Store, 10)
	for i := range stores {
		stores[i] = p.store(t)
	}
	leases := make([]*lease.Lease, holders)
	defer func() {
		var wait sync.WaitGroup
		for _, l := range leases {
			if l == nil { // Open has failed
				continue
			}
			wait.Go(func() {
				if err := l.Close(context.Background()); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
	}()
	for i := range leases {
		if leases[i], err = lease.Open(t.Context(), stores[i%len(stores)], lease.WithLogger(slog.New(slog.DiscardHandler))); err != nil {
			t.Fatal(err)
		}
	}
	crowd.begin(t)
	time.Sleep(30 * time.Second)
	crowd.report(t, strconv.Itoa(holders)+" leases are held with a window of "+lease.DefaultWindow.String())
	for _, l := range leases {
		if s := l.Status(); !s.Held || s.Failures > 0 {
			t.Errorf("worker %d: %+v", s.Worker, s)
		}
	}
}

// serverUse measures what a server does.
type serverUse struct {
	db     *sql.DB
	folder string

	at     time.Time
	before time.Duration
}

func (u *serverUse) begin(t *testing.T) {
	t.Helper()
	run(t, u.db, "SELECT pg_stat_statements_reset()")
	u.before, u.at = u.cpu(t), time.Now()
}

func (u *serverUse) report(t *testing.T, what string) {
	t.Helper()
	took, cpu := time.Since(u.at), u.cpu(t)-u.before
	rows, err := u.db.QueryContext(t.Context(), `SELECT calls, rows, substr(regexp_replace(query, '\s+', ' ', 'g'), 1, 100)
		FROM pg_stat_statements WHERE query NOT LIKE '%pg_stat_%' ORDER BY calls DESC`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	total, list := 0, strings.Builder{}
	for rows.Next() {
		var calls, changed int
		var query string
		if err := rows.Scan(&calls, &changed, &query); err != nil {
			t.Fatal(err)
		}
		total += calls
		fmt.Fprintf(&list, "\n\t%d calls, %d rows: %s", calls, changed, query)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	var size, updates, hot int64
	if err := u.db.QueryRowContext(t.Context(), `SELECT pg_total_relation_size(relid), n_tup_upd, n_tup_hot_upd
		FROM pg_stat_user_tables WHERE relname = 'snowflake_leases'`).Scan(&size, &updates, &hot); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %v, %d statements, %v of the server's CPU time; the table has %d KiB with its index, %d updates, %d of them HOT%s",
		what, took.Round(time.Millisecond), total, cpu.Round(time.Millisecond), size/1024, updates, hot, list.String())
}

// cpu returns what the server's processes have used: the first one, those that it has waited for, and those that live.
func (u *serverUse) cpu(t *testing.T) (sum time.Duration) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(u.folder, "data", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	files, _ := filepath.Glob("/proc/[0-9]*/stat") // fails for a bad pattern only
	for _, file := range files {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(stat), ") ") // the name may have spaces
		fields := strings.Fields(rest)
		mine := fields[11:13] // utime and stime, in hundredths of a second
		switch {
		case filepath.Base(filepath.Dir(file)) == first:
			mine = fields[11:15] // and those of its children that have ended
		case fields[1] != first:
			continue
		}
		for _, field := range mine {
			n, err := strconv.Atoi(field)
			if err != nil {
				t.Fatal(err)
			}
			sum += time.Duration(n) * 10 * time.Millisecond
		}
	}
	return sum
}
