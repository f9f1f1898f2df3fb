package promsnowflake

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus" //nolint:depguard // this module exists to keep the client out of the core's

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

const (
	generatorLabel = "generator"
	reasonLabel    = "reason"
	callLabel      = "call"
	listCall       = "list"
)

// workersTimeout bounds a query for the workers. Prometheus gives up a scrape after 10 s by default.
const workersTimeout = 5 * time.Second

// metric is read in each scrape.
type metric struct {
	desc   *prometheus.Desc
	kind   prometheus.ValueType
	leased bool // of leases only
}

const gauge, counter = prometheus.GaugeValue, prometheus.CounterValue

// metrics has the order of source.values.
var metrics = []metric{
	{desc("ids_total", "IDs issued."), counter, false},
	{desc("lead_seconds", "How far the last ID is ahead of the generator's clock."), gauge, false},
	{desc("clock_drift_seconds", "Wall clock minus the generator's clock."), gauge, false},
	{desc("clock_steps_total", "Steps forward of the wall clock that were followed."), counter, false},
	{desc("worker", "Number of the worker, -1 before the first one."), gauge, false},
	{desc("layout_remaining_seconds", "Time until the layout's last ID, at most 292 years."), gauge, false},
	{desc("lease_held", "1 if a worker is held, else 0."), gauge, true},
	{desc("lease_epoch", "Fencing number of the worker."), gauge, true},
	{desc("lease_horizon_seconds", "Time until no ID may be issued any more unless the lease is extended."), gauge, true},
	{desc("lease_clock_skew_seconds", "Wall clock minus the store's clock."), gauge, true},
	{desc("lease_acquisitions_total", "Workers acquired."), counter, true},
	{desc("lease_takeovers_total", "Workers acquired that had another owner before."), counter, true},
	{desc("lease_losses_total", "Workers lost to another owner."), counter, true},
}

var (
	workersHeldDesc = desc("lease_workers_held", "Workers of the lease's range that any process holds.")
	workersDesc     = desc("lease_workers", "All workers of the lease's range.")
)

func desc(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("snowflake_"+name, help, []string{generatorLabel}, nil)
}

// source is what a name stands for.
type source struct {
	gen     *snowflake.Generator
	lease   *lease.Lease // nil for a fixed worker
	stop    func()       // ends the observer
	workers workers

	base, last []float64 // by metric: the counters of the sources that had the name before, and the last values
}

func newSource(g *snowflake.Generator, l *lease.Lease) *source {
	return &source{gen: g, lease: l, base: make([]float64, len(metrics)), last: make([]float64, len(metrics))}
}

// values returns what the metrics are now.
func (s *source) values() []float64 {
	var l lease.Status
	held := 0.0
	if s.lease != nil {
		l = s.lease.Status()
	}
	if l.Held {
		held = 1
	}
	g := s.gen.Stats()
	return []float64{
		float64(g.Issued), g.Lead.Seconds(), g.Drift.Seconds(), float64(g.Steps), float64(s.gen.Worker()), g.Remaining.Seconds(),
		held, float64(l.Epoch), l.Left.Seconds(), l.Skew.Seconds(),
		float64(l.Acquisitions), float64(l.Takeovers), float64(l.Losses),
	}
}

// read returns the values of all metrics, counters with those of the sources that had the name before.
func (s *source) read() []float64 {
	for i, v := range s.values() {
		if metrics[i].kind == counter {
			// Calls that give up their wait give their IDs back. A counter that decreases would look like a restart, after
			// which Prometheus adds the whole value once more.
			v = max(s.last[i], s.base[i]+v)
		}
		s.last[i] = v
	}
	return s.last
}

// follow makes the counters of s continue those of old.
func (s *source) follow(old *source) {
	if s.shares(old) { // what is in its counters is in those of old
		copy(s.base, old.base)
	} else {
		copy(s.base, old.read())
	}
	copy(s.last, old.last)
}

// shares reports whether both have the same counters, as generators of one worker in a process.
func (s *source) shares(old *source) bool {
	return s.lease == old.lease &&
		(s.lease != nil || s.gen.Worker() == old.gen.Worker() && s.gen.Layout() == old.gen.Layout())
}

func (s *source) collect(name string, to chan<- prometheus.Metric) {
	for i, v := range s.read() {
		if m := metrics[i]; !m.leased || s.lease != nil {
			to <- prometheus.MustNewConstMetric(m.desc, m.kind, v, name)
		}
	}
}

// workers is the last answer to the question how many workers are held.
type workers struct {
	mu        sync.Mutex // held during a query: another scrape waits for its answer
	queried   time.Time
	held, all int64
	err       error
}

// collect queries again if the answer is older than every.
func (w *workers) collect(
	name string, l *lease.Lease, every time.Duration, failed prometheus.Counter, to chan<- prometheus.Metric,
) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now := time.Now(); w.queried.IsZero() || now.Sub(w.queried) >= every {
		ctx, cancel := context.WithTimeout(context.Background(), workersTimeout)
		defer cancel()
		w.queried = now
		if w.held, w.all, w.err = l.Workers(ctx); w.err != nil {
			failed.Inc()
		}
	}
	if w.err != nil {
		return
	}
	to <- prometheus.MustNewConstMetric(workersHeldDesc, gauge, float64(w.held), name)
	to <- prometheus.MustNewConstMetric(workersDesc, gauge, float64(w.all), name)
}
