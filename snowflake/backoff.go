package snowflake

import (
	"runtime"
	"time"
)

// A processor that takes IDs in a row keeps the state in its cache; moving the state between processors takes longer
// than the rest of a call. So a call that lost a race for the state stays away from it: first for backOffLook, and
// then, if other calls have taken at least backOffTaken IDs meanwhile, for backOffAway.
const (
	backOffLook  = 500 * time.Nanosecond
	backOffTaken = 12
	backOffAway  = 8 * time.Microsecond

	// backOffReads bounds how often spin reads the clock, which may be coarse.
	backOffReads = 2000
)

// backOff waits after another call has moved the state on from last.
//
//go:noinline
func (c *core) backOff(last state) {
	if c.clock != nil { // which may stand still
		runtime.Gosched()
		return
	}
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
