package promsnowflake

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus" //nolint:depguard // this module exists to keep the client out of the core's

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// Collector is a prometheus.Collector. Its methods are safe for concurrent use. Create one with New.
type Collector struct {
	waits, calls           *prometheus.HistogramVec
	waitErrors, callErrors *prometheus.CounterVec

	mu      sync.Mutex
	every   time.Duration // 0: no query for the workers
	sources map[string]*source
}

var _ prometheus.Collector = (*Collector)(nil)

// buckets go from the shortest wait to the longest: for the horizon of the owner before, up to lease.MaxWindow.
var buckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 600}

// New returns a collector without generators.
func New() *Collector {
	histogram := func(name, help, label string) *prometheus.HistogramVec {
		opts := prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}
		return prometheus.NewHistogramVec(opts, []string{generatorLabel, label})
	}
	errorsOf := func(name, help, label string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{generatorLabel, label})
	}
	return &Collector{
		waits: histogram("snowflake_wait_seconds", "Waits for IDs, by reason: clock or lease.", reasonLabel),
		waitErrors: errorsOf("snowflake_wait_errors_total",
			"Waits for IDs that ended with an error, by reason: clock or lease.", reasonLabel),
		calls: histogram("snowflake_lease_call_seconds",
			"Calls of the lease's store, by call: acquire, extend or release.", callLabel),
		callErrors: errorsOf("snowflake_lease_call_errors_total",
			"Calls of the lease's store that failed, by call: acquire, extend, release or list.", callLabel),
		sources: map[string]*source{},
	}
}

// Add exports the figures of a generator with a fixed worker. It replaces the generator or lease that has the name, and
// continues its counters.
func (c *Collector) Add(name string, g *snowflake.Generator) { c.add(name, newSource(g, nil)) }

// AddLease exports the figures of a lease and of its generator. It replaces the generator or lease that has the name, and
// continues its counters. Remove the name before you close the lease: a closed one looks like one without a worker.
func (c *Collector) AddLease(name string, l *lease.Lease) { c.add(name, newSource(l.Generator(), l)) }

func (c *Collector) add(name string, s *source) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.sources[name]; old != nil {
		old.stop()
		s.follow(old)
	}
	s.stop = s.gen.Observe(c.observerOf(name, s.lease != nil))
	if s.lease != nil {
		waits, calls := s.stop, s.lease.Observe(c.callsOf(name))
		s.stop = func() {
			waits()
			calls()
		}
	}
	c.sources[name] = s
}

// Remove ends the export of the generator or lease with the name.
func (c *Collector) Remove(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.sources[name]
	if s == nil {
		return
	}
	s.stop()
	delete(c.sources, name)
	match := prometheus.Labels{generatorLabel: name}
	c.waits.DeletePartialMatch(match)
	c.waitErrors.DeletePartialMatch(match)
	c.calls.DeletePartialMatch(match)
	c.callErrors.DeletePartialMatch(match)
}

// QueryWorkers adds how many workers of each lease any process holds, and how many there are. A scrape then reads the
// lease's namespace with Store.List if the last result is older than every, and gives up after 5 s. Each
// process reads the whole namespace, so a minute or more is appropriate. While a store does not answer, these two metrics
// of its leases are missing. 0 ends it.
func (c *Collector) QueryWorkers(every time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.every = every
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(to chan<- *prometheus.Desc) {
	for _, m := range metrics {
		to <- m.desc
	}
	to <- workersHeldDesc
	to <- workersDesc
	for _, v := range c.vectors() {
		v.Describe(to)
	}
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(to chan<- prometheus.Metric) {
	c.mu.Lock()
	var queries sync.WaitGroup // all at once and without the lock: a store that does not answer delays no other
	for name, s := range c.sources {
		s.collect(name, to)
		if s.lease != nil && c.every > 0 {
			every, failed := c.every, c.callErrors.WithLabelValues(name, listCall)
			queries.Go(func() { s.workers.collect(name, s.lease, every, failed, to) })
		}
	}
	c.mu.Unlock()
	queries.Wait()
	for _, v := range c.vectors() {
		v.Collect(to)
	}
}

func (c *Collector) vectors() []prometheus.Collector {
	return []prometheus.Collector{c.waits, c.waitErrors, c.calls, c.callErrors}
}
