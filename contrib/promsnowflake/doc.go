// Package promsnowflake exports metrics of generators and leases to Prometheus. It is a separate module. Its folder has
// a dashboard for Grafana, and alerts.yml, rules for Prometheus with the reason for each threshold. A [Collector] reads
// them when it is scraped, and observes the lengths of waits and of store calls. Each metric has the label generator,
// the name given to Add or AddLease; use the same name in all processes. To add labels, register with
// prometheus.WrapRegistererWith.
//
// Of each generator:
//
//	snowflake_ids_total               counter    IDs issued, by all generators of the worker in the process
//	snowflake_wait_seconds            histogram  waits for IDs, by reason: clock (not due yet) or lease (no worker, or
//	                                             horizon reached)
//	snowflake_wait_errors_total       counter    waits that ended with an error, so without an ID
//	snowflake_lead_seconds            gauge      how far the last ID is ahead of the generator's clock
//	snowflake_clock_drift_seconds     gauge      wall clock minus the generator's clock, compared once a second of use
//	snowflake_clock_steps_total       counter    steps forward of the wall clock that were followed
//	snowflake_worker                  gauge      the number of the worker, -1 before the first one
//	snowflake_layout_remaining_seconds  gauge    until the layout's last ID, at most 292 years
//
// Of each lease also:
//
//	snowflake_lease_held                gauge      1 if a worker is held, else 0
//	snowflake_lease_epoch               gauge      fencing number of the worker
//	snowflake_lease_horizon_seconds     gauge      until no ID may be issued unless the lease is extended; 0 if no
//	                                               worker is held
//	snowflake_lease_clock_skew_seconds  gauge      wall clock minus the store's clock
//	snowflake_lease_acquisitions_total  counter    workers acquired
//	snowflake_lease_takeovers_total     counter    acquired workers that had another owner before
//	snowflake_lease_losses_total        counter    workers lost to another owner
//	snowflake_lease_call_seconds        histogram  calls of the store, by call: acquire, extend, release
//	snowflake_lease_call_errors_total   counter    calls that failed
//	snowflake_lease_workers             gauge      workers that the layout has; a lease may have fewer to choose from
//
// Of each partitioned table, with the label table, from the collector that the example Partitions has:
//
//	snowflake_partition_covered_seconds  gauge  until rows have no partition any more; 0 if they have none
//	snowflake_partition_overdue_seconds  gauge  since a Maintain would have done something; 0 if nothing is due
//	snowflake_partition_problems         gauge  what needs a person; 1 if the table can't be read
//
// Histograms begin with Add and AddLease, so the calls of lease.Open are not in them. Counters do not
// decrease until the name is removed or added again. A lease that takes another worker continues its counters.
package promsnowflake
