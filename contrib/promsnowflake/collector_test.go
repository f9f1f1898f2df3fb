package promsnowflake_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sqlflake/sqlflake/contrib/partition"
	"github.com/sqlflake/sqlflake/contrib/promsnowflake"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// gather returns a line for each series: its metric without the prefix, labels, kind and value. Histograms have the
// number and the sum of their values; what is left of a layout or a lease is 1.
func gather(tb testing.TB, from prometheus.Gatherer) []string {
	tb.Helper()
	families, err := from.Gather()
	must(tb, err)
	var all []string
	for _, family := range families {
		for _, m := range family.GetMetric() {
			parts := []string{strings.TrimPrefix(family.GetName(), "snowflake_")}
			for _, l := range m.GetLabel() {
				parts = append(parts, l.GetName()+"="+l.GetValue())
			}

			line := strings.Join(append(parts, strings.ToLower(family.GetType().String())), " ")
			value := m.GetCounter().GetValue() + m.GetGauge().GetValue()
			if strings.Contains(line, "remaining") || strings.Contains(line, "horizon") {
				value = min(value, 1)
			}

			if h := m.GetHistogram(); h != nil {
				line += fmt.Sprintf(" %d", h.GetSampleCount())
				value = h.GetSampleSum()
			}

			all = append(all, fmt.Sprintf("%s %.3g", line, value))
		}
	}

	slices.Sort(all)
	return all
}

const want = `clock_drift_seconds generator=fixed gauge 0
clock_drift_seconds generator=leased gauge 0
clock_steps_total generator=fixed counter 0
clock_steps_total generator=leased counter 0
ids_total generator=fixed counter 60
ids_total generator=leased counter 0
layout_remaining_seconds generator=fixed gauge 1
layout_remaining_seconds generator=leased gauge 1
lead_seconds generator=fixed gauge 0.009
lead_seconds generator=leased gauge 0
lease_acquisitions_total generator=leased counter 1
lease_call_errors_total call=acquire generator=leased counter 0
lease_call_errors_total call=extend generator=leased counter 0
lease_call_errors_total call=release generator=leased counter 0
lease_call_seconds call=acquire generator=leased histogram 0 0
lease_call_seconds call=extend generator=leased histogram 1 0
lease_call_seconds call=release generator=leased histogram 0 0
lease_clock_skew_seconds generator=leased gauge 0
lease_epoch generator=leased gauge 1
lease_held generator=leased gauge 1
lease_horizon_seconds generator=leased gauge 1
lease_losses_total generator=leased counter 0
lease_takeovers_total generator=leased counter 0
lease_workers generator=leased gauge 4
wait_errors_total generator=fixed reason=clock counter 1
wait_errors_total generator=leased reason=clock counter 0
wait_errors_total generator=leased reason=lease counter 0
wait_seconds generator=fixed reason=clock histogram 2 0.005
wait_seconds generator=leased reason=clock histogram 0 0
wait_seconds generator=leased reason=lease histogram 0 0
worker generator=fixed gauge 3
worker generator=leased gauge 0`

// faulty answers with an error while one is set.
type faulty struct {
	leasestore.Store
	err    atomic.Pointer[error]
	failed atomic.Int64 // calls of Extend without an answer
}

func (f *faulty) Extend(ctx context.Context, c leasestore.Claim, horizon int64, ttl time.Duration) (time.Time, error) {
	if err := f.err.Load(); err != nil {
		if errors.Is(*err, errDown) {
			f.failed.Add(1)
		}
		return time.Time{}, *err
	}
	return f.Store.Extend(ctx, c, horizon, ttl)
}

var errDown = errors.New("the store is down")

// What the values are is tested in package metrics.
func TestMetricsHaveTheirNamesKindsAndLabels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		layout := snowflake.WithLayout(snowflake.MustLayout(time.Unix(0, 0), time.Millisecond,
			snowflake.Field{Name: "time", Bits: 41}, snowflake.Field{Name: "worker", Bits: 2}, snowflake.Field{Name: "sequence", Bits: 2}))
		g, err := snowflake.New(3, layout)
		must(t, err)
		store := &faulty{Store: lease.NewMemory(time.Now)}
		l, err := lease.Open(t.Context(), store, lease.WithLogger(slog.New(slog.DiscardHandler)),
			lease.WithGenerator(layout), lease.WithPatience(0))
		must(t, err)
		collector, registry := promsnowflake.New(), prometheus.NewPedanticRegistry()
		registry.MustRegister(collector)
		collector.Add("fixed", g)
		collector.AddLease("leased", l)
		time.Sleep(7 * time.Second) // one extension
		must(t, g.Fill(t.Context(), make([]snowflake.ID, 60)))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Millisecond, cancel)
		if err := g.Fill(ctx, make([]snowflake.ID, 40)); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if got := strings.Join(gather(t, registry), "\n"); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}

		lost := lease.ErrLost
		store.err.Store(&errDown)
		time.Sleep(7 * time.Second)
		store.err.Store(&lost)
		time.Sleep(7 * time.Second)
		got, failed := gather(t, registry), store.failed.Load()
		line := fmt.Sprintf("lease_call_errors_total call=extend generator=leased counter %d", failed) // ErrLost is an answer
		if failed == 0 || l.Status().Losses == 0 || !slices.Contains(got, line) {
			t.Errorf("after an outage and a loss: no %s in\n%s", line, strings.Join(got, "\n"))
		}

		store.err.Store(nil)
		collector.Remove("leased")
		collector.Remove("fixed")
		if got := gather(t, registry); len(got) != 0 {
			t.Errorf("after Remove: %v", got)
		}
		must(t, l.Close(t.Context()))
	})
}

func Example() {
	store := lease.NewMemory(time.Now) // a program has a store of sqllease
	l, err := lease.Open(context.Background(), store, lease.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		panic(err)
	}
	defer l.Close(context.Background())
	metrics := promsnowflake.New()
	metrics.AddLease("orders", l)
	defer metrics.Remove("orders")       // before Close
	registry := prometheus.NewRegistry() // a program uses prometheus.MustRegister(metrics), and serves promhttp.Handler()
	registry.MustRegister(metrics)

	families, err := registry.Gather()
	if err != nil {
		panic(err)
	}
	for _, f := range families {
		if name := f.GetName(); name == "snowflake_lease_held" || name == "snowflake_lease_epoch" {
			fmt.Println(name, f.GetMetric()[0].GetGauge().GetValue())
		}
	}
	// Output:
	// snowflake_lease_epoch 1
	// snowflake_lease_held 1
}

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
		return &partition.Plan{Now: now, Covered: now.Add(72 * time.Hour), Overdue: now.Add(-time.Minute)}, nil
	}
	failing := func(context.Context) (*partition.Plan, error) { return nil, errDown }

	registry := prometheus.NewRegistry()
	registry.MustRegister(partitionsOf("events", plan), partitionsOf("orders", failing))

	families, err := registry.Gather()
	if err != nil {
		panic(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			fmt.Println(f.GetName(), m.GetLabel()[0].GetValue(), m.GetGauge().GetValue())
		}
	}
	// Output:
	// snowflake_partition_covered_seconds events 259200
	// snowflake_partition_overdue_seconds events 60
	// snowflake_partition_problems events 0
	// snowflake_partition_problems orders 1
}
