package snowflake

import (
	"runtime"
	"time"
)

// reach is how far a generator may lead the clock.
type reach struct {
	lead   ticks
	span   state                     // how far a state may be above the clock's floor: lead<<bits | mask
	random func(limit uint64) uint64 // returns a number below limit; nil without WithRandomStart
}

// start returns the sequence at which count states of a tick without IDs begin. It is so low that the reach has room for
// all of them.
func (r reach) start(mask state, count uint64) state {
	if r.random == nil || count > uint64(r.span) {
		return 0
	}
	return state(r.random(min(uint64(mask), uint64(r.span)+1-count) + 1))
}

// reserve moves the state up by count and returns the first of these states. Unless ahead is set it takes nothing that
// leads the clock by more than the reach, and reports it as early.
func (c *core) reserve(r reach, now nanos, count uint64, ahead bool) (first state, early bool, err error) {
	floor := c.floor(now)
	for {
		last := c.state.Load()
		first := last + 1
		if first < floor {
			first = floor + r.start(c.mask, count)
			if first+state(count)-1 > c.limit.Load() {
				first = floor
			}
		}
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
		skips := first != last+1
		if skips {
			c.skipping.Add(1)
		}
		if !c.state.CompareAndSwap(last, next) {
			if skips {
				c.skipping.Add(-1)
			}
			// The clock need not be read again: the state is in order whatever its time.
			if !ahead { // the others hold the lock of the queues
				c.backOff()
			}
			continue
		}
		if skips {
			c.skipped.Add(uint64(first - last - 1))
			c.skipping.Add(-1)
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

// A processor that takes IDs in a row keeps the state in its cache; moving the state between processors takes longer
// than the rest of a call. So a call that lost a race for the state stays away from it: first for backOffLook, and
// then, if other calls have taken at least backOffTaken IDs meanwhile, for backOffAway.
const (
	backOffLook  = 500 * time.Nanosecond
	backOffTaken = 5 // by a processor that takes 100 ns or less for each
	backOffAway  = 8 * time.Microsecond

	// backOffReads bounds how often spin reads the clock, which may be coarse.
	backOffReads = 2000
)

// backOff waits after another call has moved the state.
//
//go:noinline
func (c *core) backOff() {
	if c.clock != nil { // which may stand still
		runtime.Gosched()
		return
	}
	last := c.state.Load()
	spin(backOffLook)
	if c.state.Load()-last >= backOffTaken {
		spin(backOffAway)
	}
}

// spin returns after d without a system call.
func spin(d time.Duration) {
	end := time.Since(origin) + d
	for range backOffReads {
		if time.Since(origin) >= end {
			return
		}
	}
}
