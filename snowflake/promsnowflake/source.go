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

var all []*prometheus.Desc

func desc(name, help string) *prometheus.Desc {
	d := prometheus.NewDesc(name, help, []string{generatorLabel}, nil)
	all = append(all, d)
	return d
}

var (
	idsDesc       = desc("snowflake_ids_total", "IDs issued.")
	leadDesc      = desc("snowflake_lead_seconds", "How far the last ID is ahead of the generator's clock.")
	driftDesc     = desc("snowflake_clock_drift_seconds", "Wall clock minus the generator's clock.")
	stepsDesc     = desc("snowflake_clock_steps_total", "Steps forward of the wall clock that were followed.")
	workerDesc    = desc("snowflake_worker", "Number of the worker, -1 before the first one.")
	remainingDesc = desc("snowflake_layout_remaining_seconds", "Time until the layout's last ID, at most 292 years.")

	heldDesc         = desc("snowflake_lease_held", "1 if a worker is held, else 0.")
	epochDesc        = desc("snowflake_lease_epoch", "Fencing number of the worker.")
	horizonDesc      = desc("snowflake_lease_horizon_seconds", "Time until no ID may be issued any more unless the lease is extended.")
	skewDesc         = desc("snowflake_lease_clock_skew_seconds", "Wall clock minus the store's clock.")
	acquisitionsDesc = desc("snowflake_lease_acquisitions_total", "Workers acquired.")
	takeoversDesc    = desc("snowflake_lease_takeovers_total", "Workers acquired that another owner has had before.")
	lossesDesc       = desc("snowflake_lease_losses_total", "Workers lost to another owner.")

	workersHeldDesc = desc("snowflake_lease_workers_held", "Workers of the lease's range that any process holds.")
	workersDesc     = desc("snowflake_lease_workers", "All workers of the lease's range.")
)

// source is what a name stands for.
type source struct {
	gen     *snowflake.Generator
	lease   *lease.Lease // nil for a fixed worker
	stop    func()       // ends the observer
	workers workers

	base   totals // of the sources that had the name before
	issued uint64 // the greatest number of IDs reported
}

// totals are counters that are read.
type totals struct{ issued, steps, acquisitions, takeovers, losses uint64 }

// total returns the counters of all sources that the name stood for.
func (s *source) total(stats snowflake.Stats, status lease.Status) totals {
	t := totals{
		issued:       s.base.issued + stats.Issued,
		steps:        s.base.steps + stats.Steps,
		acquisitions: s.base.acquisitions + status.Acquisitions,
		takeovers:    s.base.takeovers + status.Takeovers,
		losses:       s.base.losses + status.Losses,
	}
	// Calls that give up their wait give their IDs back. A counter that decreases would look like a restart, after which
	// Prometheus adds the whole value once more.
	s.issued = max(s.issued, t.issued)
	t.issued = s.issued
	return t
}

func (s *source) read() (snowflake.Stats, lease.Status) {
	if s.lease == nil {
		return s.gen.Stats(), lease.Status{}
	}
	return s.gen.Stats(), s.lease.Status()
}

// follow makes s go on with the counters of old.
func (s *source) follow(old *source) {
	s.base = old.total(old.read())
	s.issued = s.base.issued
	if s.shares(old) { // what is in its counters is in those of old
		s.base, s.issued = old.base, old.issued
	}
}

// shares reports whether both have the same counters, as generators of one worker in a process.
func (s *source) shares(old *source) bool {
	return s.lease == old.lease &&
		(s.lease != nil || s.gen.Worker() == old.gen.Worker() && s.gen.Layout() == old.gen.Layout())
}

func (s *source) collect(name string, to chan<- prometheus.Metric) {
	stats, status := s.read()
	total := s.total(stats, status)
	counter := func(d *prometheus.Desc, n uint64) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), name)
	}
	gauge := func(d *prometheus.Desc, v float64) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, name)
	}
	counter(idsDesc, total.issued)
	counter(stepsDesc, total.steps)
	gauge(leadDesc, stats.Lead.Seconds())
	gauge(driftDesc, stats.Drift.Seconds())
	gauge(workerDesc, float64(s.gen.Worker()))
	gauge(remainingDesc, stats.Remaining.Seconds())
	if s.lease == nil {
		return
	}
	held := 0.0
	if status.Held {
		held = 1
	}
	gauge(heldDesc, held)
	gauge(epochDesc, float64(status.Epoch))
	gauge(horizonDesc, status.Left.Seconds())
	gauge(skewDesc, status.Skew.Seconds())
	counter(acquisitionsDesc, total.acquisitions)
	counter(takeoversDesc, total.takeovers)
	counter(lossesDesc, total.losses)
}

// workers is the last answer to the question how many workers are held.
type workers struct {
	mu        sync.Mutex // held during the question: another scrape waits for the answer
	asked     time.Time
	held, all int64
	err       error
}

// collect asks again if the answer is older than every.
func (w *workers) collect(name string, l *lease.Lease, every time.Duration, failed prometheus.Counter, to chan<- prometheus.Metric) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now := time.Now(); w.asked.IsZero() || now.Sub(w.asked) >= every {
		ctx, cancel := context.WithTimeout(context.Background(), workersTimeout)
		defer cancel()
		w.asked = now
		if w.held, w.all, w.err = l.Workers(ctx); w.err != nil {
			failed.Inc()
		}
	}
	if w.err != nil {
		return
	}
	to <- prometheus.MustNewConstMetric(workersHeldDesc, prometheus.GaugeValue, float64(w.held), name)
	to <- prometheus.MustNewConstMetric(workersDesc, prometheus.GaugeValue, float64(w.all), name)
}
