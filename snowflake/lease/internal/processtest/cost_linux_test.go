package processtest

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
)

// TestExtensionIsOneRequest counts what a lease sends to its database.
func TestExtensionIsOneRequest(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, p place) {
		x, far := through(t, p)
		var extended, failed atomic.Int64
		l, err := lease.Open(t.Context(), far.store(t),
			lease.WithGenerator(snowflake.WithLayout(snowflake.Default())),
			lease.WithWindow(200*time.Millisecond),
			lease.WithLogger(slog.New(slog.DiscardHandler)),
			lease.WithHook(func(e lease.Event) {
				switch e.Kind {
				case lease.Extended:
					extended.Add(1)
				case lease.Failed:
					failed.Add(1) // and a new connection, which takes requests, too
				}
			}))
		if err != nil {
			t.Fatal(err)
		}
		more := int64(Scale(8, 100))
		Eventually(t, "the first extensions", func() bool { return extended.Load() >= 2 }) // statements are prepared by now
		before, asked := extended.Load(), x.asked.Load()
		begin := time.Now()
		Eventually(t, "more extensions", func() bool { return extended.Load() >= before+more })
		n, requests, windows := extended.Load()-before, x.asked.Load()-asked, time.Since(begin).Seconds()/0.2
		if err := l.Close(t.Context()); err != nil {
			t.Error(err)
		}
		perExtension := int64(1)
		if p.Kind == "mariadb" { // whose driver prepares each statement, without interpolateParams=true in the DSN
			perExtension = 3
		}
		if requests > perExtension*(n+1) && failed.Load() == 0 { // one may be under way
			t.Errorf("%d requests for %d extensions, want %d for each", requests, n, perExtension)
		}
		t.Logf("%d extensions and %d requests in %.1f windows, %d failures", n, requests, windows, failed.Load())
	})
}

// TestThousandHoldersCostLittle measures what extensions of a thousand leases
// with the default window cost PostgreSQL.
func TestThousandHoldersCostLittle(t *testing.T) {
	if Scale(0, 1) == 0 {
		t.Skip("takes half a minute: run with SNOWFLAKE_TEST_LONG=1")
	}
	const holders = 1000
	target := testdb.Postgres(t)
	db := target.Open(t)
	db.SetMaxOpenConns(16)
	db.SetMaxIdleConns(16)
	store, err := sqllease.New(db, sqllease.Postgres)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	var extended, failed atomic.Int64
	leases := make([]*lease.Lease, holders)
	begin := time.Now()
	err = eachOf(leases, func(i int) (err error) {
		leases[i], err = lease.Open(t.Context(), store, lease.WithNamespace("holders"),
			lease.WithGenerator(snowflake.WithLayout(snowflake.Default())),
			lease.WithLogger(slog.New(slog.DiscardHandler)),
			lease.WithHook(func(e lease.Event) {
				switch e.Kind {
				case lease.Extended:
					extended.Add(1)
				case lease.Failed, lease.Lost: // on a busy machine; not counted as a cost
					failed.Add(1)
					t.Logf("after %v: %s: %v", time.Since(begin).Round(time.Millisecond), e.Kind, e.Err)
				}
			}))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d leases opened in %v", holders, time.Since(begin).Round(time.Millisecond))
	time.Sleep(lease.DefaultWindow) // extensions have begun, and the first checkpoint of what was inserted

	sessions, own := backends(t, db)
	before, n, start := cpuTimes(t), extended.Load(), time.Now()
	time.Sleep(2 * lease.DefaultWindow)
	after, elapsed := cpuTimes(t), time.Since(start)
	n = extended.Load() - n
	var ours, all time.Duration
	for pid, spent := range after {
		if sessions[pid] {
			ours += spent - before[pid]
		}
		if own[pid] {
			all += spent - before[pid]
		}
	}
	t.Logf("%d holders, window %v: %.0f extensions/s, %.2f a window and holder; sessions of the leases %.2f %% of a core, "+
		"with the writers of the server, which others may use, too, %.2f %%; %.0f us an extension; %d failures",
		holders, lease.DefaultWindow, float64(n)/elapsed.Seconds(),
		float64(n)/holders/(elapsed.Seconds()/lease.DefaultWindow.Seconds()),
		percent(ours, elapsed), percent(all, elapsed), float64(all.Microseconds())/float64(max(n, 1)), failed.Load())
	if err := eachOf(leases, func(i int) error { return leases[i].Close(context.WithoutCancel(t.Context())) }); err != nil {
		t.Error(err)
	}
	if n < holders {
		t.Errorf("%d extensions of %d holders in two windows", n, holders)
	}
}

func percent(part, of time.Duration) float64 { return 100 * part.Seconds() / of.Seconds() }

// eachOf calls f for each index, a few at a time.
func eachOf(leases []*lease.Lease, f func(i int) error) error {
	var (
		wait sync.WaitGroup
		next atomic.Int64
		mu   sync.Mutex
		errs []error
	)
	for range 16 {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(leases); i = int(next.Add(1)) - 1 {
				if err := f(i); err != nil {
					mu.Lock()
					errs = append(errs, err)
					mu.Unlock()
				}
			}
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}

// backends returns the processes that serve the sessions of the test, and these
// together with those that serve all: the writers of the log and the tables.
func backends(t *testing.T, db *sql.DB) (sessions, own map[int]bool) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), `SELECT pid, backend_type = 'client backend' FROM pg_stat_activity
		WHERE application_name = current_setting('application_name') OR backend_type <> 'client backend'`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	sessions, own = map[int]bool{}, map[int]bool{}
	for rows.Next() {
		var pid int
		var session bool
		if err := rows.Scan(&pid, &session); err != nil {
			t.Fatal(err)
		}
		own[pid] = true
		if session {
			sessions[pid] = true
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return sessions, own
}

// cpuTimes returns the user and system time of the processes of PostgreSQL.
func cpuTimes(t *testing.T) map[int]time.Duration {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	times := map[int]time.Duration{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		if pid, spent, ok := cpuTime(string(text)); ok {
			times[pid] = spent
		}
	}
	if len(times) == 0 {
		t.Skip("the processes of PostgreSQL are not to be seen from here")
	}
	return times
}

// cpuTime reads a line of /proc/[pid]/stat: see proc_pid_stat(5). Times are in
// hundredths of a second.
func cpuTime(line string) (pid int, spent time.Duration, ok bool) {
	before, after, ok := strings.Cut(line, " (postgres) ")
	fields := strings.Fields(after)
	if !ok || len(fields) < 13 {
		return 0, 0, false
	}
	var ticks [2]int64
	for i, text := range fields[11:13] { // fields 14 and 15 of the line
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return 0, 0, false
		}
		ticks[i] = n
	}
	pid, err := strconv.Atoi(before)
	return pid, time.Duration(ticks[0]+ticks[1]) * 10 * time.Millisecond, err == nil
}
