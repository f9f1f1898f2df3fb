package speed

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/peers/internal/bench"
	"github.com/sqlflake/sqlflake/internal/tempdir"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/filelease"
)

// Generators without a ceiling have 1,048,576 IDs a millisecond.
const wideBits = 20

// wide is a layout without a ceiling, and 4 workers.
func wide() snowflake.Layout {
	return snowflake.MustLayout(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), time.Millisecond,
		snowflake.Field{Name: snowflake.FieldTime, Bits: 41}, snowflake.Field{Name: "worker", Bits: 22 - wideBits},
		snowflake.Field{Name: snowflake.FieldSequence, Bits: wideBits})
}

// widest is a layout for batches, which would reach the rate of the other.
func widest() snowflake.Layout {
	return snowflake.MustLayout(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), time.Millisecond,
		snowflake.Field{Name: snowflake.FieldTime, Bits: 39}, snowflake.Field{Name: snowflake.FieldSequence, Bits: 24})
}

// ours are generators of this module, without a ceiling.
type ours struct {
	plain, random, batches, clock, catching, leased *snowflake.Generator
	close                                           func() error
}

// open opens all generators.
func open(ctx context.Context) (ours, error) {
	o, err := unleased()
	if err != nil {
		return o, err
	}
	return o, o.lease(ctx)
}

// unleased opens the generators that have a worker of their own and no lease.
func unleased() (o ours, err error) {
	in := snowflake.WithLayout(wide())
	exact, late := bench.NewClock(0), bench.NewClock(0)
	var faults [5]error
	o.plain, faults[0] = snowflake.New(0, in)
	o.random, faults[1] = snowflake.New(1, in, snowflake.WithRandomStart())
	o.clock, faults[2] = snowflake.New(2, in, snowflake.WithClock(exact))
	o.catching, faults[3] = snowflake.New(2, in, snowflake.WithClock(late))
	o.batches, faults[4] = snowflake.New(0, snowflake.WithLayout(widest()))
	if err := errors.Join(faults[:]...); err != nil {
		return o, err
	}
	// The clock is set back by 5 s, and 2 s later a call notices it. The generator catches up in 1,000 s.
	late.Ahead.Store(int64(2 * time.Second))
	late.Back.Store(int64(5 * time.Second))
	if _, err := o.catching.Next(); err != nil {
		return o, err
	}
	if o.catching.Stats().Drift >= 0 {
		return o, errors.New("the generator has not noticed that its clock was set back")
	}
	return o, nil
}

// lease leases the last worker in a temporary folder.
func (o *ours) lease(ctx context.Context) error {
	folder, err := tempdir.New("", tempdir.Files)
	if err != nil {
		return err
	}
	o.close = folder.Remove
	store, err := filelease.New(folder.Path)
	if err != nil {
		return err
	}
	held, err := lease.Open(ctx, store, lease.WithWorkers(3, 3), lease.WithLogger(slog.New(slog.DiscardHandler)),
		lease.WithGenerator(snowflake.WithLayout(wide())))
	if err != nil {
		return errors.Join(err, store.Close())
	}
	o.leased = held.Generator()
	o.close = func() error {
		return errors.Join(held.Close(context.WithoutCancel(ctx)), store.Close(), folder.Remove())
	}
	return nil
}
