//go:build unix

package processtest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/dbserver"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

// The clocks of a server and of its processes are ahead of the replica's, almost by the skew that they accept. The
// replica that is promoted knows nothing of two owners, which have issued IDs by those clocks: new owners get the same
// workers, and only the skew in the floor keeps them above.
func TestFailoverToAClockThatIsBehindByTheSkewRepeatsNoID(t *testing.T) {
	t.Parallel()
	for kind := range failoverDrivers {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			const skew, ahead = 3 * time.Second, 2700 * time.Millisecond
			c := startReplicated(t, kind)
			right, fast := c.place(), c.place()
			fast.Ahead = ahead
			o := Order{
				Place: fast.String(), First: 0, Last: 1, Window: time.Second, MaxSkew: skew, Pace: time.Millisecond,
				Behind: -ahead,
			}
			first := issuing(t, o)
			if err := first.Finish(); err != nil {
				t.Fatal(err)
			}

			c.awaitRows(t, "the replica has the namespace", c.replica, func(rows []leasestore.Entry) bool {
				return len(rows) == 1 && rows[0].Horizon > tickOf(first.last())
			})
			c.lag(t)
			time.Sleep(ahead) // until the horizon that the replica knows does not show that clocks were ahead

			forgotten := []*Process{issuing(t, o), issuing(t, o)}
			time.Sleep(ahead / 4)
			killAll(t, forgotten...)
			c.fail(t, ahead)

			promoted := time.Now()
			o.Place, o.Behind = right.String(), 0
			next := []*Process{MustStart(t, o), MustStart(t, o)}
			end := max(forgotten[0].last(), forgotten[1].last())
			Eventually(t, "IDs above those that were forgotten", func() bool {
				return next[0].last() > end && next[1].last() > end
			}, next...)
			t.Logf("above them %v after the failover", time.Since(promoted))
			wantNoneTwice(t, slices.Concat([]*Process{first}, forgotten, next)...)
		})
	}
}

// issuing starts a process and waits for its first ID.
func issuing(t *testing.T, o Order) *Process {
	t.Helper()
	p := MustStart(t, o)
	if err := p.AwaitID(); err != nil {
		t.Fatal(err)
	}
	return p
}

func killAll(t *testing.T, processes ...*Process) {
	t.Helper()
	for _, p := range processes {
		if err := p.Kill(); err != nil {
			t.Fatal(err)
		}
	}
}

// awaitRows waits until a server has leases that are as wanted.
func (c *replicated) awaitRows(t *testing.T, what string, on *dbserver.Server, wanted func([]leasestore.Entry) bool) {
	t.Helper()
	store, closeStore, err := place{Kind: c.kind, Driver: failoverDrivers[c.kind], DSN: dsnOf(c.kind, on)}.open()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = closeStore() }() // its server may have ended

	Eventually(t, what, func() bool {
		rows, err := store.List(t.Context(), lease.DefaultNamespace)
		return err == nil && wanted(rows)
	})
}

// endAll ends the processes that run, compares the IDs of all, and returns how many came twice.
func endAll(t *testing.T, processes ...*Process) (repeated int64) {
	t.Helper()
	for _, p := range processes {
		if p.HasEnded() {
			continue
		}
		if err := p.Finish(); err != nil {
			t.Error(err)
		}
	}

	census := TakeCensus(processes)
	repeated = census.repeated()
	t.Logf("%d of %d IDs came twice", repeated, census.IDs)
	for _, p := range processes {
		if err := errors.Join(p.ids.err, p.err); err != nil {
			t.Error(err)
		}
	}
	return repeated
}

func wantNoneTwice(t *testing.T, processes ...*Process) {
	t.Helper()
	if repeated := endAll(t, processes...); repeated > 0 {
		t.Errorf("%d IDs came twice", repeated)
	}
}

// last returns the last ID that has come.
func (p *Process) last() snowflake.ID {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ids.last
}
