package promsnowflake

import (
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus" //nolint:depguard // this module exists to keep the client out of the core's

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

func (c *Collector) observerOf(name string, leased bool) func(snowflake.Wait) {
	reasons := map[bool]string{false: "clock"}
	if leased {
		reasons[true] = "lease"
		for _, call := range []string{"acquire", "extend", "release"} {
			c.calls.WithLabelValues(name, call)
			c.callErrors.WithLabelValues(name, call)
		}
	}
	took, failed := map[bool]prometheus.Observer{}, map[bool]prometheus.Counter{}
	for leased, reason := range reasons {
		took[leased], failed[leased] = c.waits.WithLabelValues(name, reason), c.waitErrors.WithLabelValues(name, reason)
	}
	return func(w snowflake.Wait) {
		took[w.Lease].Observe(w.Took.Seconds())
		if w.Err != nil {
			failed[w.Lease].Inc()
		}
	}
}

// callsOf observes the calls of a lease's store.
func (c *Collector) callsOf(name string) func(lease.Event) {
	return func(e lease.Event) {
		if e.Kind != lease.Called {
			return
		}
		c.calls.WithLabelValues(name, e.Call).Observe(e.Took.Seconds())
		if storeFailed(e.Err) {
			c.callErrors.WithLabelValues(name, e.Call).Inc()
		}
	}
}

// storeFailed reports whether the store has failed: it has neither answered that the worker is lost or that none is
// free, nor was the call ended by lease.Close.
func storeFailed(err error) bool {
	return err != nil && !errors.Is(err, lease.ErrLost) && !errors.Is(err, lease.ErrNoWorker) && !errors.Is(err, context.Canceled)
}
