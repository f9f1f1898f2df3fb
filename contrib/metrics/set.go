package metrics

import (
	"strings"
	"sync"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// Set is the generators of an exporter. Its methods are safe for concurrent use. The zero Set is empty.
type Set struct {
	mu      sync.Mutex
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

// Read returns the values of all counters and gauges. A counter does not decrease as long as its name is not removed.
func (s *Set) Read() []Value {
	s.mu.Lock()
	defer s.mu.Unlock()

	var values []Value
	for name, src := range s.sources {
		for i, v := range src.read() {
			if src.lease != nil || !strings.HasPrefix(all[i].Name, "snowflake.lease.") {
				values = append(values, Value{Metric: all[i].Name, Generator: name, Value: v})
			}
		}
	}
	return values
}

// source is what a name stands for.
type source struct {
	name    string
	gen     *snowflake.Generator
	lease   *lease.Lease // nil for a fixed worker
	observe func(Value)
	stop    func() // ends the observations

	base, last []float64 // of each metric: the counters of the sources that had the name before, and the last values
}

func newSource(name string, g *snowflake.Generator, l *lease.Lease, observe func(Value)) *source {
	if observe == nil {
		observe = func(Value) {}
	}
	base, last := make([]float64, len(all)), make([]float64, len(all))
	return &source{name: name, gen: g, lease: l, observe: observe, base: base, last: last}
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
		float64(s.gen.Layout().MaxWorker() + 1),
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
