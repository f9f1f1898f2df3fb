package core

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"
)

// sleepGrain is the shortest sleep of Go on Linux, whatever shorter time is requested.
const sleepGrain = 1200 * time.Microsecond

// wait returns when the state is due. If it has to wait, it counts a wait that began at since, a monotonic time.
//
// If the wall clock steps back meanwhile, nothing happens: waits are counted on the monotonic clock, and catchUp slows
// the generator's clock only while no IDs are taken that far ahead. If it steps forward, the wait ends within a second.
func (w *worker) wait(ctx context.Context, lead Ticks, s state, since time.Duration) error {
	now, err := w.read()
	if err != nil {
		return err
	}
	left := w.untilDue(lead, now, s)
	if left <= 0 {
		return nil
	}
	for ; left > 0; left = w.untilDue(lead, now, s) {
		// Not longer than a second, to notice that the wall clock is ahead.
		if err = w.sleep(ctx, lead, min(left, time.Duration(resyncEvery))); err == nil {
			now, err = w.read()
		}
		if err != nil {
			w.observe(Wait{Took: w.elapsed() - since, Err: err})
			return w.notDue(ctx, lead, s, err)
		}
	}
	took := w.elapsed() - since
	w.waits.Add(1)
	w.waited.Add(int64(took))
	w.observe(Wait{Took: took})
	return nil
}

// untilDue returns how long it takes until the state leads the clock by no more than lead; not positive if it is due.
func (w *worker) untilDue(lead Ticks, now nanos, s state) time.Duration {
	return w.span(w.tickOf(s)-lead) - time.Duration(now)
}

// checkDeadline returns an error if the state is due only after the deadline of ctx.
func (w *worker) checkDeadline(ctx context.Context, lead Ticks, now nanos, s state) error {
	deadline, ok := ctx.Deadline()
	if !ok || w.injected() { // the deadline is a time of the system clock
		return nil
	}
	left := w.untilDue(lead, now, s)
	if left <= 0 || time.Until(deadline) >= left {
		return nil
	}
	return w.dueError(left, context.DeadlineExceeded)
}

// notDue adds the time until the state is due to the error of a wait that ctx has ended. A state at or above frozen is
// that of a worker that issues nothing more.
func (w *worker) notDue(ctx context.Context, lead Ticks, s state, err error) error {
	if !errors.Is(err, ctx.Err()) || s >= frozen {
		return err
	}
	if left := w.untilDue(lead, w.now(), s); left > 0 {
		return w.dueError(left, err)
	}
	return err
}

// sleep waits for about d. A sleep takes sleepGrain or longer, which the lead makes up for. A generator with a short
// lead would lose most of its rate, so it yields its processor instead of sleeping when d is short.
func (w *worker) sleep(ctx context.Context, lead Ticks, d time.Duration) error {
	if ctx.Err() != nil { // for clocks whose Sleep does not look
		return contextError(ctx)
	}
	if w.clock == nil && d < sleepGrain && w.span(lead) < 2*sleepGrain {
		runtime.Gosched()
		return nil
	}
	if err := w.anyClock().Sleep(ctx, d); err != nil {
		if ctx.Err() == nil {
			return fmt.Errorf("snowflake: waiting for the clock: %w", err)
		}
		return contextError(ctx)
	}
	return nil
}
