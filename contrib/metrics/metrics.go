// Package metrics is for authors of exporters; programs use promsnowflake or otelsnowflake. An exporter describes the
// metrics of [All], and adds generators and leases to a [Set]. [Set.Read] returns counters and gauges, [Set.Add]
// reports waits and calls of stores.
package metrics

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// Metric describes a metric. Its first label is snowflake.generator, the name given to Add.
type Metric struct {
	Name   string   // such as "snowflake.lease.horizon"
	Kind   string   // "counter", "gauge" or "histogram"
	Unit   string   // of UCUM: "s", "1", or what is counted, such as "{id}"; only seconds have a fraction
	Help   string   // one sentence
	Label  string   // of a histogram: the second label, such as "snowflake.wait.reason"
	Values []string // of the second label
	// Buckets are the upper bounds of a histogram's buckets in seconds. They go from the shortest wait to the longest:
	// for the horizon of the owner before, up to lease.MaxWindow.
	Buckets []float64
}

const (
	waitDuration = "snowflake.wait.duration"
	callDuration = "snowflake.lease.call.duration"
)

var buckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 600}

// all begins with the metrics of source.values, in its order.
var all = []Metric{
	{Name: "snowflake.ids", Kind: "counter", Unit: "{id}", Help: "IDs issued."},
	{Name: "snowflake.lead", Kind: "gauge", Unit: "s", Help: "How far the last ID is ahead of the generator's clock."},
	{Name: "snowflake.clock.drift", Kind: "gauge", Unit: "s", Help: "Wall clock minus the generator's clock."},
	{
		Name: "snowflake.clock.steps", Kind: "counter", Unit: "{step}",
		Help: "Steps forward of the wall clock that were followed.",
	},
	{Name: "snowflake.worker", Kind: "gauge", Unit: "1", Help: "Number of the worker, -1 before the first one."},
	{
		Name: "snowflake.layout.remaining", Kind: "gauge", Unit: "s",
		Help: "Time until the layout's last ID, at most 292 years.",
	},
	{Name: "snowflake.lease.held", Kind: "gauge", Unit: "1", Help: "1 if a worker is held, else 0."},
	{Name: "snowflake.lease.epoch", Kind: "gauge", Unit: "1", Help: "Fencing number of the worker."},
	{
		Name: "snowflake.lease.horizon", Kind: "gauge", Unit: "s",
		Help: "Time until no ID may be issued unless the lease is extended.",
	},
	{Name: "snowflake.lease.clock.skew", Kind: "gauge", Unit: "s", Help: "Wall clock minus the store's clock."},
	{Name: "snowflake.lease.acquisitions", Kind: "counter", Unit: "{acquisition}", Help: "Workers acquired."},
	{
		Name: "snowflake.lease.takeovers", Kind: "counter", Unit: "{takeover}",
		Help: "Acquired workers that had another owner before.",
	},
	{Name: "snowflake.lease.losses", Kind: "counter", Unit: "{loss}", Help: "Workers lost to another owner."},
	{Name: "snowflake.lease.workers", Kind: "gauge", Unit: "{worker}", Help: "Workers that the layout has."},
	{
		Name: waitDuration, Kind: "histogram", Unit: "s", Help: "Waits for IDs.",
		Label: "snowflake.wait.reason", Values: []string{"clock", "lease"}, Buckets: buckets,
	},
	{
		Name: callDuration, Kind: "histogram", Unit: "s", Help: "Calls of the lease's store.",
		Label: "snowflake.lease.call", Values: []string{"acquire", "extend", "release"}, Buckets: buckets,
	},
}

// All returns the metrics. Those whose names begin with "snowflake.lease." are of leases only.
func All() []Metric { return slices.Clone(all) }

// Value is what a counter or a gauge is now, or the length of a wait for IDs or of a call of a lease's store.
type Value struct {
	Metric    string // the Name of the metric
	Generator string // the name given to Add
	Value     float64

	// Only of a length, which is in seconds by the monotonic clock.
	Label string // the value of the histogram's label
	Err   error  // that ended it, or nil
	// ErrorType is "" without an error, "lost" if another owner has the worker, "no_worker" if all are held,
	// "canceled", "timeout" (also of a wait for a lease), or "_OTHER".
	ErrorType string
}

// errorTypes has the first ones first: an error may match several.
var errorTypes = []struct {
	err  error
	name string
}{
	{lease.ErrLost, "lost"},
	{lease.ErrNoWorker, "no_worker"},
	{context.Canceled, "canceled"},
	{context.DeadlineExceeded, "timeout"},
	{snowflake.ErrLeaseStalled, "timeout"},
}

func errorType(err error) string {
	if err == nil {
		return ""
	}
	for _, known := range errorTypes {
		if errors.Is(err, known.err) {
			return known.name
		}
	}
	return "_OTHER"
}

// Set is the generators of an exporter. Its methods are safe for concurrent use. The zero Set is empty.
type Set struct {
	mu      sync.Mutex
	sources map[string]*source
}

// Add adds a generator with its lease, which is nil for a fixed worker. It replaces the generator that has the name:
// counters begin again, as after a restart of the process. Remove the name before the lease is closed: a closed one
// looks like one without a worker.
//
// observe is called after each wait and each call of the store from now on, unless it is nil: as by
// [snowflake.Generator.Observe] and [lease.Lease.Observe].
func (s *Set) Add(name string, g *snowflake.Generator, l *lease.Lease, observe func(Value)) {
	if observe == nil {
		observe = func(Value) {}
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(name)
	if s.sources == nil {
		s.sources = map[string]*source{}
	}

	added := &source{name: name, gen: g, lease: l, observe: observe, last: make([]float64, len(all))}
	added.start()
	s.sources[name] = added
}

// Remove removes the generator with the name, and its lease.
func (s *Set) Remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(name)
}

// remove removes a generator, if there is one with the name. The caller has the lock.
func (s *Set) remove(name string) {
	if old := s.sources[name]; old != nil {
		old.stop()
		delete(s.sources, name)
	}
}

// Clear removes all.
func (s *Set) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.sources {
		s.remove(name)
	}
}

// Read returns the values of all counters and gauges. A counter does not decrease until its name is
// removed or added again.
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
	stops   []func() // which end the observations

	last []float64 // of each metric
}

// took observes a length.
func (s *source) took(metric, label string, took time.Duration, err error) {
	s.observe(Value{metric, s.name, took.Seconds(), label, err, errorType(err)})
}

// start begins the observations.
func (s *source) start() {
	s.stops = append(s.stops, s.gen.Observe(func(w snowflake.Wait) {
		reason := "clock"
		if w.Lease {
			reason = "lease"
		}
		s.took(waitDuration, reason, w.Took, w.Err)
	}))

	if s.lease != nil {
		s.stops = append(s.stops, s.lease.Observe(func(e lease.Event) {
			if e.Kind == lease.Called {
				s.took(callDuration, e.Call, e.Took, e.Err)
			}
		}))
	}
}

func (s *source) stop() {
	for _, stop := range s.stops {
		stop()
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

// read returns the values.
func (s *source) read() []float64 {
	values := s.values()
	for i := range values {
		if all[i].Kind == "counter" {
			// Calls that give up their wait give their IDs back. A counter that decreases would look like a restart,
			// after which Prometheus adds the whole value once more.
			values[i] = max(s.last[i], values[i])
		}
	}
	s.last = values
	return values
}
