package otelsnowflake

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel"        //nolint:depguard // this module exists to keep the client out of the core's
	"go.opentelemetry.io/otel/metric" //nolint:depguard // as above

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// workersTimeout bounds a query for the workers.
const workersTimeout = 5 * time.Second

// source is what a name stands for.
type source struct {
	gen     *snowflake.Generator
	lease   *lease.Lease // nil for a fixed worker
	stop    func()       // ends the observer
	name    metric.MeasurementOption
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
	// Calls that give up their wait give their IDs back, and counters must not decrease.
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

// follow makes the counters of s continue those of old.
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

func (s *source) collect(i *instruments, to metric.Observer) {
	stats, status := s.read()
	total := s.total(stats, status)
	counter := func(c metric.Int64ObservableCounter, n uint64) { to.ObserveInt64(c, int64(n), s.name) }
	seconds := func(g metric.Float64ObservableGauge, d time.Duration) { to.ObserveFloat64(g, d.Seconds(), s.name) }
	counter(i.ids, total.issued)
	counter(i.steps, total.steps)
	seconds(i.lead, stats.Lead)
	seconds(i.drift, stats.Drift)
	seconds(i.remaining, stats.Remaining)
	to.ObserveInt64(i.worker, s.gen.Worker(), s.name)
	if s.lease == nil {
		return
	}
	var held int64
	if status.Held {
		held = 1
	}
	to.ObserveInt64(i.held, held, s.name)
	to.ObserveInt64(i.epoch, status.Epoch, s.name)
	seconds(i.horizon, status.Left)
	seconds(i.skew, status.Skew)
	counter(i.acquisitions, total.acquisitions)
	counter(i.takeovers, total.takeovers)
	counter(i.losses, total.losses)
}

// workers is the last answer to the question how many workers are held.
type workers struct {
	mu        sync.Mutex // held during a query: another collection waits for its answer
	queried   time.Time
	held, all int64
	err       error
}

// query queries again if the answer is older than every.
func (w *workers) query(ctx context.Context, l *lease.Lease, every time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	if !w.queried.IsZero() && now.Sub(w.queried) < every {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, workersTimeout)
	defer cancel()
	w.queried = now
	if w.held, w.all, w.err = l.Workers(ctx); w.err != nil {
		otel.Handle(w.err)
	}
}

func (s *source) collectWorkers(i *instruments, to metric.Observer) {
	s.workers.mu.Lock()
	defer s.workers.mu.Unlock()
	if s.workers.err != nil {
		return
	}
	to.ObserveInt64(i.workersHeld, s.workers.held, s.name)
	to.ObserveInt64(i.workersLimit, s.workers.all, s.name)
}
