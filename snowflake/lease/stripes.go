package lease

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/sqlflake/sqlflake/snowflake"
)

// Stripes holds several workers in one process, for a rate above that of one:
// each has its own generator, and calls are spread over them. IDs are unique as
// ever, but only those of one stripe are in order: two calls one after the other
// may get IDs of the same time in either order, ahead of each other by the lead.
// Its methods are safe for concurrent use.
type Stripes struct{ leases []*Lease }

// OpenStripes takes n workers, at least 1, with the options of Open, whose errors
// it returns. It takes all or none.
func OpenStripes(ctx context.Context, store Store, n int, opts ...Option) (*Stripes, error) {
	if n < 1 {
		return nil, fmt.Errorf("%w: %d stripes, want at least 1", ErrOption, n)
	}
	s := &Stripes{}
	for range n {
		l, err := Open(ctx, store, opts...)
		if err != nil {
			closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveUpTimeout)
			defer cancel()
			return nil, errors.Join(err, s.Close(closing))
		}
		s.leases = append(s.leases, l)
		if first, last := l.cfg.first, l.cfg.last; int64(n) > last-first+1 {
			closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveUpTimeout)
			defer cancel()
			return nil, errors.Join(fmt.Errorf("%w: %d stripes of the workers %d to %d", ErrOption, n, first, last), s.Close(closing))
		}
	}
	return s, nil
}

// Next returns the next ID of any stripe; see snowflake.Generator.Next.
func (s *Stripes) Next() (snowflake.ID, error) { return s.pick().Next() }

// NextContext returns the next ID of any stripe; see
// snowflake.Generator.NextContext.
func (s *Stripes) NextContext(ctx context.Context) (snowflake.ID, error) {
	return s.pick().NextContext(ctx)
}

// Fill draws the whole batch from one stripe, so that it is in order; see
// snowflake.Generator.Fill.
func (s *Stripes) Fill(ctx context.Context, dst []snowflake.ID) error { return s.pick().Fill(ctx, dst) }

// Leases returns the leases of the stripes, in a new slice.
func (s *Stripes) Leases() []*Lease { return append([]*Lease(nil), s.leases...) }

// Close gives all workers back; see Lease.Close.
func (s *Stripes) Close(ctx context.Context) error {
	var errs []error
	for _, l := range s.leases {
		errs = append(errs, l.Close(ctx))
	}
	return errors.Join(errs...)
}

// pick spreads by chance: a counter that all callers share would cost as much as
// the generator itself.
func (s *Stripes) pick() *snowflake.Generator {
	return s.leases[rand.IntN(len(s.leases))].Generator()
}
