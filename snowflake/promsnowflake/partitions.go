package promsnowflake

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus" //nolint:depguard // this module exists to keep the client out of the core's

	"github.com/sqlflake/sqlflake/sqltypes/partition" //nolint:depguard // an exporter may import what it exports
)

// Partitions returns a collector with the state of a table's partitions. It calls plan in each scrape, for at most 5 s:
//
//	registry.MustRegister(promsnowflake.Partitions("events", func(ctx context.Context) (*partition.Plan, error) {
//		return set.Plan(ctx, db)
//	}))
//
// All times are by the clock of the database, so it does not matter which process maintains the table: one process of
// the application is enough, or an own one beside a maintenance by cron. While plan returns errors, there is only
// snowflake_partition_problems.
func Partitions(table string, plan func(context.Context) (*partition.Plan, error)) prometheus.Collector {
	desc := func(name, help string) *prometheus.Desc { // the table is a constant label: each has its own descriptions
		return prometheus.NewDesc("snowflake_partition_"+name, help, nil, prometheus.Labels{"table": table})
	}
	return partitions{
		plan:     plan,
		covered:  desc("covered_seconds", "Time until rows have no partition any more; 0 if they have none."),
		overdue:  desc("overdue_seconds", "Time since a Maintain would have done something; 0 if there is nothing to do."),
		problems: desc("problems", "Problems of the plan, which need a person; 1 if it can't be made."),
	}
}

type partitions struct {
	plan                       func(context.Context) (*partition.Plan, error)
	covered, overdue, problems *prometheus.Desc
}

func (p partitions) Describe(to chan<- *prometheus.Desc) {
	to <- p.covered
	to <- p.overdue
	to <- p.problems
}

func (p partitions) Collect(to chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v)
	}

	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()

	plan, err := p.plan(ctx)
	if err != nil {
		gauge(p.problems, 1)
		return
	}

	var covered, overdue float64
	if !plan.Covered.IsZero() {
		covered = plan.Covered.Sub(plan.Now).Seconds()
	}
	if !plan.Overdue.IsZero() {
		overdue = plan.Now.Sub(plan.Overdue).Seconds()
	}

	gauge(p.covered, covered)
	gauge(p.overdue, overdue)
	gauge(p.problems, float64(len(plan.Problems)))
}
