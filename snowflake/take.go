package snowflake

import "context"

// take takes count states, at most r.span+1, and returns the first of them when all are due. On an error it has taken
// none, or nobody issues them. With errBeyond it returns the state that is beyond the limit.
func (c *core) take(ctx context.Context, r reach, now nanos, count uint64) (state, error) {
	first, early, err := c.reserve(r, now, count, false)
	if err != nil || !early {
		return first, err
	}
	if c.inOtherBubble() {
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
	since := c.elapsed()
	if first, err = c.takeInTurn(ctx, r, start, since, count); err != nil {
		return first, err
	}
	last = first + state(count) - 1
	if err := c.awaitDue(ctx, r.lead, last, since); err != nil {
		c.withdraw(r, &request{first: first, count: count, served: true})
		return 0, err
	}
	return first, nil
}
