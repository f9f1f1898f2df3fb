package promsnowflake

import (
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sqlflake/sqlflake/contrib/metrics"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

const (
	generatorLabel = "generator"
	callDuration   = "snowflake.lease.call.duration"
)

// Collector is a prometheus.Collector. Its methods are safe for concurrent use. Create one with New.
type Collector struct {
	set        metrics.Set
	values     map[string]value // by the name of the metric, as the histograms
	histograms map[string]histogram
	mu         sync.Mutex // held by calls that begin and end series
}

type value struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
}

type histogram struct {
	metrics.Metric
	took   *prometheus.HistogramVec
	failed *prometheus.CounterVec
}

var _ prometheus.Collector = (*Collector)(nil)

// New returns a collector without generators.
func New() *Collector {
	c := &Collector{values: map[string]value{}, histograms: map[string]histogram{}}
	for _, m := range metrics.All() {
		name := nameOf(m)
		if m.Kind == "histogram" {
			labels := []string{generatorLabel, m.Label[strings.LastIndexByte(m.Label, '.')+1:]}
			took := prometheus.HistogramOpts{Name: name, Help: m.Help, Buckets: m.Buckets}
			errorsName := strings.TrimSuffix(name, "seconds") + "errors_total"
			failed := prometheus.CounterOpts{Name: errorsName, Help: m.Help + " Those that failed."}
			c.histograms[m.Name] = histogram{
				Metric: m,
				took:   prometheus.NewHistogramVec(took, labels),
				failed: prometheus.NewCounterVec(failed, labels),
			}
			continue
		}

		kind := prometheus.GaugeValue
		if m.Kind == "counter" {
			kind = prometheus.CounterValue
		}

		c.values[m.Name] = value{prometheus.NewDesc(name, m.Help, []string{generatorLabel}, nil), kind}
	}

	return c
}

// inPrometheus has what is named differently here than in package metrics, but for the suffix.
var inPrometheus = strings.NewReplacer(
	".duration", "",
	".", "_",
)

func nameOf(m metrics.Metric) string {
	name := inPrometheus.Replace(m.Name)
	switch {
	case m.Kind == "counter":
		return name + "_total"
	case m.Unit == "s":
		return name + "_seconds"
	}
	return name
}

// Add exports the figures of a generator with a fixed worker. It replaces the generator or lease that has the name.
func (c *Collector) Add(name string, g *snowflake.Generator) {
	c.add(name, g, nil)
}

// AddLease is Add for a lease and its generator. Remove the name before you close the lease: a closed one looks like
// one without a worker.
func (c *Collector) AddLease(name string, l *lease.Lease) {
	c.add(name, l.Generator(), l)
}

func (c *Collector) add(name string, g *snowflake.Generator, l *lease.Lease) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set.Add(name, g, l, c.observer(name, l != nil))
}

// observer begins the histograms of a name. It keeps their series, so that a late observation does not bring back those
// that Remove has deleted.
func (c *Collector) observer(name string, leased bool) func(metrics.Value) {
	type series struct {
		took   prometheus.Observer
		failed prometheus.Counter
	}

	all := map[string]series{} // by the label's value, which differs between the two histograms
	for _, h := range c.histograms {
		for _, value := range h.Values {
			if leased || value == "clock" {
				all[value] = series{h.took.WithLabelValues(name, value), h.failed.WithLabelValues(name, value)}
			}
		}
	}

	return func(v metrics.Value) {
		s := all[v.Label]
		s.took.Observe(v.Value)
		if failed(v) {
			s.failed.Inc()
		}
	}
}

// failed reports whether a wait ended without an ID, or a call of the store failed: it has neither answered that the
// worker is lost or that none is free, nor was the call ended by lease.Close.
func failed(v metrics.Value) bool {
	isAnswer := v.Metric == callDuration && slices.Contains([]string{"lost", "no_worker", "canceled"}, v.ErrorType)
	return v.ErrorType != "" && !isAnswer
}

// Remove ends the export of the generator or lease with the name.
func (c *Collector) Remove(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set.Remove(name)
	for _, h := range c.histograms {
		h.took.DeletePartialMatch(prometheus.Labels{generatorLabel: name})
		h.failed.DeletePartialMatch(prometheus.Labels{generatorLabel: name})
	}
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(to chan<- *prometheus.Desc) {
	for _, m := range c.values {
		to <- m.desc
	}
	for _, h := range c.histograms {
		h.took.Describe(to)
		h.failed.Describe(to)
	}
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(to chan<- prometheus.Metric) {
	for _, v := range c.set.Read() {
		m := c.values[v.Metric]
		to <- prometheus.MustNewConstMetric(m.desc, m.kind, v.Value, v.Generator)
	}
	for _, h := range c.histograms {
		h.took.Collect(to)
		h.failed.Collect(to)
	}
}
