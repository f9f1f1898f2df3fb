package core

import (
	"fmt"
	"sync"
)

// registry holds every fixed worker for which this process has created a generator. Generators for one worker share it,
// so they cannot issue the same ID, no Close is needed, and a generator that is created again continues above the last ID
// even if the wall clock was set back in between. Entries take a few hundred bytes and are never removed, because a
// forgotten state could be issued again.
var registry struct {
	sync.Mutex
	workers map[workerKey]*worker
}

type workerKey struct {
	space  Space
	number int64
}

// workerFor returns a fixed worker. Generators with WithClock and those in a testing/synctest bubble each get their own,
// because their times are unrelated.
func workerFor(cfg Config, number int64) (*worker, error) {
	if cfg.Clock != nil || inBubble() {
		return newWorker(cfg, number)
	}
	key := workerKey{cfg.Space, number}
	registry.Lock()
	defer registry.Unlock()
	if w := registry.workers[key]; w != nil {
		if lead := cfg.leadTicks(); lead > w.lead {
			return nil, fmt.Errorf("%w: a lead of %v is longer than the %v of the first generator for worker %d in this process",
				ErrOption, w.span(lead), w.span(w.lead), number)
		}
		return w, nil
	}
	w, err := newWorker(cfg, number)
	if err != nil {
		return nil, err
	}
	if registry.workers == nil {
		registry.workers = make(map[workerKey]*worker)
	}
	registry.workers[key] = w
	return w, nil
}
