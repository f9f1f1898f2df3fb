package otelsnowflake

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute" //nolint:depguard // this module exists to keep the client out of the core's
	"go.opentelemetry.io/otel/metric"    //nolint:depguard // as above

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

const scope = "github.com/sqlflake/sqlflake/snowflake/otelsnowflake"

// Meter exports figures. Its methods are safe for concurrent use. Create one with New.
type Meter struct {
	instruments  instruments
	registration metric.Registration

	mu      sync.Mutex
	every   time.Duration // 0: no query for the workers
	sources map[string]*source
}

// New returns a meter without generators. otel.GetMeterProvider returns the global provider. The errors are those of the
// provider.
func New(provider metric.MeterProvider) (*Meter, error) {
	m := &Meter{sources: map[string]*source{}}
	meter := provider.Meter(scope)
	if err := m.instruments.create(meter); err != nil {
		return nil, err
	}
	var err error
	m.registration, err = meter.RegisterCallback(m.collect, m.instruments.observables...)
	return m, err
}

// Add exports the figures of a generator with a fixed worker. It replaces the generator or lease that has the name, and
// continues its counters.
func (m *Meter) Add(name string, g *snowflake.Generator) { m.add(name, &source{gen: g}) }

// AddLease exports the figures of a lease and of its generator. It replaces the generator or lease that has the name, and
// continues its counters. Remove the name before you close the lease: a closed one looks like one without a worker.
func (m *Meter) AddLease(name string, l *lease.Lease) {
	m.add(name, &source{gen: l.Generator(), lease: l})
}

func (m *Meter) add(name string, s *source) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if old := m.sources[name]; old != nil {
		old.stop()
		s.follow(old)
	}
	s.name = metric.WithAttributeSet(attribute.NewSet(attribute.String(generatorKey, name)))
	o := observer{m, name}
	s.stop = s.gen.Observe(o.wait)
	if s.lease != nil {
		waits, calls := s.stop, s.lease.Observe(o.event)
		s.stop = func() {
			waits()
			calls()
		}
	}
	m.sources[name] = s
}

// Remove ends the export of the generator or lease with the name. The provider still exports its histograms, which do not
// change any more.
func (m *Meter) Remove(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.sources[name]; s != nil {
		s.stop()
		delete(m.sources, name)
	}
}

// QueryWorkers adds how many workers of each lease any process holds, and how many there are. A collection then reads
// the lease's namespace with Store.List if the last result is older than every. Each process reads the whole namespace,
// so a minute or more is appropriate. A query is given up after 5 s. While a store does not answer, these two metrics of
// its leases are missing, and otel.Handle receives its error. 0 ends it.
func (m *Meter) QueryWorkers(every time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.every = every
}

// Close ends the export.
func (m *Meter) Close() error {
	m.mu.Lock()
	for name, s := range m.sources {
		s.stop()
		delete(m.sources, name)
	}
	m.mu.Unlock()
	return m.registration.Unregister() // it may wait for a collection, which takes the lock
}

// collect returns no error: a periodic reader would then export no metric of the whole process.
func (m *Meter) collect(ctx context.Context, to metric.Observer) error {
	m.mu.Lock()
	var asked []*source
	var queries sync.WaitGroup // all at once and without the lock: a store that does not answer delays no other
	for _, s := range m.sources {
		s.collect(&m.instruments, to)
		if s.lease != nil && m.every > 0 {
			every := m.every
			asked = append(asked, s)
			queries.Go(func() { s.workers.query(ctx, s.lease, every) })
		}
	}
	m.mu.Unlock()
	queries.Wait()
	for _, s := range asked {
		s.collectWorkers(&m.instruments, to)
	}
	return nil
}
