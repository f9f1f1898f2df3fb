package snowflake

import (
	"runtime"
	"time"
)

// Stats describes what a generator has done and how its clock stands. Generators for the same layout and worker in a
// process share it. An Observer receives the length of each wait.
type Stats struct {
	Issued    uint64        // IDs issued since the worker's first generator was created; less after a call that gave up its wait
	Waits     uint64        // waits for the clock that ended without an error; a long Fill may have several
	Waited    time.Duration // the sum of these waits, by the monotonic clock
	Lead      time.Duration // how far the last ID taken, or the start fence, is ahead of the clock, in whole ticks
	Drift     time.Duration // wall clock minus the generator's, compared at most once a second by a call; negative after a step back
	Steps     uint64        // steps forward of the wall clock that were followed
	Remaining time.Duration // until the layout's End; at most 292 years
}

// Stats returns the counters. Issued is exact while no call is running, and includes IDs that running calls wait for.
// The zero Generator returns the zero Stats.
func (g *Generator) Stats() Stats {
	c := g.current()
	if c == nil {
		return Stats{}
	}
	// A call moves the state before it counts what it skipped: retry until both belong together.
	var (
		last          state
		taken, unused uint64
	)
	for try := range 200 {
		if try > 0 {
			runtime.Gosched() // a call that was preempted in between needs a processor
		}
		c = g.current()
		unused = c.skipped.Load() + c.abandoned.Load()
		retired := c.retired.Load()
		taken = retired
		if last = c.state.Load(); last == frozen { // perhaps not counted yet
			g.source.mu.Lock()
			c, taken = g.current(), c.retired.Load()
			last, retired = c.state.Load(), taken
			g.source.mu.Unlock()
		}
		if last != frozen {
			taken += uint64(last - c.start)
		}
		if c.skipping.Load() == 0 && unused == c.skipped.Load()+c.abandoned.Load() && last == c.state.Load() && retired == c.retired.Load() && c == g.current() {
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
	if tick, clock := c.tickOf(last), c.tick(now); tick > clock && last != frozen {
		s.Lead = c.span(tick - clock)
	}
	s.Remaining = c.layout.End().Sub(c.wall(now))
	return s
}
