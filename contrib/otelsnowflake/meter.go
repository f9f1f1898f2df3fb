// Package otelsnowflake exports the figures of generators and leases as OpenTelemetry metrics. It is a separate module.
//
// A [Meter] reads them when the provider collects, and observes the lengths of waits and of store calls. Each metric
// has the attribute snowflake.generator, the name given to Add or AddLease; use the same name in all processes.
//
// [metrics.All] has the kind, unit and meaning of each metric. Of a generator: snowflake.ids, snowflake.wait.duration,
// snowflake.lead, snowflake.clock.drift, snowflake.clock.steps, snowflake.worker and snowflake.layout.remaining. Of a
// lease also snowflake.lease.held, .epoch, .horizon, .clock.skew, .acquisitions, .takeovers, .losses, .workers and
// .call.duration.
//
// The attribute snowflake.wait.reason is clock (the ID is not due yet) or lease (no worker, or its horizon is reached),
// snowflake.lease.call is acquire, extend or release. Waits and calls that ended with an error have error.type:
// timeout, canceled, lost (to another owner), no_worker (all are held) or _OTHER.
//
// Histograms begin with Add and AddLease, so the calls of lease.Open are not in them. Counters do not
// decrease until the name is removed or added again; the provider keeps histograms even then. A lease that takes
// another worker continues its counters.
package otelsnowflake

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/sqlflake/sqlflake/contrib/metrics"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

const scope = "github.com/sqlflake/sqlflake/contrib/otelsnowflake"

// Meter exports figures. Its methods are safe for concurrent use. Create one with New.
type Meter struct {
	set          metrics.Set
	numbers      map[string]metric.Int64Observable // by the name of the metric, as the others
	seconds      map[string]metric.Float64Observable
	histograms   map[string]histogram
	registration metric.Registration
}

type histogram struct {
	metric.Float64Histogram
	label string
}

// New returns a meter without generators. otel.GetMeterProvider returns the global provider. The errors are the same as
// of the provider.
func New(provider metric.MeterProvider) (*Meter, error) {
	m := &Meter{
		numbers:    map[string]metric.Int64Observable{},
		seconds:    map[string]metric.Float64Observable{},
		histograms: map[string]histogram{},
	}

	meter := provider.Meter(scope)
	var (
		observables []metric.Observable
		errs        []error
		err         error
	)

	for _, d := range metrics.All() {
		unit, help := metric.WithUnit(d.Unit), metric.WithDescription(d.Help)
		switch {
		case d.Kind == "histogram":
			h := histogram{label: d.Label}
			h.Float64Histogram, err = meter.Float64Histogram(d.Name, unit, help,
				metric.WithExplicitBucketBoundaries(d.Buckets...))
			m.histograms[d.Name] = h
		case d.Kind == "counter":
			m.numbers[d.Name], err = meter.Int64ObservableCounter(d.Name, unit, help)
		case d.Unit == "s":
			m.seconds[d.Name], err = meter.Float64ObservableGauge(d.Name, unit, help)
		default:
			m.numbers[d.Name], err = meter.Int64ObservableGauge(d.Name, unit, help)
		}

		errs = append(errs, err)
	}

	if err = errors.Join(errs...); err != nil {
		return nil, err
	}

	for _, o := range m.numbers {
		observables = append(observables, o)
	}
	for _, o := range m.seconds {
		observables = append(observables, o)
	}

	m.registration, err = meter.RegisterCallback(m.collect, observables...)
	return m, err
}

// Add exports the figures of a generator with a fixed worker. It replaces the generator or lease that has the name.
func (m *Meter) Add(name string, g *snowflake.Generator) { m.set.Add(name, g, nil, m.observe) }

// AddLease is Add for a lease and its generator. Remove the name before you close the lease: a closed one looks like
// one without a worker.
func (m *Meter) AddLease(name string, l *lease.Lease) { m.set.Add(name, l.Generator(), l, m.observe) }

func (m *Meter) observe(v metrics.Value) {
	h := m.histograms[v.Metric]
	attributes := []attribute.KeyValue{attribute.String(generatorKey, v.Generator), attribute.String(h.label, v.Label)}
	if v.Err != nil {
		attributes = append(attributes, attribute.String("error.type", v.ErrorType))
	}
	h.Record(context.Background(), v.Value, metric.WithAttributes(attributes...))
}

const generatorKey = "snowflake.generator"

// Remove ends the export of the generator or lease with the name. The provider still exports its histograms, which no
// longer change.
func (m *Meter) Remove(name string) { m.set.Remove(name) }

// Close ends the export.
func (m *Meter) Close() error {
	m.set.Clear()
	return m.registration.Unregister()
}

// collect returns no error: a periodic reader would then export no metric of the whole process.
func (m *Meter) collect(_ context.Context, to metric.Observer) error {
	for _, v := range m.set.Read() {
		name := metric.WithAttributes(attribute.String(generatorKey, v.Generator))
		if seconds, ok := m.seconds[v.Metric]; ok {
			to.ObserveFloat64(seconds, v.Value, name)
		} else {
			to.ObserveInt64(m.numbers[v.Metric], int64(v.Value), name)
		}
	}
	return nil
}
