package snowflake

import (
	"time"

	"github.com/sqlflake/sqlflake/snowflake/internal/core"
)

// Stats describes what a generator has done and how its clock stands. Generators for the same layout and worker in a
// process share it. Observe reports the length of each wait.
//
// A generator does not say by itself that its layout ends soon, as a lease does in the last two years. A program that
// calls New should report Remaining: the presets resource and manyworkers end in 2033.
type Stats struct {
	Issued    uint64        // IDs issued for the worker in this process; less after a call that gave up its wait
	Waits     uint64        // waits for the clock that ended without an error; a long Fill may have several
	Waited    time.Duration // the sum of these waits, by the monotonic clock
	Lead      time.Duration // how far the last ID taken, or the start fence, is ahead of the clock, in whole ticks
	Drift     time.Duration // wall clock minus the generator's, as of the last second of use; negative after a step back
	Steps     uint64        // steps forward of the wall clock that were followed
	Remaining time.Duration // until the last ID: to the layout's End, or to 292 years after its epoch if that is earlier
}

// Stats returns the counters. Issued is exact while no call is running, and includes IDs that running calls wait for.
// The zero Generator returns the zero Stats.
func (g *Generator) Stats() Stats {
	if g == nil {
		return Stats{}
	}
	return Stats(g.core.Stats())
}

// Wait is a wait for IDs, for a histogram. What can be counted is in Stats.
type Wait struct {
	Lease bool          // it waited for a lease: for a worker, or for its horizon to rise; else until its IDs were due
	Took  time.Duration // by the monotonic clock
	Err   error         // that ended it, so it got no IDs; or nil
}

// Observe calls observe from now on after each wait of the generator, of the generators that share its worker in this
// process, and of those of its lease. A long Fill may have several waits. A call that gets its IDs, or fails, without a
// wait has none: for example one whose context ends before its IDs would be due.
//
// observe is called by the goroutine that has waited, with no lock held, and by many goroutines at the same time. It must
// return quickly and must not panic. It may call Stats, but should not take IDs of the generator.
//
// stop ends that; calls that are running may still call observe. It may be called several times. A nil observe is never
// called, nor is that of a nil or zero Generator.
func (g *Generator) Observe(observe func(Wait)) (stop func()) {
	if g == nil || observe == nil {
		return func() {}
	}
	return g.core.Observe(func(w core.Wait) { observe(Wait(w)) })
}
