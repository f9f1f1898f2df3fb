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

// source is what a name stands for.
type source struct {
	name    string
	gen     *snowflake.Generator
	lease   *lease.Lease // nil for a fixed worker
	observe func(Value)
	stop    func() // ends the observations
	workers workers

	base, last []float64 // of each metric: the counters of the sources that had the name before, and the last values
}

func newSource(name string, g *snowflake.Generator, l *lease.Lease, observe func(Value)) *source {
	if observe == nil {
		observe = func(Value) {}
	}
	base, last := make([]float64, len(all)), make([]float64, len(all))
	return &source{
		name: name, gen: g, lease: l, observe: observe, base: base, last: last,
		workers: workers{turn: make(chan struct{}, 1)},
	}
}

// took observes a length.
func (s *source) took(metric, label string, took time.Duration, err error) {
	s.observe(Value{metric, s.name, took.Seconds(), label, err, errorType(err)})
}

// start begins the observations.
func (s *source) start() {
	s.stop = s.gen.Observe(func(w snowflake.Wait) {
		reason := "clock"
		if w.Lease {
			reason = "lease"
		}
		s.took(waitDuration, reason, w.Took, w.Err)
	})

	if s.lease == nil {
		return
	}

	stopWaits, stopCalls := s.stop, s.lease.Observe(func(e lease.Event) {
		if e.Kind == lease.Called {
			s.took(callDuration, e.Call, e.Took, e.Err)
		}
	})

	s.stop = func() {
		stopWaits()
		stopCalls()
	}
}

// values returns what the first metrics are now.
func (s *source) values() []float64 {
	var l lease.Status
	if s.lease != nil {
		l = s.lease.Status()
	}
	held := 0.0
	if l.Held {
		held = 1
	}

	g := s.gen.Stats()
	return []float64{
		float64(g.Issued), g.Lead.Seconds(), g.Drift.Seconds(), float64(g.Steps),
		float64(s.gen.Worker()), g.Remaining.Seconds(),
		held, float64(l.Epoch), l.Left.Seconds(), l.Skew.Seconds(),
		float64(l.Acquisitions), float64(l.Takeovers), float64(l.Losses),
	}
}

// read returns the values. Counters include the sources that had the name before.
func (s *source) read() []float64 {
	values := s.values()
	for i := range values {
		if all[i].Kind == "counter" {
			// Calls that give up their wait give their IDs back. A counter that decreases would look like a restart,
			// after which Prometheus adds the whole value once more.
			values[i] = max(s.last[i], s.base[i]+values[i])
		}
	}
	s.last = values
	return values
}

// follow makes the counters of s continue the counters of old.
func (s *source) follow(old *source) {
	s.base, s.last = old.base, old.last // the counters of old have what those in s have
	if !s.shares(old) {
		s.base = old.read()
		s.last = s.base
	}
}

// shares reports whether both have the same counters, as generators of one worker in a process.
func (s *source) shares(old *source) bool {
	if s.lease != nil || old.lease != nil {
		return s.lease == old.lease
	}
	return s.gen.Worker() == old.gen.Worker() && s.gen.Layout() == old.gen.Layout()
}

// queryTimeout bounds a query for the workers. Prometheus gives up a scrape after 10 s by default.
const queryTimeout = 5 * time.Second

// workers is the last answer to the question how many workers are held.
type workers struct {
	turn        chan struct{} // filled during a query: another Read waits for its answer
	queried     time.Time
	held, limit int64
	err         error
}

// countWorkers queries again if the answer is older than every. A query that ctx ended is no answer.
func (s *source) countWorkers(ctx context.Context, every time.Duration) (held, limit int64, err error) {
	w := &s.workers
	select {
	case w.turn <- struct{}{}:
	case <-ctx.Done():
		return 0, 0, ctx.Err()
	}

	begin, queries := time.Now(), w.queried.IsZero() || time.Since(w.queried) >= every
	if queries {
		query, cancel := context.WithTimeout(ctx, queryTimeout)
		w.held, w.limit, w.err = s.lease.Workers(query)
		cancel()
		if w.queried = begin; ctx.Err() != nil {
			w.queried = time.Time{}
		}
	}

	held, limit, err = w.held, w.limit, w.err
	<-w.turn
	if queries {
		s.took(callDuration, "list", time.Since(begin), err)
	}
	return held, limit, err
}
