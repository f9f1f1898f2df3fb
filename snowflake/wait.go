package snowflake

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"
)

const (
	// maxQueue is how much time above the lead waiting calls may have taken, including calls that gave up while others
	// waited behind them. A call that finds more taken waits before it takes anything.
	maxQueue = time.Second

	// queuePoll is how often such a call looks whether the state was frozen, as when a lease is closed.
	queuePoll = 20 * time.Millisecond

	// sleepGrain is the shortest sleep of Go on Linux, whatever shorter time is asked for.
	sleepGrain = 1200 * time.Microsecond
)

// awaitRoom returns the time at which less than maxQueue is taken above the lead.
func (c *core) awaitRoom(ctx context.Context, lead ticks) (nanos, error) {
	now, err := c.read()
	if err != nil {
		return 0, err
	}
	return c.sleepUntil(ctx, lead, now, queuePoll, func(now nanos) time.Duration { return c.untilRoom(lead, now) })
}

// untilRoom returns how long it takes until less than maxQueue is taken above the lead; not positive if it is so, or if
// the state is frozen.
func (c *core) untilRoom(lead ticks, now nanos) time.Duration {
	room := state(max(1, maxQueue/c.layout.tick)) << c.bits
	last := c.state.Load()
	if last == frozen || last <= room {
		return 0
	}
	return c.untilDue(lead, now, last-room)
}

// awaitDue returns when the state is due. If it has to wait, it counts that as a wait since start.
func (c *core) awaitDue(ctx context.Context, lead ticks, s state, start nanos) error {
	begin, err := c.read()
	if err != nil {
		return err
	}
	// The period is short enough to notice that the wall clock is ahead.
	end, err := c.sleepUntil(ctx, lead, begin, time.Duration(resyncEvery), func(now nanos) time.Duration {
		return c.untilDue(lead, now, s)
	})
	if err != nil {
		return err
	}
	if end > begin {
		c.waits.Add(1)
		c.waited.Add(int64(end - start))
	}
	return nil
}

// untilDue returns how long it takes until the state leads the clock by no more than lead; not positive if it is due.
func (c *core) untilDue(lead ticks, now nanos, s state) time.Duration {
	return c.span(c.tickOf(s)-lead) - time.Duration(now)
}

// checkDeadline returns an error if the state is due only after the deadline of ctx.
func (c *core) checkDeadline(ctx context.Context, lead ticks, now nanos, s state) error {
	deadline, ok := ctx.Deadline()
	if !ok || c.clock != nil && !c.bubble { // the deadline is a time of the system clock
		return nil
	}
	wait := c.untilDue(lead, now, s)
	if time.Until(deadline) >= wait {
		return nil
	}
	return fmt.Errorf("snowflake: an ID is due in %v, after the context's deadline: %w", wait, context.DeadlineExceeded)
}

// sleepUntil sleeps until left returns no positive duration, which it asks at least once a period, and returns the time.
func (c *core) sleepUntil(ctx context.Context, lead ticks, now nanos, period time.Duration, left func(nanos) time.Duration) (nanos, error) {
	for {
		d := left(now)
		if d <= 0 {
			return now, nil
		}
		if err := c.sleep(ctx, lead, min(d, period)); err != nil {
			return 0, err
		}
		var err error
		if now, err = c.read(); err != nil {
			return 0, err
		}
	}
}

// sleep waits for about d. A sleep takes sleepGrain or longer, which the lead makes up for. A generator with a short lead
// would lose most of its rate, so it yields its processor instead of sleeping when d is short.
func (c *core) sleep(ctx context.Context, lead ticks, d time.Duration) error {
	if ctx.Err() != nil { // for clocks whose Sleep does not look
		return waitError(ctx)
	}
	if c.clock == nil && d < sleepGrain && c.span(lead) < 2*sleepGrain {
		runtime.Gosched()
		return nil
	}
	if err := c.anyClock().Sleep(ctx, d); err != nil {
		if ctx.Err() == nil {
			return fmt.Errorf("snowflake: waiting for the clock: %w", err)
		}
		return waitError(ctx)
	}
	return nil
}

// waitError returns the error of a call whose context has ended.
func waitError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return fmt.Errorf("snowflake: no ID yet: %w", cause)
	}
	return fmt.Errorf("snowflake: no ID yet: %w: %w", err, cause)
}
