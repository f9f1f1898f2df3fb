package leasetest

import (
	"context"
	"math"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// releasesTo leaves another horizon than the one that was asked for.
type releasesTo struct {
	*memory
	horizon func(was, asked int64) int64
}

func (s releasesTo) Release(ctx context.Context, c lease.Claim, h int64) error {
	err := s.memory.Release(ctx, c, math.MaxInt64)
	if err == nil {
		s.rowsOf(c.Namespace, func(worker int64, r *row) {
			if worker == c.Worker {
				r.horizon = s.horizon(r.horizon, h)
			}
		})
	}
	return err
}

type releaseIgnoresEpoch struct{ *memory }

func (s releaseIgnoresEpoch) Release(ctx context.Context, c lease.Claim, h int64) error {
	c.Epoch = s.owner(c).Epoch
	return s.memory.Release(ctx, c, h)
}

type releaseForgetsNext struct{ *memory }

func (s releaseForgetsNext) Release(ctx context.Context, c lease.Claim, h int64) error {
	c.Next = ""
	return s.memory.Release(ctx, c, h)
}
