//go:build unix

package processtest_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

const pauseWindow = 250 * time.Millisecond

func signal(t *testing.T, p *process, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// stopped starts an issuer and stops it right after an extension, so that it
// holds no lock of the database (SQLite's would keep all others out), and has
// IDs left.
func stopped(t *testing.T, o order) *process {
	t.Helper()
	p := mustStart(t, o)
	eventually(t, "the first ID", func() bool { return p.count() > 0 })
	before := len(p.noted(string(lease.Extended)))
	eventually(t, "an extension", func() bool { return len(p.noted(string(lease.Extended))) > before })
	signal(t, p, syscall.SIGSTOP)
	return p
}

// highest returns the highest horizon that the process has had under the epoch.
func (p *process) highest(epoch int64) (horizon int64) {
	for _, kind := range []lease.EventKind{lease.Acquired, lease.Extended} {
		for _, n := range p.noted(string(kind)) {
			if n.Epoch == epoch {
				horizon = max(horizon, n.Horizon)
			}
		}
	}
	return horizon
}

// takenOver returns a process that was stopped past its expiry and goes on, and
// the one that has taken its worker meanwhile.
func takenOver(t *testing.T, o order) (zombie, heir *process) {
	t.Helper()
	zombie = stopped(t, o)
	heir = mustStart(t, order{Place: o.Place, First: o.First, Last: o.Last, Window: o.Window})
	eventually(t, "an ID of the heir", func() bool {
		return heir.count() > 0 && len(heir.noted(string(lease.Acquired))) > 0
	}, zombie, heir)
	if len(zombie.noted(string(lease.Lost))) > 0 {
		t.Fatalf("the stopped process has noticed: %s", zombie)
	}
	signal(t, zombie, syscall.SIGCONT)
	eventually(t, "the loss", func() bool { return len(zombie.noted(string(lease.Lost))) > 0 })
	if acquired := heir.noted(string(lease.Acquired))[0]; acquired.Worker != 5 || acquired.Epoch < 2 {
		t.Fatalf("the heir has %+v, want worker 5 under epoch 2 or, if a start was slow, later", acquired)
	}
	return zombie, heir
}

// checkReigns requires that the zombie's IDs lie below the horizon of its first
// epoch (which is not 1 if a slow start took the worker twice) or, if it has got
// the worker back, above all of the heir's, and that the heir's lie at or above
// that horizon. A zombie that was killed may not have told of its last horizon:
// its IDs have to lie below where the heir begins.
func checkReigns(t *testing.T, zombie, heir *process, killed bool) {
	t.Helper()
	<-zombie.ended
	<-heir.ended
	if len(heir.noted(string(lease.Lost))) > 0 {
		t.Log("the machine is so slow that the heir has lost the worker, too: only the set of IDs is checked")
		return
	}
	horizon := zombie.highest(zombie.noted(string(lease.Acquired))[0].Epoch)
	begin := tickOf(heir.ids.spans[0].first)
	if begin < horizon {
		t.Errorf("the heir begins at tick %d, below the horizon %d", begin, horizon)
	}
	limit := horizon
	if killed {
		limit = begin
	}
	for _, s := range zombie.ids.spans {
		if tickOf(s.last) >= limit && s.first <= heir.ids.last {
			t.Errorf("the zombie has issued %d to %d: its limit is tick %d, last ID of the heir %d", s.first, s.last, limit, heir.ids.last)
			return // and see whether one of them came twice
		}
	}
}

func TestStoppedProcessLosesItsWorkerAndWaitsForOne(t *testing.T) {
	t.Parallel()
	for range scale(1, 10) {
		eachDatabase(t, func(t *testing.T, p place) {
			store := p.store(t)
			zombie, heir := takenOver(t, order{Place: p, First: 5, Last: 5, Window: pauseWindow})
			count := heir.count()
			eventually(t, "more IDs of the heir", func() bool { return heir.count() > count+100 })
			if err := heir.kill(); err != nil {
				t.Fatal(err)
			}
			count = zombie.count()
			eventually(t, "an ID after the loss", func() bool {
				return zombie.count() > count && len(zombie.noted(string(lease.Acquired))) > 1
			}, zombie, heir)
			if err := zombie.finish(); err != nil {
				t.Fatal(err)
			}
			checkReigns(t, zombie, heir, false)
			takeCensus([]*process{zombie, heir}).check(t, entries(t, store))
		})
	}
}

func TestStoppedProcessWithStopOnLossEndsWithErrLost(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, p place) {
		o := order{Place: p, First: 5, Last: 5, Window: pauseWindow, StopOnLoss: true}
		store := p.store(t)
		zombie, heir := takenOver(t, o)
		eventually(t, "the end of the zombie", zombie.hasEnded, zombie)
		refused := zombie.noted(noteRefuse)
		if code := zombie.cmd.ProcessState.ExitCode(); code != exitRefused || len(refused) != 1 || !refused[0].Lost {
			t.Errorf("exit code %d after %+v, want %d after ErrLost", code, refused, exitRefused)
		}
		if err := heir.finish(); err != nil {
			t.Fatal(err)
		}
		checkReigns(t, zombie, heir, false)
		takeCensus([]*process{zombie, heir}).check(t, entries(t, store))
	})
}

// TestStoppedProcessKeepsItsFile: the lock of a file ends with its process, not
// with its time.
func TestStoppedProcessKeepsItsFile(t *testing.T) {
	t.Parallel()
	o := order{Place: place{Kind: fileKind, DSN: t.TempDir()}, First: 5, Last: 5, Window: pauseWindow}
	first := stopped(t, o)
	second := mustStart(t, o)
	eventually(t, "a refusal", func() bool { return len(second.noted(string(lease.Failed))) > 0 }) // it is told once
	time.Sleep(4 * pauseWindow)                                                                    // and tried again, past every expiry
	count := first.count()
	signal(t, first, syscall.SIGCONT)
	eventually(t, "IDs as if nothing had been", func() bool { return first.count() > count+100 })
	if n := second.count(); n > 0 {
		t.Errorf("the second process has issued %d IDs", n)
	}
	signal(t, first, syscall.SIGSTOP)
	if err := first.kill(); err != nil { // also what is stopped can be killed
		t.Fatal(err)
	}
	eventually(t, "a takeover", func() bool { return second.count() > 0 })
	if err := second.finish(); err != nil {
		t.Fatal(err)
	}
	if lost := first.noted(string(lease.Lost)); len(lost) > 0 {
		t.Errorf("the first process has lost its worker: %+v", lost)
	}
	checkReigns(t, first, second, true)
	takeCensus([]*process{first, second}).check(t, entries(t, o.Place.store(t)))
}
