//go:build unix

package processtest

import (
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
)

// A namespace moves to another layout, and a replica is promoted that does not know it. Its namespace has the layout
// before: a process with that one gets a worker, and those with the new one get none until the namespace has moved
// again.
func TestAMoveThatAReplicaHasMissedIsRepeatedAfterTheFailover(t *testing.T) {
	t.Parallel()
	before := snowflake.Default()
	after := snowflake.MustLayout(before.Epoch(), time.Millisecond, snowflake.Field{Name: "time", Bits: 41},
		snowflake.Field{Name: "sequence", Bits: 12}, snowflake.Field{Name: "worker", Bits: 10})
	for kind := range failoverDrivers {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			c := startReplicated(t, kind)
			p := c.place()
			o := Order{
				Place: p.String(), Last: 15, Window: time.Second, MaxSkew: time.Second, Pace: time.Millisecond,
				Layout: before.String(),
			}

			ended, killed := issuing(t, o), issuing(t, o)
			stopped := stopped(t, o)
			must(t, errors.Join(ended.Finish(), killed.Kill()))
			c.awaitRows(t, "the replica has the leases", c.replica, func(rows []leasestore.Entry) bool { return len(rows) == 3 })
			c.lag(t)

			awaitMove(t, p, after)
			o.Layout = after.String()
			moved := []*Process{issuing(t, o), issuing(t, o)}
			refused := []*Process{wantRefused(t, o, before)}
			c.fail(t, 0)

			for _, q := range moved {
				Eventually(t, "the loss of a worker that the replica does not know", func() bool {
					return len(q.Noted(lease.Lost)) > 0
				}, q)
			}
			refused = append(refused, wantRefused(t, o, after))

			stopped.Signal(t, syscall.SIGCONT)
			count := stopped.Count()
			Eventually(t, "more IDs of the layout before", func() bool {
				return len(stopped.Noted(lease.Acquired)) > 1 && stopped.Count() > count+1000
			}, stopped)

			for _, q := range moved {
				if acquired := len(q.Noted(lease.Acquired)); acquired != 1 {
					t.Errorf("a process of the new layout has had %d workers before the second move, want 1", acquired)
				}
			}

			var held *sqllease.HeldError
			if err := move(t, p, after); !errors.As(err, &held) {
				t.Errorf("a move while a process of the layout before runs: %v, want a *HeldError", err)
			}
			must(t, stopped.Finish())

			old := []*Process{ended, killed, stopped}
			highest := snowflake.ID(0)
			for _, q := range slices.Concat(old, moved) {
				highest = max(highest, q.last())
			}

			awaitMove(t, p, after)
			next := issuing(t, o)
			refused = append(refused, wantRefused(t, o, before))
			for _, q := range moved {
				Eventually(t, "IDs of a process that went on", func() bool { return q.last() > highest }, q)
			}

			wantNoneTwice(t, slices.Concat(old, moved, []*Process{next}, refused)...)
			if lowest := next.ids.spans[0].first; lowest <= highest {
				t.Errorf("after the second move ID %d is not above %d", lowest, highest)
			}
		})
	}
}

// stopped starts an issuer and stops it most likely long before its next extension.
func stopped(t *testing.T, o Order) *Process {
	t.Helper()
	p := MustStart(t, o)
	Eventually(t, "an ID and an extension", func() bool { return p.Count() > 0 && len(p.Noted(lease.Extended)) > 1 })
	p.Signal(t, syscall.SIGSTOP)
	return p
}

// move moves the default namespace.
func move(t *testing.T, p place, to snowflake.Layout) error {
	t.Helper()
	store, closeStore, err := p.open()
	must(t, err)
	defer func() { _ = closeStore() }()
	_, err = store.(*sqllease.Store).Move(t.Context(), lease.DefaultNamespace, to)
	return err
}

// awaitMove moves the default namespace as soon as no worker is held.
func awaitMove(t *testing.T, p place, to snowflake.Layout) {
	t.Helper()
	Eventually(t, "the move, when all leases have ended", func() bool {
		err := move(t, p, to)
		var held *sqllease.HeldError
		if err != nil && !errors.As(err, &held) {
			t.Fatal(err)
		}
		return err == nil
	})
}

// wantRefused starts a process with the layout, which gets no worker.
func wantRefused(t *testing.T, o Order, layout snowflake.Layout) *Process {
	t.Helper()
	o.Layout = layout.String()
	p := MustStart(t, o)
	Eventually(t, "a refusal", p.HasEnded, p)
	if notes := p.Noted(Refused); len(notes) != 1 || !strings.Contains(notes[0].Err, lease.ErrLayout.Error()) {
		t.Errorf("a process of another layout: %s", p)
	}
	return p
}
