//go:build unix

package processtest

import (
	"syscall"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

const pauseWindow = 250 * time.Millisecond

// stopped starts an issuer and stops it most likely long before its next extension.
func stopped(t *testing.T, o Order) *Process {
	t.Helper()
	p := MustStart(t, o)
	Eventually(t, "an ID and an extension", func() bool { return p.Count() > 0 && len(p.Noted(lease.Extended)) > 1 })
	p.Signal(t, syscall.SIGSTOP)
	return p
}

// highest returns the highest horizon that the process has had under the epoch.
func (p *Process) highest(epoch int64) (horizon int64) {
	for _, kind := range []lease.EventKind{lease.Acquired, lease.Extended} {
		for _, n := range p.Noted(kind) {
			if n.Epoch == epoch {
				horizon = max(horizon, n.Horizon)
			}
		}
	}
	return horizon
}

// takenOver returns a process that was stopped past its expiry and continued, and the process that took its worker
// meanwhile. The clock of the latter is behind, so only the horizon keeps them apart.
func takenOver(t *testing.T, o Order) (zombie, heir *Process) {
	t.Helper()
	zombie = stopped(t, o)
	heir = MustStart(t, Order{Place: o.Place, First: o.First, Last: o.Last, Window: o.Window, Behind: 2 * o.Window})
	Eventually(t, "an ID of the heir", func() bool {
		return heir.Count() > 0 && len(heir.Noted(lease.Acquired)) > 0
	}, zombie, heir)
	if len(zombie.Noted(lease.Lost)) > 0 {
		t.Fatalf("the stopped process has noticed: %s", zombie)
	}
	zombie.Signal(t, syscall.SIGCONT)
	Eventually(t, "the loss", func() bool { return len(zombie.Noted(lease.Lost)) > 0 })
	if acquired := heir.Noted(lease.Acquired)[0]; acquired.Worker != 5 || acquired.Epoch < 2 {
		t.Fatalf("the heir has %+v, want worker 5 under epoch 2 or, if a start was slow, later", acquired)
	}
	return zombie, heir
}

// checkReigns requires that the zombie's IDs lie below the horizon of its first epoch (which is not 1 if a slow start
// took the worker twice) or, if it has got the worker back, above all of the heir's, and that the heir's lie at or
// above that horizon.
func checkReigns(t *testing.T, zombie, heir *Process) {
	t.Helper()
	<-zombie.Ended
	<-heir.Ended
	if len(heir.Noted(lease.Lost)) > 0 {
		t.Log("the machine is so slow that the heir has lost the worker, too: only the set of IDs is checked")
		return
	}
	horizon := zombie.highest(zombie.Noted(lease.Acquired)[0].Epoch)
	begin := tickOf(heir.ids.spans[0].first)
	if begin < horizon {
		t.Errorf("the heir begins at tick %d, below the horizon %d", begin, horizon)
	}
	for _, s := range zombie.ids.spans {
		if tickOf(s.last) >= horizon && s.first <= heir.ids.last {
			t.Errorf("the zombie has issued %d to %d: its horizon is %d, last ID of the heir %d", s.first, s.last, horizon, heir.ids.last)
			return // and see whether one of them came twice
		}
	}
}

func TestStoppedProcessLosesItsWorkerAndWaitsForOne(t *testing.T) {
	t.Parallel()
	for range Scale(1, 10) {
		eachServer(t, func(t *testing.T, p place) { // a process that is stopped may have locked SQLite
			store := p.store(t)
			zombie, heir := takenOver(t, Order{Place: p.String(), First: 5, Last: 5, Window: pauseWindow})
			count := heir.Count()
			Eventually(t, "more IDs of the heir", func() bool {
				return heir.Count() > count+100 || len(heir.Noted(lease.Lost)) > 0 // on a slow machine it may expire, too
			}, zombie, heir)
			if err := heir.Kill(); err != nil {
				t.Fatal(err)
			}
			count = zombie.Count()
			Eventually(t, "an ID after the loss", func() bool {
				return zombie.Count() > count && len(zombie.Noted(lease.Acquired)) > 1
			}, zombie, heir)
			if err := zombie.Finish(); err != nil {
				t.Fatal(err)
			}
			checkReigns(t, zombie, heir)
			TakeCensus([]*Process{zombie, heir}).Check(t, store)
		})
	}
}
