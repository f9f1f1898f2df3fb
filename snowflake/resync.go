package snowflake

import (
	"fmt"
	"time"
)

var errForeignClock = fmt.Errorf("%w: a generator can't be used on the other side of a testing/synctest bubble's wall", ErrForeignClock)

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

// resync is read for a now that is at or beyond syncAt: once a second, and when
// the clock is out of order.
//
// The wall clock is followed forward only: a monotonic clock stands still while
// a laptop or a virtual machine sleeps, and IDs would be hours old for ever
// after. A wall clock that stepped back is not followed, since order matters
// more; Stats reports the drift.
func (c *core) resync(now uint64) (uint64, error) {
	if c.foreign() {
		return 0, errForeignClock
	}
	due := c.syncAt.Load()
	if now >= c.end {
		wall, _ := c.readBoth()
		if wall.Before(c.layout.Epoch()) {
			return 0, c.layout.beforeEpoch(wall)
		}
		return 0, c.exhausted(wall)
	}
	// One caller looks at the wall clock; the others go on with what they have.
	if now < due || !c.syncAt.CompareAndSwap(due, now+resyncEvery) {
		return now, nil
	}
	offset := c.offset.Load()
	wall, elapsed := c.readBoth()
	now = uint64(int64(elapsed) + offset)
	drift := wall.Sub(c.wall(now))
	switch {
	case drift <= stepTolerance, c.trust != nil && !c.trust(wall):
		c.drift.Store(int64(drift))
	case int64(drift) >= int64(c.end-now):
		// The step is not followed, so that a wall clock that was wrong does no
		// lasting harm, and the next call looks again.
		c.syncAt.Store(due)
		return 0, c.exhausted(wall)
	case c.offset.CompareAndSwap(offset, offset+int64(drift)):
		// Unless another caller, a second later than this one that was paused,
		// has made the step already.
		c.drift.Store(0)
		c.steps.Add(1)
		now += uint64(drift)
	}
	return now, nil
}
