package snowflake

import (
	"fmt"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/internal/core"
)

// MaxBackfillDelay is by how much the time of a [Backfill]'s ID may be after its row's, in whole ticks: rows of one
// time may use up the sequences of this hour, 14 billion with the Default layout.
const MaxBackfillDelay = time.Hour

// Backfill makes IDs for rows that are older than their keys, from the times at which they were created. Its worker
// must be one that no generator ever had or will have, see lease.Lease.Reserve. Create one with NewBackfill; the zero
// Backfill returns errors only. It is not safe for concurrent use.
//
// A row gets the first unused sequence of its tick or, if all are used up, of a later one. So a second run over the
// same rows makes the same IDs, and so does any other Backfill of the worker. Read the rows in ascending order of
// (time, unique column), such as the old key, so that rows of one time have an order.
//
// The layout's epoch must be before the oldest row; the epoch of Default is in 2025. Rows from before, with a zero time
// or without one need another time, in the query and in its ORDER BY, such as GREATEST(COALESCE(created_at,
// '2015-01-01'), '2015-01-01') for an epoch at the start of 2015. A reader that follows the table by its key, as with
// package settled, does not see rows whose IDs are behind it.
type Backfill struct {
	layout Layout
	worker int64
	fixed  int64      // the bits of all fields other than time and sequence
	limit  core.Ticks // first tick without IDs
	tick   core.Ticks // of the last row's time

	// slot is the last ID: its tick and, below it, how many IDs of the tick came before. No row has 0, since the ID 0
	// means none.
	slot uint64
}

// NewBackfill returns a Backfill for the worker. It takes the options of New. All IDs are older than the clock, which
// is read only here, by MaxLead. WithLead has no effect: a generator that gets the worker later, if it was not
// reserved, may be on a machine whose clock is behind.
//
// It returns the errors of New, and ErrOption for WithRandomStart and for a layout without a field for the worker,
// whose IDs could be equal to a generator's.
func NewBackfill(worker int64, opts ...Option) (*Backfill, error) {
	g, cfg, err := build(opts)
	if err != nil {
		return nil, err
	}

	l, now := g.layout, time.Now()

	switch {
	case cfg.Random != nil:
		return nil, fmt.Errorf("%w: WithRandomStart for a Backfill, which makes the same IDs in each run", ErrOption)
	case l.WorkerField() == "":
		return nil, fmt.Errorf("%w: a Backfill needs a worker, for which %q has no field", ErrOption, l)
	case cfg.Clock != nil:
		now = cfg.Clock.Now()
	}

	if err := l.space.Worker.Check(l.workerLabel(), worker); err != nil {
		return nil, err
	}

	limit, err := l.space.TickOf(now.Add(-MaxLead))
	if err != nil {
		return nil, err
	}
	return &Backfill{layout: l, worker: worker, fixed: g.core.Fixed | l.space.Worker.Put(worker), limit: limit}, nil
}

// Next returns the ID of the next row, which was created at t. IDs ascend by time and sequence, and so as numbers
// unless the layout has the sequence above a part of the time. With the sequence above all of it, as in [Scattered],
// each tick begins at a sequence that depends on the tick and continues at 0 after the last, so that the rows of quiet
// ticks are spread.
//
// It returns ErrBeforeEpoch or ErrTimeExhausted for a time outside the layout, including the zero Time; ErrUnsorted for
// a tick before the last row's; ErrNotPast if the ID would be too young; and ErrCrowded if it would be later than t by
// more than MaxBackfillDelay. An error leaves the Backfill unchanged.
func (b *Backfill) Next(t time.Time) (ID, error) {
	tick, err := b.layout.space.TickOf(t)
	if err == nil && tick < b.tick {
		err = fmt.Errorf("%w: %s comes after %s", ErrUnsorted, t.UTC().Format(time.RFC3339Nano), b.start(b.tick))
	}
	if err == nil {
		err = b.take(max(b.slot+1, b.first(tick)), tick, t)
	}

	if err != nil {
		return 0, err
	}
	return b.id(b.slot), nil
}

// Resume continues an interrupted run, with the IDs that it would have made: id is the key of the last stored row,
// which was created at t. It returns the errors of Next, ErrUnsorted if id is before the last one as well, and
// ErrInvalidID if no run can have made id for a row of this time. An error leaves the Backfill unchanged.
func (b *Backfill) Resume(id ID, t time.Time) error {
	space := b.layout.space
	tick, err := space.TickOf(t)
	if err != nil {
		return err
	}

	at := space.Time.Get(int64(id))
	count := (space.Sequence.Get(int64(id)) - space.FirstSequence(at, b.worker)) & space.Sequence.Max()
	slot := b.first(at) | uint64(count)
	if b.id(slot) != id || slot < max(1, b.first(tick)) {
		return fmt.Errorf("%w: %d is not of this Backfill, whose first ID of %s is %d", ErrInvalidID,
			id, b.start(tick), b.id(max(1, b.first(tick))))
	}

	if slot < b.slot || tick < b.tick { // the next IDs would be those that it has made since
		return fmt.Errorf("%w: %d of %s comes before %d of %s", ErrUnsorted,
			id, b.start(tick), b.id(b.slot), b.start(b.tick))
	}
	return b.take(slot, tick, t)
}

// first returns the first slot of a tick.
func (b *Backfill) first(tick core.Ticks) uint64 {
	return uint64(tick) << b.layout.space.Sequence.Width
}

func (b *Backfill) id(slot uint64) ID {
	s := b.layout.space

	tick := core.Ticks(slot >> s.Sequence.Width)
	sequence := (s.FirstSequence(tick, b.worker) + int64(slot)) & s.Sequence.Max()
	return ID(b.fixed | s.Time.Put(tick) | s.Sequence.Put(sequence))
}

func (b *Backfill) start(tick core.Ticks) string {
	return b.layout.Start(int64(tick)).Format(time.RFC3339Nano)
}

// take gives the slot to a row of the tick, unless a limit forbids that.
func (b *Backfill) take(slot uint64, tick core.Ticks, t time.Time) error {
	switch at := core.Ticks(slot >> b.layout.space.Sequence.Width); {
	case at >= b.limit:
		return fmt.Errorf("%w: the ID of %s would be of %s, want one before %s", ErrNotPast,
			t.UTC().Format(time.RFC3339Nano), b.start(at), b.start(b.limit))
	case at-tick > core.Ticks(MaxBackfillDelay/b.layout.Tick()):
		return fmt.Errorf("%w: the rows up to %s need %d IDs from that time on, more than there are in %v", ErrCrowded,
			t.UTC().Format(time.RFC3339Nano), slot-b.first(tick)+1, MaxBackfillDelay)
	}

	b.tick, b.slot = tick, slot
	return nil
}
