package snowflake

import (
	"sync/atomic"
	"time"
)

// counters are off the fast path: the only one that Next touches changes once a
// tick, not once an ID.
type counters struct {
	retired   atomic.Uint64 // states of earlier workers under a lease, used or not
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
	Waits     uint64        // waits for the clock that ended well; a long Fill may have several
	Waited    time.Duration // how long these took, added up
	Lead      time.Duration // how far the last ID that was taken, or the start fence, is ahead of the clock, in whole ticks
	Drift     time.Duration // wall clock minus the generator's, at the last look, at most a second of use ago; negative after a step back
	Steps     uint64        // steps forward of the wall clock that were followed
	Remaining time.Duration // until the layout's End; capped at 292 years
}

// Stats returns the counters. Issued is exact when no call is under way;
// meanwhile it has the IDs that calls wait for. The zero Generator returns the
// zero Stats.
func (g *Generator) Stats() Stats {
	c := g.current()
	if c == nil {
		return Stats{}
	}
	// The state moves before what it passes over is counted. A look at both
	// between two moves is taken if one comes up, else the last.
	var state, taken, unused uint64
	for range 16 {
		c = g.current() // a lease may change it
		unused = c.skipped.Load() + c.abandoned.Load()
		retired := c.retired.Load()
		taken = retired
		if state = c.state.Load(); state != frozen {
			taken += state - c.start
		}
		if unused == c.skipped.Load()+c.abandoned.Load() && state == c.state.Load() && retired == c.retired.Load() && c == g.current() {
			break
		}
	}
	s := Stats{
		Issued: taken - min(taken, unused),
		Waits:  c.waits.Load(),
		Waited: time.Duration(c.waited.Load()),
		Drift:  time.Duration(c.drift.Load()),
		Steps:  c.steps.Load(),
	}
	now := c.now()
	if int64(now) < 0 || now >= c.end {
		return s
	}
	if tick, clock := state>>c.bits, c.ticker.div(now); tick > clock && state != frozen {
		s.Lead = c.tickSpan(tick - clock)
	}
	s.Remaining = c.layout.End().Sub(c.wall(now))
	return s
}
