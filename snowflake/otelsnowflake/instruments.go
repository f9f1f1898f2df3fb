package otelsnowflake

import (
	"errors"

	"go.opentelemetry.io/otel/metric" //nolint:depguard // this module exists to keep the client out of the core's
)

type instruments struct {
	ids, steps, acquisitions, takeovers, losses metric.Int64ObservableCounter
	worker, held, epoch                         metric.Int64ObservableGauge
	workersHeld, workersLimit                   metric.Int64ObservableGauge
	lead, drift, remaining, horizon, skew       metric.Float64ObservableGauge
	wait, call                                  metric.Float64Histogram

	observables []metric.Observable
}

// buckets go from the shortest wait to the longest: for the horizon of the owner before, up to lease.MaxWindow.
var buckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 600}

func (i *instruments) create(meter metric.Meter) error {
	var errs []error
	counter := func(name, unit, description string) metric.Int64ObservableCounter {
		c, err := meter.Int64ObservableCounter(name, metric.WithUnit(unit), metric.WithDescription(description))
		errs, i.observables = append(errs, err), append(i.observables, c)
		return c
	}
	number := func(name, unit, description string) metric.Int64ObservableGauge {
		g, err := meter.Int64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(description))
		errs, i.observables = append(errs, err), append(i.observables, g)
		return g
	}
	seconds := func(name, description string) metric.Float64ObservableGauge {
		g, err := meter.Float64ObservableGauge(name, metric.WithUnit("s"), metric.WithDescription(description))
		errs, i.observables = append(errs, err), append(i.observables, g)
		return g
	}
	histogram := func(name, description string) metric.Float64Histogram {
		h, err := meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(description),
			metric.WithExplicitBucketBoundaries(buckets...))
		errs = append(errs, err)
		return h
	}
	i.ids = counter("snowflake.ids", "{id}", "IDs issued.")
	i.wait = histogram("snowflake.wait.duration", "Waits for IDs.")
	i.lead = seconds("snowflake.lead", "How far the last ID is ahead of the generator's clock.")
	i.drift = seconds("snowflake.clock.drift", "Wall clock minus the generator's clock.")
	i.steps = counter("snowflake.clock.steps", "{step}", "Steps forward of the wall clock that were followed.")
	i.worker = number("snowflake.worker", "1", "Number of the worker, -1 before the first one.")
	i.remaining = seconds("snowflake.layout.remaining", "Time until the layout's last ID, at most 292 years.")
	i.held = number("snowflake.lease.held", "1", "1 if a worker is held, else 0.")
	i.epoch = number("snowflake.lease.epoch", "1", "Fencing number of the worker.")
	i.horizon = seconds("snowflake.lease.horizon", "Time until no ID may be issued any more unless the lease is extended.")
	i.skew = seconds("snowflake.lease.clock.skew", "Wall clock minus the store's clock.")
	i.acquisitions = counter("snowflake.lease.acquisitions", "{acquisition}", "Workers acquired.")
	i.takeovers = counter("snowflake.lease.takeovers", "{takeover}", "Workers acquired that had another owner before.")
	i.losses = counter("snowflake.lease.losses", "{loss}", "Workers lost to another owner.")
	i.call = histogram("snowflake.lease.call.duration", "Calls of the lease's store.")
	i.workersHeld = number("snowflake.lease.worker.held", "{worker}", "Workers of the lease's range that any process holds.")
	i.workersLimit = number("snowflake.lease.worker.limit", "{worker}", "All workers of the lease's range.")
	return errors.Join(errs...)
}
