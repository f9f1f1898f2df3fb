package snowflake

import "sync"

// registry holds the state of every worker that this process has issued IDs
// for. Two generators for one worker share it, so they can't repeat each other's
// IDs, nobody has to close anything, and a generator that is made again goes on
// above the last ID even if the clock has stepped back in between. An entry is
// a few hundred bytes and is kept for ever: what it remembers is the very thing
// that must not be lost.
//
// The key is the layout and the worker alone. Other fields are left out because
// With can stamp any value into them.
var registry struct {
	sync.Mutex
	cores map[workerKey]*core
}

type workerKey struct {
	layout Layout
	worker int64
}

// coreFor returns the state of the worker. Generators with a clock of their own
// and those in a testing/synctest bubble keep theirs to themselves: their times
// have nothing to do with each other.
func coreFor(l Layout, worker int64, clock Clock, lead uint64) (*core, error) {
	if clock != nil || inBubble() {
		return newCore(l, clock, lead)
	}
	key := workerKey{l, worker}
	registry.Lock()
	defer registry.Unlock()
	if c := registry.cores[key]; c != nil {
		_, err := c.read()
		return c, err
	}
	c, err := newCore(l, nil, lead)
	if err != nil {
		return nil, err
	}
	if registry.cores == nil {
		registry.cores = make(map[workerKey]*core)
	}
	registry.cores[key] = c
	return c, nil
}
