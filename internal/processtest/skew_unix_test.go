//go:build unix

package processtest

import (
	"slices"
	"syscall"
	"testing"
	"time"

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

			c.awaitReplica(t, "the namespace", func(rows []leasestore.Entry) bool {
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

// A virtual machine is paused, and its clocks with it, for less than the skew that it accepts. Its lease expires,
// another process gets the worker, and a replica is promoted that does not know it. By its clocks the first one has
// just extended its lease.
func TestAnOwnerThatWasPausedDoesNotCountOnItsLeaseAfterAFailover(t *testing.T) {
	t.Parallel()
	for kind := range failoverDrivers {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			c := startReplicated(t, kind)
			p := c.place()
			o := Order{
				Place: p.String(), First: 0, Last: 0, Window: 800 * time.Millisecond, MaxSkew: 5 * time.Second,
				Pace: time.Millisecond, Pauses: true,
			}
			paused := stopped(t, o)
			primary, closePrimary, err := p.open()
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = closePrimary() }() // its server has ended

			c.awaitReplica(t, "its last extension", func(rows []leasestore.Entry) bool {
				row := Entries(t, primary)[0]
				return len(rows) == 1 && rows[0].Horizon == row.Horizon && rows[0].Expires.Equal(row.Expires)
			})
			c.lag(t)

			o.Pauses = false
			heir := issuing(t, o) // after the expiry
			time.Sleep(o.Window / 2)
			killAll(t, heir)
			c.fail(t, 0)

			paused.Signal(t, syscall.SIGCONT)
			Eventually(t, "the loss, or IDs above those of the heir", func() bool {
				return len(paused.Noted(lease.Lost)) > 0 || paused.last() > heir.last()
			}, paused)
			wantNoneTwice(t, paused, heir)
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

// awaitReplica waits until the replica has leases that are as wanted.
func (c *replicated) awaitReplica(t *testing.T, what string, wanted func([]leasestore.Entry) bool) {
	t.Helper()
	replica := place{Kind: c.kind, Driver: failoverDrivers[c.kind], DSN: dsnOf(c.kind, c.replica)}
	follower, closeFollower, err := replica.open()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = closeFollower() }()

	Eventually(t, "the replica has "+what, func() bool {
		rows, err := follower.List(t.Context(), lease.DefaultNamespace)
		return err == nil && wanted(rows)
	})
}

// wantNoneTwice ends the processes that run, and compares the IDs of all.
func wantNoneTwice(t *testing.T, processes ...*Process) {
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
	repeated := census.repeated()
	t.Logf("%d of %d IDs came twice", repeated, census.IDs)
	if repeated > 0 {
		t.Errorf("%d IDs came twice", repeated)
	}
	for _, p := range processes {
		if p.ids.err != nil || p.err != nil {
			t.Error(p.ids.err, p.err)
		}
	}
}

// last returns the last ID that has come.
func (p *Process) last() snowflake.ID {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ids.last
}
