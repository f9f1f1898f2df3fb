package promsnowflake_test

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sqlflake/sqlflake/contrib/partition"
)

// partitionsOf returns a collector with the state of a table's partitions. It calls plan in each scrape, for at most 5 s.
// All times are by the clock of the database, so it does not matter which process maintains the table: one process of
// the application is enough. While plan returns errors, there is only snowflake_partition_problems.
func partitionsOf(table string, plan func(context.Context) (*partition.Plan, error)) prometheus.Collector {
	desc := func(name, help string) *prometheus.Desc {
		labels := prometheus.Labels{"table": table} // constant, so each table has its own descriptions
		return prometheus.NewDesc("snowflake_partition_"+name, help, nil, labels)
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

// Metrics of the partitions of a table, which alerts.yml and the dashboard know.
func Example_partitions() {
	now := time.Date(2026, 1, 2, 15, 0, 0, 0, time.UTC)
	plan := func(context.Context) (*partition.Plan, error) { // set.Plan(ctx, db), for a set of package partition
		return &partition.Plan{Now: now, Covered: now.Add(72 * time.Hour)}, nil
	}

	registry := prometheus.NewRegistry()
	registry.MustRegister(partitionsOf("events", plan))

	families, err := registry.Gather()
	if err != nil {
		panic(err)
	}
	for _, f := range families {
		fmt.Println(f.GetName(), f.GetMetric()[0].GetGauge().GetValue())
	}
	// Output:
	// snowflake_partition_covered_seconds 259200
	// snowflake_partition_overdue_seconds 0
	// snowflake_partition_problems 0
}
