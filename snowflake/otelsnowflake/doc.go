// Package otelsnowflake exports the figures of generators and leases as OpenTelemetry metrics. It is a separate module.
//
// A [Meter] reads them when the provider collects, and observes the lengths of waits and of store calls. Each metric has
// the attribute snowflake.generator, the name given to Add or AddLease; use the same name in all processes.
//
// Of each generator:
//
//	snowflake.ids               {id}    counter    IDs issued, by all generators of the worker in the process
//	snowflake.wait.duration     s       histogram  waits for IDs
//	snowflake.lead              s       gauge      how far the last ID is ahead of the generator's clock
//	snowflake.clock.drift       s       gauge      wall clock minus the generator's clock, compared once a second of use
//	snowflake.clock.steps       {step}  counter    steps forward of the wall clock that were followed
//	snowflake.worker            1       gauge      the number of the worker, -1 before the first one
//	snowflake.layout.remaining  s       gauge      until the layout's last ID, at most 292 years
//
// Of each lease also:
//
//	snowflake.lease.held           1              gauge      1 if a worker is held, else 0
//	snowflake.lease.epoch          1              gauge      fencing number of the worker
//	snowflake.lease.horizon        s              gauge      until no ID may be issued any more, unless the lease is extended; 0 if none is held
//	snowflake.lease.clock.skew     s              gauge      wall clock minus the store's clock
//	snowflake.lease.acquisitions   {acquisition}  counter    workers acquired
//	snowflake.lease.takeovers      {takeover}     counter    acquired workers that had another owner before
//	snowflake.lease.losses         {loss}         counter    workers lost to another owner
//	snowflake.lease.call.duration  s              histogram  calls of the store
//
// And after [Meter.QueryWorkers]:
//
//	snowflake.lease.worker.held   {worker}  gauge  workers that any process holds
//	snowflake.lease.worker.limit  {worker}  gauge  all workers of the lease's range
//
// The attribute snowflake.wait.reason is clock (the ID is not due yet) or lease (no worker, or its horizon is reached),
// snowflake.lease.call is acquire, extend or release. Waits and calls that ended with an error have error.type: timeout,
// canceled, lost (to another owner), no_worker (all are held) or _OTHER.
//
// Histograms begin with Add and AddLease, so the calls of lease.Open are not in them. Counters never decrease as long
// as the name is not removed; the provider keeps histograms even then. A lease that takes another worker continues its
// counters, and so does another generator or lease that is added under the same name.
package otelsnowflake
