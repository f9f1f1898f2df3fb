//go:build unix && !race

package enginetest

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/processtest"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// disturb kills issuers with kill -9, and the leader, at the same time. One issuer outlives all changes of the leader.
func disturb(t *testing.T, e engine) {
	p := e.newPlace(t)
	processtest.KilledProcesses(t, p.String(), p.store(t), func(o processtest.Order) []*processtest.Process {
		o.First, o.Last, o.Window = 4, 4, 500*time.Millisecond
		steady := processtest.MustStart(t, o)
		for range processtest.Scale(2, 12) {
			e.killLeader(t, p)
			count, extended := steady.Count(), len(steady.Noted(lease.Extended))
			processtest.Eventually(t, "more IDs and extensions after a change of the leader", func() bool {
				return steady.HasEnded() || steady.Count() > count+100 && len(steady.Noted(lease.Extended)) > extended
			}, steady)
		}
		if err := steady.Finish(); err != nil {
			t.Error(err)
		}
		return []*processtest.Process{steady}
	})
}

// killLeader kills the leader and starts it again when another one leads.
func (e engine) killLeader(t *testing.T, p place) {
	t.Helper()
	var before *member
	for {
		var leader *member
		eventually(t, "a leader", func() (err error) {
			ctx, cancel := context.WithTimeout(t.Context(), 3*callPatience) // for three members
			defer cancel()
			if leader, err = e.leader(ctx, p); leader == before && err == nil {
				return errors.New("it is the same")
			}
			return err
		})
		if before != nil {
			before.start(t)
			return
		}
		before = leader
		before.kill()
	}
}

// loseQuorum stops two of three members: calls fail within their context, and issue nothing. Then it continues both,
// since a server that has lost its routes may not elect a leader while one of the three members hangs.
func loseQuorum(t *testing.T, e engine) {
	p := e.newPlace(t)
	store := p.store(t)
	claim := acquire(t, store).Claim
	for _, m := range e.cluster[1:] {
		m.signal(t, syscall.SIGSTOP)
	}
	for name, err := range callAll(t.Context(), 300*time.Millisecond, store, claim) {
		if name != "List" && !errors.Is(err, context.DeadlineExceeded) { // a list changes nothing
			t.Errorf("%s: error %v, want context.DeadlineExceeded", name, err)
		}
	}
	for _, m := range e.cluster[1:] {
		m.signal(t, syscall.SIGCONT)
	}
	eventually(t, "an extension after the members continue", func() error {
		ctx, cancel := context.WithTimeout(t.Context(), callPatience)
		defer cancel()
		_, err := store.Extend(ctx, claim, 99, time.Hour)
		return err
	})
}
