package lease

import (
	"context"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

// Stepwise is a Lease without a goroutine: a test makes its steps, in a time of
// its own.
type Stepwise struct{ *Lease }

// NewStepwise returns what Open has before its first step.
func NewStepwise(store Store, opts ...Option) (Stepwise, error) {
	l, err := prepare(store, opts)
	if err != nil {
		return Stepwise{}, err
	}
	l.stop, l.done = func() {}, make(chan struct{})
	close(l.done)
	return Stepwise{l}, nil
}

// Step does what is due and returns how long to wait before the next step.
func (s Stepwise) Step(ctx context.Context) (time.Duration, error) { return s.step(ctx) }

// GiveUp does what Open does before it returns an error.
func (s Stepwise) GiveUp() { s.giveUp() }

// Fail does what the goroutine does on an error.
func (s Stepwise) Fail(err error) { s.lessee.Fail(err) }

// Holds reports whether a worker is held, as far as the lease knows.
func (s Stepwise) Holds() bool { return s.held }

// Claim returns what the lease has acquired, and the tick that it started at.
func (s Stepwise) Claim() (claim Claim, from int64) { return s.claim, s.from }

// Retries returns how many calls the store has not answered in a row.
func (s Stepwise) Retries() int { return s.retries }

// Wanted is that of the lessee.
func (s Stepwise) Wanted() <-chan struct{} { return s.lessee.Wanted() }

// Lessee returns the generator's side.
func (s Stepwise) Lessee() *snowflake.Lessee { return s.lessee }
