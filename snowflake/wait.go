package snowflake

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"
)

// sleepGrain is the shortest sleep of Go on Linux, whatever shorter time is asked for.
const sleepGrain = 1200 * time.Microsecond

// awaitDue returns when the state is due. If it has to wait, it counts that as a wait since the elapsed time since.
func (c *core) awaitDue(ctx context.Context, lead ticks, s state, since time.Duration) error {
	now, err := c.read()
	if err != nil {
		return err
	}
	left := c.untilDue(lead, now, s)
	if left <= 0 {
		return nil
	}
	for ; left > 0; left = c.untilDue(lead, now, s) {
		// Not longer than a second, to notice that the wall clock is ahead.
		if err = c.sleep(ctx, lead, min(left, time.Duration(resyncEvery))); err == nil {
			now, err = c.read()
		}
		if err != nil {
			c.observers.observe(OpWait, c.elapsed()-since, err)
			return c.notDue(ctx, lead, s, err)
		}
	}
	took := c.elapsed() - since
	c.waits.Add(1)
	c.waited.Add(int64(took))
	c.observers.observe(OpWait, took, nil)
	return nil
}

// untilDue returns how long it takes until the state leads the clock by no more than lead; not positive if it is due.
func (c *core) untilDue(lead ticks, now nanos, s state) time.Duration {
	return c.span(c.tickOf(s)-lead) - time.Duration(now)
}

// checkDeadline returns an error if the state is due only after the deadline of ctx.
func (c *core) checkDeadline(ctx context.Context, lead ticks, now nanos, s state) error {
	deadline, ok := ctx.Deadline()
	if !ok || c.injected() { // the deadline is a time of the system clock
		return nil
	}
	wait := c.untilDue(lead, now, s)
	if wait <= 0 || time.Until(deadline) >= wait {
		return nil
	}
	return &DueError{In: wait, err: context.DeadlineExceeded}
}

// notDue adds the time until the state is due to the error of a wait that ctx has ended. A state at or above frozen is
// that of a core that issues nothing more.
func (c *core) notDue(ctx context.Context, lead ticks, s state, err error) error {
	if !errors.Is(err, ctx.Err()) || s >= frozen {
		return err
	}
	if wait := c.untilDue(lead, c.now(), s); wait > 0 {
		return &DueError{In: wait, err: err}
	}
	return err
}

// sleep waits for about d. A sleep takes sleepGrain or longer, which the lead makes up for. A generator with a short
// lead would lose most of its rate, so it yields its processor instead of sleeping when d is short.
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
