package snowflake

import (
	"sync/atomic"
	"time"
)

// counters are off the fast path: the only one that Next touches changes once a
// tick, not once an ID.
type counters struct {
	start     uint64        // the state at the start
	skipped   atomic.Uint64 // states passed over when a new tick began
	abandoned atomic.Uint64 // states taken by calls that then failed
	waits     atomic.Uint64
	waited    atomic.Uint64 // nanoseconds
	steps     atomic.Uint64
	drift     atomic.Int64 // nanoseconds
}

// Stats is what a generator has done and how its clock stands. Generators for
// the same layout and worker in a process share it.
type Stats struct {
	Issued    uint64        // IDs handed out since the worker's first generator was made
	Waits     uint64        // calls that had to wait for the clock
	Waited    time.Duration // how long these calls waited, added up
	Lead      time.Duration // how far the last ID is ahead of the clock, in whole ticks; 0 if it is not
	Drift     time.Duration // wall clock minus the generator's, at the last look, at most a second of use ago; negative after a step back
	Steps     uint64        // steps forward of the wall clock that were followed
	Remaining time.Duration // until the layout's End; capped at 292 years
}

// Stats returns the counters. Issued is exact when no call is under way. The
// zero Generator returns the zero Stats.
func (g *Generator) Stats() Stats {
	if g == nil || g.core == nil {
		return Stats{}
	}
	c := g.core
	// The state last: it has all that was passed over or given up until then.
	unused := c.skipped.Load() + c.abandoned.Load()
	state := c.state.Load()
	s := Stats{
		Issued: state - c.start - unused,
		Waits:  c.waits.Load(),
		Waited: time.Duration(c.waited.Load()),
		Drift:  time.Duration(c.drift.Load()),
		Steps:  c.steps.Load(),
	}
	now := c.now()
	if int64(now) < 0 || now >= c.end {
		return s
	}
	if tick, clock := state>>c.bits, c.ticker.div(now); tick > clock && s.Issued > 0 {
		s.Lead = c.tickSpan(tick - clock)
	}
	s.Remaining = c.layout.End().Sub(c.wall(now))
	return s
}
