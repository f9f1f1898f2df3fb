package snowflake

import (
	"fmt"
	"time"
)

var errForeignClock = fmt.Errorf("snowflake: %w: a generator can't be used on the other side of a testing/synctest bubble's wall", ErrForeignClock)

// readBoth reads the wall clock and the elapsed time at one instant. If the
// goroutine loses its processor between the two it tries again: the pair would
// look like a step of the wall clock. The elapsed time is the later one, so that
// what is left of that error looks like a step back, which is not followed.
func (c *core) readBoth() (wall time.Time, elapsed time.Duration) {
	var clock Clock = systemClock{}
	if c.clock != nil {
		clock = c.clock
	}
	for range 4 {
		before := clock.Elapsed()
		wall, elapsed = clock.Now(), clock.Elapsed()
		if elapsed-before < stepTolerance/10 {
			break
		}
	}
	return wall.Round(0), elapsed
}

// resync is read for a now that is at or beyond syncAt: once a second, at the
// end of time, and when the clock is out of order.
//
// The wall clock is followed forward only: a monotonic clock stands still while
// a laptop or a virtual machine sleeps, and IDs would be hours old for ever
// after. A wall clock that stepped back is not followed, since order matters
// more; Stats reports the drift.
func (c *core) resync(now uint64) (uint64, error) {
	due := c.syncAt.Load()
	switch {
	case (c.clock == nil || c.bubble) && c.bubble != inBubble():
		return 0, errForeignClock
	case int64(now) < 0:
		return 0, c.layout.beforeEpoch(c.wall(now))
	case now >= c.end:
		return 0, c.layout.exhausted(c.wall(now))
	}
	// One caller looks at the wall clock; the others go on with what they have.
	if now < due || !c.syncAt.CompareAndSwap(due, min(now+resyncEvery, c.end)) {
		return now, nil
	}
	wall, elapsed := c.readBoth()
	drift := wall.Sub(c.wall(uint64(int64(elapsed) + c.offset.Load())))
	c.drift.Store(int64(drift))
	if drift <= stepTolerance {
		return now, nil
	}
	// syncAt was lowered before offset is raised and now() loads them the other
	// way round, so nobody takes a time beyond the end for one before it.
	c.offset.Add(int64(drift))
	c.drift.Store(0)
	c.steps.Add(1)
	now += uint64(drift)
	if now >= c.end {
		return 0, c.layout.exhausted(c.wall(now))
	}
	return now, nil
}
