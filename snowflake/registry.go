package snowflake

import (
	"fmt"
	"sync"
	"time"
)

// registry holds the core of every worker for which this process has created a generator. Generators for one worker
// share it, so they cannot issue the same ID, no Close is needed, and a generator that is created again continues above
// the last ID even if the wall clock was set back in between. Entries take a few hundred bytes and are never removed,
// because a forgotten state could be issued again.
var registry struct {
	sync.Mutex
	cores map[coreKey]*core
}

// coreKey identifies generators whose IDs could be equal: by the places of time, sequence and worker in the layout,
// whatever their names, and by the worker. Other fields do not count because With can set them to any value.
type coreKey struct {
	epoch                  int64
	tick                   time.Duration
	time, sequence, worker slot
	number                 int64
}

// coreFor returns the core of a fixed worker. Generators with WithClock and those in a testing/synctest bubble have one
// of their own, because their times are unrelated.
func coreFor(l Layout, worker int64, clock Clock, lead ticks) (*core, error) {
	if clock != nil || inBubble() {
		return newCore(l, worker, clock, lead)
	}
	key := coreKey{l.epoch, l.tick, l.time, l.sequence, l.worker, worker}
	registry.Lock()
	defer registry.Unlock()
	if c := registry.cores[key]; c != nil {
		if lead > c.lead {
			return nil, fmt.Errorf("%w: a lead of %v is longer than the %v of the first generator for %s %d in this process",
				ErrOption, c.span(lead), c.span(c.lead), l.workerLabel(), worker)
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
