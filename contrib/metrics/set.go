package metrics

import (
	"context"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// Set is the generators of an exporter. Its methods are safe for concurrent use. The zero Set is empty.
type Set struct {
	mu      sync.Mutex
	every   time.Duration // 0: no query for the workers
	sources map[string]*source
}

// Add adds a generator with its lease, which is nil for a fixed worker. It replaces the generator that has the name,
// and continues its counters. Remove the name before the lease is closed: a closed one looks like one without a worker.
//
// observe is called after each wait and each call of the store from now on, unless it is nil: as by
// [snowflake.Generator.Observe] and [lease.Lease.Observe].
func (s *Set) Add(name string, g *snowflake.Generator, l *lease.Lease, observe func(Value)) {
	added := newSource(name, g, l, observe)
	s.mu.Lock()
	defer s.mu.Unlock()

	if old := s.sources[name]; old != nil {
		old.stop()
		added.follow(old)
	}
	added.start()

	if s.sources == nil {
		s.sources = map[string]*source{}
	}
	s.sources[name] = added
}

// Remove removes the generator with the name, and its lease.
func (s *Set) Remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.sources[name]; old != nil {
		old.stop()
		delete(s.sources, name)
	}
}

// Clear removes all.
func (s *Set) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()

	for _, old := range s.sources {
		old.stop()
	}
	clear(s.sources)
}

// QueryWorkers adds how many workers of each lease any process holds, and how many there are. Read then reads the
// lease's namespace with Store.List if the last result is older than every, and gives up after 5 s. Each process reads
// the whole namespace, so a minute or more is appropriate. While a store does not answer, Read leaves these two values
// out. 0 ends it.
func (s *Set) QueryWorkers(every time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.every = every
}

// Read returns the values of all counters and gauges. A counter does not decrease as long as its name is not removed.
func (s *Set) Read(ctx context.Context) []Value {
	var values []Value

	s.mu.Lock()
	every, sources := s.every, maps.Clone(s.sources)
	for name, src := range sources {
		for i, v := range src.read() {
			if src.lease != nil || !strings.HasPrefix(all[i].Name, "snowflake.lease.") {
				values = append(values, Value{Metric: all[i].Name, Generator: name, Value: v})
			}
		}
	}
	s.mu.Unlock()

	if every <= 0 {
		return values
	}

	var queries sync.WaitGroup // all at once and without the lock: a store that does not answer delays no other
	var mu sync.Mutex          // guards values
	for name, src := range sources {
		if src.lease == nil {
			continue
		}
		queries.Go(func() {
			held, limit, err := src.countWorkers(ctx, every)
			if err != nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			values = append(values,
				Value{Metric: workersHeld, Generator: name, Value: float64(held)},
				Value{Metric: workersLimit, Generator: name, Value: float64(limit)})
		})
	}

	queries.Wait()
	return values
}
