package snowflake

import "time"

// catchUpStep is by how much the clock of a generator is set back at most at a resync, after a step back of the wall
// clock. A call that has read the clock before takes an ID by the old time, which the calls after it must not wait for:
// it is therefore half the default lead, also after an hour without a call.
const catchUpStep = 5 * time.Millisecond

// read reads the clock and compares it with the wall clock when that is due.
func (c *core) read() (nanos, error) {
	now := c.now()
	if now < c.syncAt.Load() {
		return now, nil
	}
	return c.resync(now)
}

// resync compares the generator's clock with the wall clock. It is called for a now at or above syncAt: once a second,
// and when the clock is before the epoch or past the layout's end.
//
// Steps forward of the wall clock are followed: a monotonic clock stops while a laptop or a virtual machine is
// suspended, and all later IDs would have times in the past. Steps back are not followed, to keep the order of IDs, but
// caught up with; Stats reports the difference as Drift.
func (c *core) resync(now nanos) (nanos, error) {
	if c.inOtherBubble() {
		return 0, errForeignClock
	}
	due := c.syncAt.Load()
	if now >= c.end {
		wall, _ := readBoth(c.anyClock())
		if wall.Before(c.layout.Epoch()) {
			return 0, c.layout.beforeEpoch(wall)
		}
		return 0, c.exhausted(wall)
	}
	// One call reads the wall clock; the others continue with the time they have.
	if now < due || !c.syncAt.CompareAndSwap(due, now+resyncEvery) {
		return now, nil
	}
	offset := c.offset.Load()
	wall, elapsed := readBoth(c.anyClock())
	now = nanos(int64(elapsed) + offset)
	drift := wall.Sub(c.wall(now))
	switch {
	case drift <= stepTolerance, c.trust != nil && !c.trust(wall):
		if slower := c.catchUp(drift, now); slower > 0 && c.offset.CompareAndSwap(offset, offset-int64(slower)) {
			now -= nanos(slower)
			drift += slower
			c.syncAt.Store(now + resyncEvery)
		}
		c.drift.Store(int64(drift))
	case int64(drift) >= int64(c.end-now):
		// A wall clock past the layout's end is not followed, because that could not be undone. The next call compares
		// again.
		c.syncAt.Store(due)
		return 0, c.exhausted(wall)
	case c.offset.CompareAndSwap(offset, offset+int64(drift)):
		// The swap fails if this call was paused and a later one has followed the step already.
		c.drift.Store(0)
		c.steps.Add(1)
		now += nanos(drift)
		c.syncAt.Store(now + resyncEvery)
	}
	return now, nil
}

// catchUp returns by how much the clock is to be set back at a resync, after the wall clock was stepped back by more
// than stepTolerance and until both agree. A smaller difference may be an error of readBoth.
//
// IDs that were taken before stay ahead of the clock by at most half the lead, rounded up to ticks, and half of a
// tick's IDs are left, so that a call with few IDs does not wait for the clock.
func (c *core) catchUp(drift time.Duration, now nanos) time.Duration {
	if drift >= 0 {
		c.catching.Store(false)
	} else if drift < -stepTolerance {
		c.catching.Store(true)
	}
	last := c.state.Load()
	if !c.catching.Load() || last == frozen {
		return 0
	}
	free := -c.untilDue((c.lead+1)/2, now, last+c.mask/2+1)
	return min(-drift, catchUpStep, free)
}
