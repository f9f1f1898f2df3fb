package snowflake

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"
)

// Fill sets every element of dst to an ID of its own, in ascending order, with
// one step of the generator for the whole slice: 0.5 ns an ID rather than 40.
// Slices that are longer than what a burst may hold (45,056 IDs on the Default
// layout) are drawn in several steps, between which other callers come in.
//
// Errors are those of NextContext, and ErrEmptyFill for a slice without
// elements. On an error dst is as it was: a batch is filled or not.
func (g *Generator) Fill(ctx context.Context, dst []ID) error {
	if g == nil || g.core == nil {
		return errNoGenerator
	}
	if len(dst) == 0 {
		return fmt.Errorf("snowflake: %w: Fill of a slice of length 0 (capacity %d)", ErrEmptyFill, cap(dst))
	}
	step := g.span + 1
	if uint64(len(dst)) <= step {
		first, err := g.takeNow(ctx, uint64(len(dst)))
		if err != nil {
			return err
		}
		g.write(dst, first)
		return nil
	}
	if err := g.checkAll(ctx, uint64(len(dst))); err != nil {
		return err
	}
	// Nothing is written before everything is there.
	firsts := make([]uint64, 0, uint64(len(dst))/step+1)
	for left := uint64(len(dst)); left > 0; left -= min(left, step) {
		first, err := g.takeNow(ctx, min(left, step))
		if err != nil {
			g.core.abandoned.Add(uint64(len(dst)) - left)
			return err
		}
		firsts = append(firsts, first)
	}
	for _, first := range firsts {
		n := min(uint64(len(dst)), step)
		g.write(dst[:n], first)
		dst = dst[n:]
	}
	return nil
}

// checkAll refuses a batch of several steps whose last ID is due after the
// deadline of ctx even if nobody else draws any.
func (g *Generator) checkAll(ctx context.Context, count uint64) error {
	now, err := g.core.read()
	if err != nil {
		return err
	}
	first := max(g.core.state.Load()+1, g.core.floor(now))
	return g.checkDeadline(ctx, now, first+count-1)
}

// write sets dst to the IDs of the states from first on.
func (g *Generator) write(dst []ID, first uint64) {
	step := ID(1) << (g.seqShift & 63)
	for len(dst) > 0 {
		inTick := g.core.mask - first&g.core.mask + 1
		n := min(uint64(len(dst)), inTick)
		id := g.compose(first)
		for i := range dst[:n] {
			dst[i] = id
			id += step
		}
		dst = dst[n:]
		first += n
	}
}

// takeNow is take after a look at ctx and the clock.
func (g *Generator) takeNow(ctx context.Context, count uint64) (uint64, error) {
	if ctx.Err() != nil {
		return 0, waitError(ctx)
	}
	now, err := g.core.read()
	if err != nil {
		return 0, err
	}
	return g.take(ctx, now, count)
}

// take moves the state up by count, waits until the last of it is due, and
// returns the first. count is at most span+1. On an error nothing of it is
// issued. A lost race is tried again without another look at the clock: the
// state is in order whatever its time.
func (g *Generator) take(ctx context.Context, now, count uint64) (uint64, error) {
	c := g.core
	floor := c.floor(now)
	for {
		last := c.state.Load()
		first := max(last+1, floor)
		next := first + count - 1
		if next > c.limit.Load() {
			return 0, c.layout.exhausted(c.layout.start(next >> c.bits))
		}
		early := next-floor > g.span
		if early {
			if err := g.checkDeadline(ctx, now, next); err != nil {
				return 0, err
			}
		}
		if !c.state.CompareAndSwap(last, next) {
			backOff()
			continue
		}
		if first != last+1 {
			c.skipped.Add(first - last - 1)
		}
		if early {
			if err := g.wait(ctx, next); err != nil {
				c.abandoned.Add(count)
				return 0, err
			}
		}
		return first, nil
	}
}

// checkDeadline refuses a wait that ctx can't live to see the end of, before
// anything is taken.
func (g *Generator) checkDeadline(ctx context.Context, now, state uint64) error {
	deadline, ok := ctx.Deadline()
	if !ok || g.core.clock != nil && !g.core.bubble { // whose times are not those of contexts
		return nil
	}
	wait := g.untilDue(now, state)
	if time.Until(deadline) >= wait {
		return nil
	}
	return fmt.Errorf("snowflake: an ID is due in %v, after the context's deadline: %w", wait, context.DeadlineExceeded)
}

// untilDue returns how long it is until the clock has come within the lead of
// the state's tick; not positive if it has.
func (g *Generator) untilDue(now, state uint64) time.Duration {
	c := g.core
	return c.tickSpan(state>>c.bits-g.lead) - time.Duration(now)
}

// wait returns when the state is due.
func (g *Generator) wait(ctx context.Context, state uint64) error {
	c := g.core
	start, err := c.read()
	if err != nil {
		return err
	}
	now := start
	for {
		left := g.untilDue(now, state)
		if left <= 0 {
			break
		}
		if err := g.sleep(ctx, left); err != nil {
			return err
		}
		if now, err = c.read(); err != nil {
			return err
		}
	}
	if now > start {
		c.waits.Add(1)
		c.waited.Add(now - start)
	}
	return nil
}

// sleepGrain is the shortest sleep that the scheduler keeps: whatever is asked
// for below it, Linux and Go together take 1.1 ms.
const sleepGrain = 1200 * time.Microsecond

// sleep waits for about d. Sleeping overshoots, which the lead makes up for; a
// generator with a short one would lose most of its rate and gives its
// processor to others instead when the end is near.
func (g *Generator) sleep(ctx context.Context, d time.Duration) error {
	c := g.core
	if c.clock == nil && d < sleepGrain && c.tickSpan(g.lead) < 2*sleepGrain {
		runtime.Gosched()
		if ctx.Err() != nil {
			return waitError(ctx)
		}
		return nil
	}
	var clock Clock = systemClock{}
	if c.clock != nil {
		clock = c.clock
	}
	if err := clock.Sleep(ctx, d); err != nil {
		if ctx.Err() == nil {
			return fmt.Errorf("snowflake: waiting for the clock: %w", err)
		}
		return waitError(ctx)
	}
	return nil
}

func waitError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return fmt.Errorf("snowflake: waiting for an ID: %w", cause)
	}
	return fmt.Errorf("snowflake: waiting for an ID: %w: %w", err, cause)
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
