package promsnowflake

import (
	"github.com/prometheus/client_golang/prometheus" //nolint:depguard // this module exists to keep the client out of the core's

	"github.com/sqlflake/sqlflake/snowflake"
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
