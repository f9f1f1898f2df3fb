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
			q := issuing(t, o)
			issued := time.Now()

			if len(owners) > 0 {
				endStopped(t, owners[len(owners)-1])
			}
			owners = append(owners, q)

			start := issued.Sub(began) // at least as long as the start of the next one would take without a wait
			time.Sleep(max(start, 2*takeoverWindow))
			must(t, ends[n%len(ends)](q))

			Eventually(t, "its worker is free", func() bool {
				rows, err := store.List(t.Context(), lease.DefaultNamespace)
				return err == nil && !slices.ContainsFunc(rows, func(e leasestore.Entry) bool { return e.Held })
			})
			o.Behind += time.Since(issued)
		}

		if last := owners[len(owners)-1]; !last.HasEnded() { // nobody has taken its worker
			must(t, last.Kill())
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
	must(t, q.Kill())
}
