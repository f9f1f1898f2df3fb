//go:build unix

package redislease_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// TestStoppedProcessLosesItsWorkerAndGoesOnUnderAnother: of two workers one is
// taken over while its owner is stopped; the other one becomes free only after
// the owner has noticed.
func TestStoppedProcessLosesItsWorkerAndGoesOnUnderAnother(t *testing.T) {
	t.Parallel()
	for range scale(1, 10) {
		addr, prefix := testdb.Redis(t)
		o := order{Addr: addr, Prefix: prefix, First: 5, Last: 6, Window: 300 * time.Millisecond}
		zombie := mustStart(t, o)
		eventually(t, "the first ID", func() bool { return zombie.count() > 0 && len(zombie.noted(lease.Acquired)) > 0 }, zombie)
		mine := zombie.noted(lease.Acquired)[0]
		other := o.First + o.Last - mine.Worker
		o.First, o.Last = other, other
		neighbour := mustStart(t, o)
		eventually(t, "an ID of the neighbour", func() bool { return neighbour.count() > 0 }, neighbour)

		signal(t, zombie, syscall.SIGSTOP)
		o.First, o.Last = mine.Worker, mine.Worker
		heir := mustStart(t, o)
		eventually(t, "an ID of the heir", func() bool { return heir.count() > 0 && len(heir.noted(lease.Acquired)) > 0 }, zombie, heir)
		if len(zombie.noted(lease.Lost)) > 0 {
			t.Fatalf("the process has lost its worker without the stop: %s", zombie)
		}
		signal(t, zombie, syscall.SIGCONT)
		eventually(t, "the loss", func() bool { return len(zombie.noted(lease.Lost)) > 0 }, zombie)

		all := []*process{zombie, neighbour, heir}
		if err := neighbour.finish(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "another worker", func() bool { return len(zombie.noted(lease.Acquired)) > 1 }, all...)
		count := zombie.count()
		eventually(t, "IDs after the loss", func() bool { return zombie.count() > count+100_000 }, all...) // more than a pipe holds
		for _, p := range []*process{zombie, heir} {
			if err := p.finish(); err != nil {
				t.Fatal(err)
			}
		}
		checkTakeover(t, zombie, heir, mine)
		takeCensus(all).check(t, addr, prefix)
	}
}

func signal(t *testing.T, p *process, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// checkTakeover requires a higher epoch, IDs of the heir from the zombie's last
// horizon on, and another worker for the zombie.
func checkTakeover(t *testing.T, zombie, heir *process, mine note) {
	t.Helper()
	if len(heir.noted(lease.Lost)) > 0 {
		t.Log("the machine is so slow that the heir has lost the worker, too: only the set of IDs is checked")
		return
	}
	horizon := mine.Horizon
	for _, n := range zombie.noted(lease.Extended) {
		if n.Worker == mine.Worker {
			horizon = max(horizon, n.Horizon)
		}
	}
	if tick := tickOf(heir.ids.spans[0].first); tick < horizon {
		t.Errorf("the heir begins at tick %d, below the horizon %d", tick, horizon)
	}
	if n := heir.noted(lease.Acquired)[0]; n.Epoch <= mine.Epoch {
		t.Errorf("the heir has %+v after %+v, want a higher epoch", n, mine)
	}
	if n := zombie.noted(lease.Acquired)[1]; n.Worker == mine.Worker {
		t.Errorf("after the loss of %+v the process has %+v, want the other worker", mine, n)
	}
}
