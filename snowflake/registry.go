package snowflake

import (
	"fmt"
	"sync"
	"time"
)

// registry holds the state of every worker that this process has issued IDs
// for. Two generators for one worker share it, so they can't repeat each other's
// IDs, nobody has to close anything, and a generator that is made again goes on
// above the last ID even if the clock has stepped back in between. An entry is
// a few hundred bytes and is kept for ever: what it remembers is the very thing
// that must not be lost.
var registry struct {
	sync.Mutex
	cores map[coreKey]*core
}

// coreKey is what makes the IDs of two generators alike: where a layout has the
// time, the sequence and the worker, whatever it calls them, and the worker.
// Other fields are left out because With can stamp any value into them.
type coreKey struct {
	epoch                  int64
	tick                   time.Duration
	time, sequence, worker slot
	number                 int64
}

// coreFor returns the state of the worker. Generators with a clock of their own
// and those in a testing/synctest bubble keep theirs to themselves: their times
// have nothing to do with each other.
func coreFor(l Layout, worker int64, clock Clock, lead uint64) (*core, error) {
	if clock != nil || inBubble() {
		return newCore(l, worker, clock, lead)
	}
	key := coreKey{l.epoch, l.tick, l.time, l.sequence, l.worker, worker}
	registry.Lock()
	defer registry.Unlock()
	if c := registry.cores[key]; c != nil {
		if lead > c.lead {
			return nil, fmt.Errorf("%w: a lead of %v is longer than the %v of the first generator for %s %d in this process, on which the start fence stands",
				ErrOption, c.tickSpan(lead), c.tickSpan(c.lead), l.workerLabel(), worker)
		}
		return c, nil
	}
	c, err := newCore(l, worker, nil, lead)
	if err != nil {
		return nil, err
	}
	if registry.cores == nil {
		registry.cores = make(map[coreKey]*core)
	}
	registry.cores[key] = c
	return c, nil
}
