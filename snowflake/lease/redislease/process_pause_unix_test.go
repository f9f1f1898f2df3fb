//go:build unix

package redislease_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/internal/processtest"
)

// Of two workers one is taken over while its owner is stopped. The other one becomes free only after the owner has
// noticed.
func TestStoppedProcessLosesItsWorkerAndGoesOnUnderAnother(t *testing.T) {
	t.Parallel()
	for range processtest.Scale(1, 10) {
		place, store := newPlace(t)
		o := processtest.Order{Place: place, First: 5, Last: 6, Window: 300 * time.Millisecond}
		zombie := processtest.MustStart(t, o)
		processtest.Eventually(t, "the first ID", func() bool { return zombie.Count() > 0 && len(zombie.Noted(lease.Acquired)) > 0 }, zombie)
		mine := zombie.Noted(lease.Acquired)[0]
		other := o.First + o.Last - mine.Worker
		o.First, o.Last, o.Window = other, other, processtest.Patience // the other two do not expire
		neighbour := processtest.MustStart(t, o)
		processtest.Eventually(t, "an ID of the neighbour", func() bool { return neighbour.Count() > 0 }, neighbour)

		zombie.Signal(t, syscall.SIGSTOP)
		o.First, o.Last = mine.Worker, mine.Worker
		heir := processtest.MustStart(t, o)
		processtest.Eventually(t, "an ID of the heir", func() bool { return heir.Count() > 0 && len(heir.Noted(lease.Acquired)) > 0 }, zombie, heir)
		if len(zombie.Noted(lease.Lost)) > 0 {
			t.Fatalf("the process has lost its worker without the stop: %s", zombie)
		}
		zombie.Signal(t, syscall.SIGCONT)
		processtest.Eventually(t, "the loss", func() bool { return len(zombie.Noted(lease.Lost)) > 0 }, zombie)

		all := []*processtest.Process{zombie, neighbour, heir}
		if err := neighbour.Finish(); err != nil {
			t.Fatal(err)
		}
		processtest.Eventually(t, "another worker", func() bool { return len(zombie.Noted(lease.Acquired)) > 1 }, all...)
		count := zombie.Count()
		processtest.Eventually(t, "IDs after the loss", func() bool { return zombie.Count() > count+100_000 }, all...) // more than a pipe holds
		for _, p := range []*processtest.Process{zombie, heir} {
			if err := p.Finish(); err != nil {
				t.Fatal(err)
			}
		}
		checkTakeover(t, zombie, heir, mine)
		processtest.TakeCensus(all).Check(t, store)
	}
}

// checkTakeover requires a higher epoch, IDs of the heir from the zombie's last horizon on, and another worker for the
// zombie.
func checkTakeover(t *testing.T, zombie, heir *processtest.Process, mine processtest.Note) {
	t.Helper()
	horizon := mine.Horizon
	for _, n := range zombie.Noted(lease.Extended) {
		if n.Worker == mine.Worker {
			horizon = max(horizon, n.Horizon)
		}
	}
	if tick := heir.FirstTick(); tick < horizon {
		t.Errorf("the heir begins at tick %d, below the horizon %d", tick, horizon)
	}
	if n := heir.Noted(lease.Acquired)[0]; n.Epoch <= mine.Epoch {
		t.Errorf("the heir has %+v after %+v, want a higher epoch", n, mine)
	}
	if n := zombie.Noted(lease.Acquired)[1]; n.Worker == mine.Worker {
		t.Errorf("after the loss of %+v the process has %+v, want the other worker", mine, n)
	}
}
