//go:build unix && !race

package enginetest

import (
	"context"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/internal/processtest"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
)

func request() lease.Request {
	return lease.Request{
		Namespace: "orders", Layout: snowflake.Default().String(), First: 0, Last: 9,
		Token: leasetest.NewToken(), TTL: time.Hour, Tick: 1_000_000,
	}
}

// acquire returns a grant with a next token.
func acquire(t *testing.T, store lease.Store) lease.Grant {
	t.Helper()
	grant, err := store.Acquire(t.Context(), request())
	if err != nil {
		t.Fatalf("Acquire: %v", err)
	}
	grant.Next = leasetest.NewToken()
	return grant
}

// crowd opens leases at once, each with its own connection, and reports how long it takes and what it costs. With
// SNOWFLAKE_TEST_LONG=1 it opens 500, and then holds 1,000 on ten connections for a while.
func crowd(t *testing.T, e engine) {
	p := e.newPlace(t)
	count := processtest.Scale(40, 500)
	before := e.cpu(t)
	begin := time.Now()
	leases := openLeases(t, count, count, func() lease.Store { return p.store(t) })
	t.Logf("%d leases were open after %v, with %v of the servers' CPU time", count,
		time.Since(begin).Round(time.Millisecond), (e.cpu(t) - before).Round(time.Millisecond))
	workers := map[int64]bool{}
	for _, l := range leases {
		workers[l.Status().Worker] = true
	}
	if len(workers) != count {
		t.Errorf("%d leases have %d workers", count, len(workers))
	}
	closeLeases(t, leases)
	if processtest.Scale(0, 1) == 0 {
		return
	}
	stores := make(chan lease.Store, 10)
	for range cap(stores) {
		stores <- p.store(t)
	}
	leases = openLeases(t, 1000, 50, func() lease.Store {
		store := <-stores
		stores <- store
		return store
	})
	before, begin = e.cpu(t), time.Now()
	const hold = 30 * time.Second
	time.Sleep(hold)
	t.Logf("1000 holders with a window of %v: %v of the servers' CPU time in %v", lease.DefaultWindow,
		(e.cpu(t) - before).Round(time.Millisecond), time.Since(begin).Round(time.Second))
	for _, l := range leases {
		if s := l.Status(); s.Epoch == 0 || s.Failures > 0 {
			t.Errorf("worker %d: %d failures", s.Worker, s.Failures)
		}
	}
	closeLeases(t, leases)
}

// openLeases opens so many at a time.
func openLeases(t *testing.T, count, atOnce int, open func() lease.Store) []*lease.Lease {
	t.Helper()
	turns := make(chan struct{}, atOnce)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	leases := make([]*lease.Lease, count)
	var wait sync.WaitGroup
	for i := range leases {
		store := open()
		wait.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			var err error
			for range 20 { // as a service that is restarted
				if leases[i], err = lease.Open(ctx, store, lease.WithLogger(slog.New(slog.DiscardHandler))); err == nil {
					return
				}
			}
			t.Error(err)
		})
	}
	wait.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return leases
}

func closeLeases(t *testing.T, leases []*lease.Lease) {
	t.Helper()
	var wait sync.WaitGroup
	for _, l := range leases {
		wait.Go(func() {
			if err := l.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
}

// cpu returns what the servers have used, or 0 where there is no /proc.
func (e engine) cpu(t *testing.T) (sum time.Duration) {
	t.Helper()
	for _, m := range e.cluster {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(m.cmd.Process.Pid) + "/stat")
		if err != nil {
			return 0
		}
		_, rest, _ := strings.Cut(string(text), ") ") // the name may have spaces
		fields := strings.Fields(rest)
		for _, field := range fields[11:13] { // utime and stime, in hundredths of a second
			n, err := strconv.Atoi(field)
			if err != nil {
				t.Fatal(err)
			}
			sum += time.Duration(n) * 10 * time.Millisecond
		}
	}
	return sum
}
