package snowflake

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
// suspended, and all later IDs would have times in the past. Steps back are not followed, to keep the order of IDs;
// Stats reports the difference as Drift.
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
	}
	return now, nil
}
