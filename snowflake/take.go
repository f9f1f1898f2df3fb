package snowflake

import "context"

// reach is how far a generator may lead the clock.
type reach struct {
	lead ticks
	span state // how far a state may be above the clock's floor: lead<<bits | mask
}

// take takes count states, at most r.span+1, and returns the first of them when all are due. On an error it has taken
// none, or nobody issues them. With errBeyond it returns the state that is beyond the limit.
func (c *core) take(ctx context.Context, r reach, now nanos, count uint64) (state, error) {
	first, early, err := c.step(r, now, count, false)
	if err != nil || !early {
		return first, err
	}
	if c.foreign() {
		return 0, errForeignClock
	}
	// The clock was read before the state, and perhaps long before if the goroutine was paused.
	start, err := c.read()
	if err != nil {
		return 0, err
	}
	last := first + state(count) - 1
	if err := c.checkDeadline(ctx, r.lead, start, last); err != nil {
		return 0, err
	}
	if first, err = c.takeInTurn(ctx, r, start, count); err != nil {
		return first, err
	}
	last = first + state(count) - 1
	if err := c.awaitDue(ctx, r.lead, last, start); err != nil {
		c.giveBack(first, last)
		return 0, err
	}
	return first, nil
}

// step moves the state up by count and returns the first of these states. Unless ahead is set it takes nothing that
// leads the clock by more than the reach, and reports it as early.
func (c *core) step(r reach, now nanos, count uint64, ahead bool) (first state, early bool, err error) {
	floor := c.floor(now)
	for {
		last := c.state.Load()
		first := max(last+1, floor)
		next := first + state(count) - 1
		if next > c.limit.Load() {
			if next > c.last && last != frozen {
				return 0, false, c.exhausted(c.layout.start(c.tickOf(next)))
			}
			return next, false, errBeyond
		}
		if !ahead && next-floor > r.span {
			return first, true, nil
		}
		if !c.state.CompareAndSwap(last, next) {
			c.backOff(last) // the clock need not be read again: the state is in order whatever its time
			continue
		}
		if first != last+1 {
			c.skipped.Add(uint64(first - last - 1))
		}
		return first, false, nil
	}
}

// giveBack takes back the states of a call that failed, unless another call has taken some above them. Otherwise calls
// that are canceled one after the other would lead the clock further and further.
func (c *core) giveBack(first, last state) {
	if !c.state.CompareAndSwap(last, first-1) {
		c.abandoned.Add(uint64(last - first + 1))
	}
}
