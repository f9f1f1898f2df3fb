package snowflake

import (
	"time"

	"github.com/sqlflake/sqlflake/snowflake/internal/core"
)

// Stats describes what a generator has done and how its clock stands. Generators for the same layout and worker in a
// process share it. An Observer receives the length of each wait.
type Stats struct {
	Issued    uint64        // IDs issued for the worker in this process; less after a call that gave up its wait
	Waits     uint64        // waits for the clock that ended without an error; a long Fill may have several
	Waited    time.Duration // the sum of these waits, by the monotonic clock
	Lead      time.Duration // how far the last ID taken, or the start fence, is ahead of the clock, in whole ticks
	Drift     time.Duration // wall clock minus the generator's, as of the last second of use; negative after a step back
	Steps     uint64        // steps forward of the wall clock that were followed
	Remaining time.Duration // until the layout's End (2033 for resource and manyworkers); at most 292 years
}

// Stats returns the counters. Issued is exact while no call is running, and includes IDs that running calls wait for.
// The zero Generator returns the zero Stats.
func (g *Generator) Stats() Stats {
	if g == nil {
		return Stats{}
	}
	return Stats(g.core.Stats())
}

// Observer receives how long calls for IDs had to wait and how long calls of a lease's store took, for histograms. What
// can be counted is in Stats and in lease.Status, which are read when they are needed.
//
// Observe is called after the wait or the call, by the goroutine that made it, with no lock held. Many goroutines may
// call it at the same time. It must return quickly and must not panic. It may call Stats and lease.Status, but should
// not take IDs of the generator or close the lease. It is not called for a call that gets its IDs, or fails, without a
// wait: for example one whose context ends before its IDs would be due.
type Observer interface {
	// Observe receives the operation, how long it took by the monotonic clock, and the error that ended it.
	Observe(op Operation, took time.Duration, err error)
}

// Operation is what an Observer receives the length of.
type Operation string

// The operations. The last three are calls of a lease's store.
const (
	OpWait    Operation = core.Wait  // a wait until IDs were due; a long Fill may have several
	OpStall   Operation = core.Stall // a wait for a lease: for a worker, or for its horizon to rise
	OpAcquire Operation = "acquire"  // a call for a worker
	OpExtend  Operation = "extend"   // a call for a higher horizon
	OpRelease Operation = "release"  // the worker was given back
)

// AddObserver calls o from now on for everything that concerns the generator, the generators that share its worker in
// this process, and its lease. What package lease does in Open is over by then.
//
// remove ends that; calls that are running may still call o. It may be called several times. A nil o is not added, nor
// is one of a nil or zero Generator.
func (g *Generator) AddObserver(o Observer) (remove func()) {
	if g == nil || o == nil {
		return func() {}
	}
	return g.core.AddObserver(func(op string, took time.Duration, err error) { o.Observe(Operation(op), took, err) })
}
