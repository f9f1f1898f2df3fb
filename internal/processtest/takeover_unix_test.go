//go:build unix

package processtest

import (
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
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

const takeoverWindow = 150 * time.Millisecond

// Owners of one worker follow each other. The clock of each shows at its start the time of the first ID of the one
// before, so only the horizon that it finds keeps it above what that one has issued. They are killed, give the worker
// back, or are stopped until the next one has the worker.
func TestOwnersWhoseClocksAreBehindNeverRepeatAnIDOfTheOneBefore(t *testing.T) {
	t.Parallel()
	eachPlace(t, func(t *testing.T, p place) {
		kill := func(q *Process) error { return q.Kill() }
		finish := func(q *Process) error { return q.Finish() }
		stop := func(q *Process) error { return q.cmd.Process.Signal(syscall.SIGSTOP) }
		ends := []func(*Process) error{kill, finish, stop}
		if p.Kind == "sqlite" || p.Kind == fileKind { // a process that is stopped keeps its locks
			ends = ends[:2]
		}

		store := p.store(t)
		o := Order{
			Place: p.String(), First: 5, Last: 5, Window: takeoverWindow, Pace: time.Millisecond, MaxSkew: time.Minute,
		}

		var owners []*Process
		for n := range Scale(2, 10) * len(ends) {
			began := time.Now()
			q := MustStart(t, o)
			if err := q.AwaitID(); err != nil {
				t.Fatal(err)
			}
			issued := time.Now()

			if len(owners) > 0 {
				endStopped(t, owners[len(owners)-1])
			}
			owners = append(owners, q)

			start := issued.Sub(began) // at least as long as the start of the next one would take without a wait
			time.Sleep(max(start, 2*takeoverWindow))
			if err := ends[n%len(ends)](q); err != nil {
				t.Fatal(err)
			}

			Eventually(t, "its worker is free", func() bool {
				rows, err := store.List(t.Context(), lease.DefaultNamespace)
				return err == nil && !slices.ContainsFunc(rows, func(e leasestore.Entry) bool { return e.Held })
			})
			o.Behind += time.Since(issued)
		}

		if last := owners[len(owners)-1]; !last.HasEnded() { // nobody has taken its worker
			if err := last.Kill(); err != nil {
				t.Fatal(err)
			}
		}
		census := TakeCensus(owners)
		t.Logf("%d of %d IDs came twice", census.repeated(), census.IDs)
		census.Check(t, store)
	})
}

// endStopped lets a process that was stopped go on until it knows that it has lost its worker, and kills it.
func endStopped(t *testing.T, q *Process) {
	t.Helper()
	if q.HasEnded() {
		return
	}

	q.Signal(t, syscall.SIGCONT)
	Eventually(t, "the loss", func() bool { return len(q.Noted(lease.Lost)) > 0 || q.HasEnded() }, q)
	if err := q.Kill(); err != nil {
		t.Fatal(err)
	}
}
