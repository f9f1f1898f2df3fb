package snowflake

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"
)

// maxLine is how much time the calls that wait may have taken ahead of the lead,
// with those that gave up while others waited behind them. A call that finds the
// line longer waits for it to get shorter before it takes anything.
const maxLine = time.Second

// linePiece is how long a call sleeps at a time that waits for the line.
const linePiece = 20 * time.Millisecond

// checkWait is called before a wait: it reads the clock again, and refuses what
// can't end well. While the line is too long it does not return.
func (g *Generator) checkWait(ctx context.Context, c *core, state uint64) (now uint64, err error) {
	if c.foreign() {
		return 0, errForeignClock
	}
	if now, err = c.read(); err != nil {
		return 0, err
	}
	if err := g.checkDeadline(ctx, c, now, state); err != nil {
		return 0, err
	}
	line := uint64(max(1, maxLine/c.layout.tick)) << c.bits
	for {
		last := c.state.Load()
		left := g.untilDue(c, now, last-line)
		if last == frozen || last <= line || left <= 0 {
			return now, nil
		}
		if ctx.Err() != nil {
			return 0, waitError(ctx)
		}
		// In pieces: the line may end at once, when a lease is closed.
		if err := g.sleep(ctx, c, min(left, linePiece)); err != nil {
			return 0, err
		}
		if now, err = c.read(); err != nil {
			return 0, err
		}
	}
}

// checkDeadline refuses a wait that ctx can't live to see the end of, before
// anything is taken.
func (g *Generator) checkDeadline(ctx context.Context, c *core, now, state uint64) error {
	deadline, ok := ctx.Deadline()
	if !ok || c.clock != nil && !c.bubble { // whose times are not those of contexts
		return nil
	}
	wait := g.untilDue(c, now, state)
	if time.Until(deadline) >= wait {
		return nil
	}
	return fmt.Errorf("snowflake: an ID is due in %v, after the context's deadline: %w", wait, context.DeadlineExceeded)
}

// untilDue returns how long it is until the clock has come within the lead of
// the state's tick; not positive if it has.
func (g *Generator) untilDue(c *core, now, state uint64) time.Duration {
	return c.tickSpan(state>>c.bits-g.lead) - time.Duration(now)
}

// wait returns when the state is due.
func (g *Generator) wait(ctx context.Context, c *core, state uint64) error {
	start, err := c.read()
	if err != nil {
		return err
	}
	now := start
	for {
		left := g.untilDue(c, now, state)
		if left <= 0 {
			break
		}
		if ctx.Err() != nil { // for clocks whose Sleep does not look
			return waitError(ctx)
		}
		// In pieces, since the wall clock may turn out to be ahead on the way.
		if err := g.sleep(ctx, c, min(left, time.Duration(resyncEvery))); err != nil {
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
// generator whose lead is short would lose most of its rate, and yields its
// processor instead of sleeping when the end is near.
func (g *Generator) sleep(ctx context.Context, c *core, d time.Duration) error {
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
		return fmt.Errorf("snowflake: no ID yet: %w", cause)
	}
	return fmt.Errorf("snowflake: no ID yet: %w: %w", err, cause)
}
