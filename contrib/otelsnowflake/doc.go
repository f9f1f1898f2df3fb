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
// Histograms begin with Add and AddLease, so the calls of lease.Open are not in them. Counters never decrease as long
// as the name is not removed; the provider keeps histograms even then. A lease that takes another worker continues its
// counters, and so does another generator or lease that is added under the same name.
package otelsnowflake
