package lease

import (
	"context"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/internal/core"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

// The simulator makes the steps of a lease itself, in its own time.

// Stepwise returns what Open has before its first step: a lease without a goroutine.
func Stepwise(store leasestore.Store, opts ...Option) (*Lease, error) {
	l, err := prepare(store, opts)
	if err != nil {
		return nil, err
	}
	l.idle <- struct{}{}
	return l, nil
}

// Step does what is due.
func (l *Lease) Step(ctx context.Context) (wait time.Duration, err error) { return l.step(ctx) }

// GiveUp does what Open does before it returns an error.
func (l *Lease) GiveUp() { l.giveUp() }

// Lessee is the lease's side of the generator.
func (l *Lease) Lessee() *core.Lessee { return l.lessee }

// State is what the lease knows.
type State struct {
	Held    bool
	Retries int // calls in a row that the store has not answered
	Claim   leasestore.Claim
	From    int64 // the horizon that the claim started at
	Horizon int64 // below which the generator issues
	Asked   int64 // the highest horizon that was requested under the claim
}

// State returns what the lease knows.
func (l *Lease) State() State {
	s := &l.state
	return State{s.held, s.retries, s.claim, s.from, s.horizon, max(s.requested, s.horizon)}
}

// Become makes the lease, which has made no step, a copy of another one in the middle of its life, as in a cloned
// virtual machine. Its generator continues at the tick next.
func (l *Lease) Become(of *Lease, next int64) error {
	l.state, l.shared = of.state, of.shared
	l.shared.from, l.shared.horizon, l.shared.ended = 0, 0, nil
	if !l.state.held { // but it has issued IDs
		defer l.lessee.Withdraw()
		return l.lessee.Move(0, next, next)
	}
	return l.lessee.Move(l.state.claim.Worker, max(l.state.from, next), l.state.horizon)
}

// Age returns how long ago the call began that has confirmed the claim last, by the wall clock and the monotonic clock.
func (l *Lease) Age() (wall, elapsed time.Duration) {
	now, since := l.moment(), l.state.confirmedAt
	return now.wall.Sub(since.wall), now.elapsed - since.elapsed
}

// Left returns for how long the claim can't have expired, by the wall clock and by the monotonic clock of its owner.
func Left(c leasestore.Claim) (wall, elapsed time.Duration) {
	d := c.Deadline.(*deadline)
	return d.wall.Sub(d.clock.Now().Round(0)), d.elapsed - d.clock.Elapsed()
}

// Lasting returns the claim with other times, from now on, for which it can't have expired.
func Lasting(c leasestore.Claim, wall, elapsed time.Duration) leasestore.Claim {
	clock := c.Deadline.(*deadline).clock
	c.Deadline = &deadline{moment{clock.Now().Round(0).Add(wall), clock.Elapsed() + elapsed}, clock}
	return c
}
