package otelsnowflake_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/sqlflake/sqlflake/contrib/otelsnowflake"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// collect returns a line for each point: its metric without the prefix, unit, kind, attributes, and value: of a
// histogram the number and the sum, of a time whether it is above 0.
func collect(tb testing.TB, from metric.Reader) []string {
	tb.Helper()
	var data metricdata.ResourceMetrics
	must(tb, from.Collect(context.Background(), &data))
	var all []string
	for _, scope := range data.ScopeMetrics {
		for _, m := range scope.Metrics {
			add := func(kind string, of attribute.Set, value any) {
				parts := []string{strings.TrimPrefix(m.Name, "snowflake."), m.Unit, kind}
				for _, kv := range of.ToSlice() {
					parts = append(parts, strings.TrimPrefix(string(kv.Key), "snowflake.")+"="+kv.Value.AsString())
				}
				all = append(all, fmt.Sprint(strings.Join(parts, " "), " ", value))
			}

			switch points := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range points.DataPoints {
					add(fmt.Sprint("sum ", points.IsMonotonic, " ", points.Temporality), p.Attributes, p.Value)
				}

			case metricdata.Gauge[int64]:
				for _, p := range points.DataPoints {
					add("gauge", p.Attributes, p.Value)
				}

			case metricdata.Gauge[float64]:
				for _, p := range points.DataPoints {
					add("gauge", p.Attributes, p.Value > 0)
				}

			case metricdata.Histogram[float64]:
				for _, p := range points.DataPoints {
					add("histogram", p.Attributes, fmt.Sprintf("%d %.3f", p.Count, p.Sum))
				}
			}

			if m.Description == "" {
				tb.Errorf("%s has no description", m.Name)
			}
		}
	}

	slices.Sort(all)
	return all
}

const want = `clock.drift s gauge generator=fixed false
clock.drift s gauge generator=leased false
clock.steps {step} sum true CumulativeTemporality generator=fixed 0
clock.steps {step} sum true CumulativeTemporality generator=leased 0
ids {id} sum true CumulativeTemporality generator=fixed 60
ids {id} sum true CumulativeTemporality generator=leased 0
layout.remaining s gauge generator=fixed true
layout.remaining s gauge generator=leased true
lead s gauge generator=fixed true
lead s gauge generator=leased false
lease.acquisitions {acquisition} sum true CumulativeTemporality generator=leased 1
lease.call.duration s histogram generator=leased lease.call=extend 1 0.000
lease.clock.skew s gauge generator=leased false
lease.epoch 1 gauge generator=leased 1
lease.held 1 gauge generator=leased 1
lease.horizon s gauge generator=leased true
lease.losses {loss} sum true CumulativeTemporality generator=leased 0
lease.takeovers {takeover} sum true CumulativeTemporality generator=leased 0
lease.workers {worker} gauge generator=leased 4
wait.duration s histogram error.type=canceled generator=fixed wait.reason=clock 1 0.001
wait.duration s histogram generator=fixed wait.reason=clock 1 0.004
worker 1 gauge generator=fixed 3
worker 1 gauge generator=leased 0`

// What the values are is tested in package metrics.
func TestMetricsHaveTheirNamesUnitsAndAttributes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader := metric.NewManualReader()
		meter, err := otelsnowflake.New(metric.NewMeterProvider(metric.WithReader(reader)))
		must(t, err)
		layout := snowflake.WithLayout(snowflake.MustLayout(time.Unix(0, 0), time.Millisecond,
			snowflake.Field{Name: "time", Bits: 41}, snowflake.Field{Name: "worker", Bits: 2}, snowflake.Field{Name: "sequence", Bits: 2}))
		g, err := snowflake.New(3, layout)
		must(t, err)
		l, err := lease.Open(t.Context(), lease.NewMemory(time.Now), lease.WithLogger(slog.New(slog.DiscardHandler)),
			lease.WithGenerator(layout))
		must(t, err)
		meter.Add("fixed", g)
		meter.AddLease("leased", l)
		time.Sleep(7 * time.Second) // one extension
		must(t, g.Fill(t.Context(), make([]snowflake.ID, 60)))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Millisecond, cancel)
		if err := g.Fill(ctx, make([]snowflake.ID, 40)); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}

		if got := strings.Join(collect(t, reader), "\n"); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}

		meter.Remove("leased")
		if got := collect(t, reader); len(got) != 9 { // the provider keeps histograms
			t.Errorf("after Remove: %v", got)
		}

		if err := meter.Close(); err != nil || len(collect(t, reader)) != 3 {
			t.Errorf("after Close: %v, %v", err, collect(t, reader))
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
	reader := metric.NewManualReader()                                                    // or a periodic reader with an exporter
	metrics, err := otelsnowflake.New(metric.NewMeterProvider(metric.WithReader(reader))) // or otel.GetMeterProvider()
	if err != nil {
		panic(err)
	}
	metrics.AddLease("orders", l)
	defer metrics.Remove("orders") // before the lease is closed

	var data metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &data); err != nil {
		panic(err)
	}
	for _, m := range data.ScopeMetrics[0].Metrics {
		if m.Name == "snowflake.lease.held" {
			fmt.Println(m.Name, m.Data.(metricdata.Gauge[int64]).DataPoints[0].Value)
		}
	}
	// Output: snowflake.lease.held 1
}
