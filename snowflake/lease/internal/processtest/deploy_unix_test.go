//go:build unix

package processtest

import (
	"syscall"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// aheadOf is how many ticks a horizon is ahead of the clock when it is requested.
func aheadOf(window time.Duration) int64 {
	const lead = 10 // the default, in ticks
	return lead + int64(window/snowflake.Default().Tick())
}

// startAll starts issuers and waits until each has issued IDs.
func startAll(t *testing.T, o Order, count int) []*Process {
	t.Helper()
	processes := make([]*Process, count)
	for i := range processes {
		processes[i] = MustStart(t, o)
	}
	for _, p := range processes {
		if err := p.AwaitID(); err != nil {
			t.Fatal(err)
		}
	}
	return processes
}

// TestARollingDeployWaitsForNothing replaces each of 30 processes by a new one, which issues IDs before the old one gets
// its SIGTERM, out of 32 workers. The window is the longest one: a process that had to wait for the horizon or for the
// expiry of another one would have its first ID ten minutes later.
func TestARollingDeployWaitsForNothing(t *testing.T) {
	t.Parallel()
	p := placeOf(testdb.Postgres(t))
	store := p.store(t)
	live, workers := Scale(6, 30), int64(Scale(8, 32))
	o := Order{Place: p.String(), Last: workers - 1, Window: lease.MaxWindow, Pace: 5 * time.Millisecond}
	processes := startAll(t, o, live)
	for i := range live {
		next := startAll(t, o, 1)[0]
		processes = append(processes, next)
		old := processes[i]
		old.Signal(t, syscall.SIGTERM)
		if code := old.ExitCode(); code != ExitDone {
			t.Fatalf("process %d ended with %d: %s", i, code, old)
		}
	}
	for _, p := range processes[live:] {
		if err := p.Finish(); err != nil {
			t.Error(err)
		}
	}
	c := TakeCensus(processes)
	c.Check(t, store)
	released := map[[2]int64]int64{} // the horizon, by worker and epoch
	for _, p := range processes {
		for _, n := range p.Noted(lease.Released) {
			released[[2]int64{n.Worker, n.Epoch}] = n.Horizon
		}
	}
	for i, p := range processes {
		for _, n := range p.Noted(lease.Failed) {
			if n.Full {
				t.Errorf("process %d found all workers held: %+v", i, n)
			}
		}
		got := p.Noted(lease.Acquired)
		if len(got) != 1 {
			t.Fatalf("process %d has taken a worker %d times: %s", i, len(got), p)
		}
		before, ok := released[[2]int64{got[0].Worker, got[0].Epoch - 1}]
		if got[0].Epoch > 1 && !ok {
			t.Errorf("process %d has taken worker %d over before its owner gave it back", i, got[0].Worker)
		}
		if wait := before - p.FirstTick(); wait > 0 {
			t.Errorf("process %d began %d ticks below the horizon of the owner before", i, wait)
		}
		if asked := got[0].Horizon - aheadOf(o.Window); before-asked > aheadOf(time.Second) {
			t.Errorf("process %d had to wait for a horizon that was %d ticks ahead of the clock", i, before-asked)
		}
	}
	if least := 2*live - int(workers); c.Takeovers < least {
		t.Errorf("%d takeovers, want at least %d", c.Takeovers, least)
	}
}
