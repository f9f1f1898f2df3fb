package snowflake

import (
	"context"
	"errors"
	"fmt"
)

// Fill sets every element of dst to an ID of its own, in the order of their time
// and sequence, which is ascending (see Generator), with one step of the
// generator for the whole slice: 0.4 ns an ID rather than 37. Slices that are
// longer than what a burst may hold (45,056 IDs on the Default layout) are drawn
// in several steps, between which other callers come in.
//
// Errors are those of NextContext, and ErrEmptyFill for a slice without
// elements. On an error dst is as it was: a batch is filled or not.
func (g *Generator) Fill(ctx context.Context, dst []ID) error {
	if g.current() == nil {
		return ErrNoGenerator
	}
	if len(dst) == 0 {
		return fmt.Errorf("%w: Fill of a slice of length 0 (capacity %d)", ErrEmptyFill, cap(dst))
	}
	step := g.span + 1
	if uint64(len(dst)) <= step {
		c, first, err := g.draw(ctx, uint64(len(dst)))
		if err != nil {
			return err
		}
		g.write(dst, c, first)
		return nil
	}
	if err := g.checkAll(ctx, uint64(len(dst))); err != nil {
		return err
	}
	// Nothing is written before everything is there.
	type run struct {
		core  *core
		first uint64
	}
	runs := make([]run, 0, uint64(len(dst))/step+1)
	for left := uint64(len(dst)); left > 0; left -= min(left, step) {
		c, first, err := g.draw(ctx, min(left, step))
		if err != nil {
			g.current().abandoned.Add(uint64(len(dst)) - left) // the runs before, long due
			return err
		}
		runs = append(runs, run{c, first})
	}
	for _, r := range runs {
		n := min(uint64(len(dst)), step)
		g.write(dst[:n], r.core, r.first)
		dst = dst[n:]
	}
	return nil
}

// checkAll refuses a batch of several steps before any of them, if its last ID
// would be beyond the end or due after the deadline of ctx even with nobody else
// around.
func (g *Generator) checkAll(ctx context.Context, count uint64) error {
	c := g.current()
	if ctx.Err() != nil {
		return waitError(ctx)
	}
	now, err := c.read()
	if err != nil {
		return err
	}
	state := c.state.Load()
	if state == frozen { // until the lease has a worker
		return nil
	}
	next := max(state+1, c.floor(now)) + count - 1
	if next > c.last {
		return c.exhausted(c.layout.start(next >> c.bits))
	}
	return g.checkDeadline(ctx, c, now, next)
}

// write sets dst to the IDs of the states of c from first on.
func (g *Generator) write(dst []ID, c *core, first uint64) {
	step := ID(1) << (g.seqShift & 63)
	for len(dst) > 0 {
		inTick := c.mask - first&c.mask + 1
		n := min(uint64(len(dst)), inTick)
		id := g.compose(c, first)
		run := dst[:n]
		for i := range run {
			run[i] = id
			id += step
		}
		dst = dst[n:]
		first += n
	}
}

// errBeyond is returned by take when the state is beyond the limit but not
// beyond the layout's end: a lease has to be extended, or another worker has taken
// the place of this one.
var errBeyond = errors.New("snowflake: beyond the horizon")

// draw takes count states from the current core, once they are below its limit.
func (g *Generator) draw(ctx context.Context, count uint64) (*core, uint64, error) {
	for {
		c := g.current()
		if c == nil {
			return nil, 0, ErrNoGenerator
		}
		if ctx.Err() != nil {
			return nil, 0, waitError(ctx)
		}
		now, err := c.read()
		if err != nil {
			return nil, 0, err
		}
		first, err := g.take(ctx, c, now, count)
		if err == errBeyond { //nolint:errorlint // never wrapped
			if err := g.lessee.await(ctx, c, first+count-1); err != nil {
				return nil, 0, err
			}
			continue
		}
		return c, first, err
	}
}

// take moves the state up by count, waits until the last of it is due, and
// returns the first. count is at most span+1. On an error nothing of it is
// issued.
func (g *Generator) take(ctx context.Context, c *core, now, count uint64) (uint64, error) {
	for checked := false; ; {
		floor := c.floor(now)
		last := c.state.Load()
		first := max(last+1, floor)
		next := first + count - 1
		if next > c.limit.Load() {
			if next > c.last && last != frozen {
				return 0, c.exhausted(c.layout.start(next >> c.bits))
			}
			return first, errBeyond
		}
		early := next-floor > g.span
		if early && !checked {
			// The clock was read before the state, long before if the goroutine
			// lost its processor: look again before there is talk of waiting.
			var err error
			if now, err = g.checkWait(ctx, c, next); err != nil {
				return 0, err
			}
			checked = true
			continue
		}
		if !c.state.CompareAndSwap(last, next) {
			backOff() // and try again by the same clock: the state is in order whatever its time
			continue
		}
		if first != last+1 {
			c.skipped.Add(first - last - 1)
		}
		if early {
			if err := g.wait(ctx, c, next); err != nil {
				c.giveBack(first, next)
				return 0, err
			}
		}
		return first, nil
	}
}

// giveBack undoes a step that ended in an error, unless another call has drawn
// above it. Otherwise calls that are cancelled one after the other would lead
// the clock further and further.
func (c *core) giveBack(first, next uint64) {
	if !c.state.CompareAndSwap(next, first-1) {
		c.abandoned.Add(next - first + 1)
	}
}

// backOff keeps a caller that lost the race for the state away from it for about
// a microsecond, in which the winner can take several IDs out of its own cache:
// under contention the cache line's way between processors is the cost.
//
//go:noinline
func backOff() {
	for i := 0; i < 3000; i++ { //nolint:modernize // the loop is the point
	}
}
