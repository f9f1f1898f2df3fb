package otelsnowflake_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
	"github.com/sqlflake/sqlflake/snowflake/otelsnowflake"
)

func TestEachMetricOfAGeneratorChangesByWhatItSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := new(clock)
		four, err := snowflake.ParseLayout("epoch=1999-01-01T00:00:00Z tick=1ms time:41 worker:5 sequence:2")
		if err != nil {
			t.Fatal(err)
		}
		open := func(worker int64) *snowflake.Generator {
			g, err := snowflake.New(worker, snowflake.WithLayout(four), snowflake.WithClock(clock))
			if err != nil {
				t.Fatal(err)
			}
			return g
		}
		meter, reader := newMeter(t)
		g := open(23)
		meter.Add("orders", g)
		meter.Add("other", open(4))
		time.Sleep(100 * time.Millisecond) // past the start fence
		start := scrape(t, reader)
		if start["worker orders"] != 23 || start["worker other"] != 4 || start["ids orders"] != 0 ||
			math.Abs(start["layout.remaining orders"]-four.End().Sub(clock.Now()).Seconds()) > 0.001 {
			t.Errorf("at the start: %v", start)
		}

		take(t, g, 4)
		after := scrape(t, reader)
		after.check(t, "4 IDs", start, figures{"ids orders": 4})

		take(t, g, 12)
		leading := scrape(t, reader)
		leading.check(t, "12 IDs of the lead", after, figures{"ids orders": 12, "lead orders": 0.003})

		time.Sleep(900 * time.Millisecond)
		late := scrape(t, reader)
		late.check(t, "900 ms", leading, figures{
			"lead orders": -0.003, "layout.remaining orders": -0.9, "layout.remaining other": -0.9,
		})

		take(t, g, 52) // 44 of them without a wait
		waited := scrape(t, reader)
		waited.check(t, "52 IDs", late, figures{
			"ids orders": 52, "wait.duration_count orders clock": 1, "wait.duration_sum orders clock": 0.002, "lead orders": 0.010,
		})

		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(2*time.Millisecond, cancel)
		if err := g.Fill(ctx, make([]snowflake.ID, 20)); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		failed := scrape(t, reader)
		failed.check(t, "a wait that was given up after 2 ms", waited, figures{
			"wait.duration_count canceled orders clock": 1, "wait.duration_sum canceled orders clock": 0.002,
			"lead orders": -0.002,
		})

		clock.step(time.Hour)
		time.Sleep(2 * time.Second)
		take(t, g, 1)
		stepped := scrape(t, reader)
		stepped.check(t, "a step forward", failed, figures{
			"ids orders": 1, "clock.steps orders": 1, "lead orders": -0.008, "layout.remaining orders": -3602,
		})

		clock.step(-time.Minute)
		time.Sleep(2 * time.Second)
		take(t, g, 1)
		scrape(t, reader).check(t, "a step back", stepped, figures{
			"ids orders": 1, "clock.drift orders": -59.995, "layout.remaining orders": -1.995,
		})
	})
}

// The store answers within 30 ms.
func TestEachMetricOfALeaseChangesByWhatItSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		s.behind.Store(int64(2 * time.Second))
		l, other := open(t, s, lease.WithPatience(time.Second), lease.WithWorkers(0, 1)), open(t, s, lease.WithNamespace("other"))
		meter, reader := newMeter(t)
		meter.AddLease("orders", l)
		meter.AddLease("other", other)
		s.set(30*time.Millisecond, false)
		start := scrape(t, reader)
		want := figures{
			"worker orders": 0, "lease.held orders": 1, "lease.epoch orders": 1, "lease.horizon orders": 10.010,
			"lease.acquisitions orders": 1, "lease.takeovers orders": 0, "lease.losses orders": 0,
			"lease.clock.skew orders":  2,
			"lease.acquisitions other": 1,
		}
		for key, value := range want {
			if got, ok := start[key]; !ok || math.Abs(got-value) > 1e-6 {
				t.Errorf("at the start %s is %g, %v, want %g", key, got, ok, value)
			}
		}

		time.Sleep(4 * time.Second)
		calm := scrape(t, reader)
		calm.check(t, "4 s", start, figures{"lease.horizon orders": -4, "lease.horizon other": -4})

		s.behind.Store(int64(5 * time.Second))
		time.Sleep(2 * time.Second) // an extension is due after 4.5 to 5.5 s
		extended := scrape(t, reader)
		extended.check(t, "an extension", calm, figures{
			"lease.call.duration_count orders extend": 1, "lease.call.duration_sum orders extend": 0.030,
			"lease.call.duration_count other extend": 1, "lease.call.duration_sum other extend": 0.030,
			// The store's clock was read in these 30 ms, and the smaller difference is taken.
			"lease.clock.skew orders": 2.97, "lease.clock.skew other": 2.97,
		})
		if left := extended["lease.horizon orders"]; left < 8.4 || left > 9.6 { // the window less 0.47 to 1.5 s
			t.Errorf("after an extension the horizon is in %g s", left)
		}
		closeLease(t, other) // its extensions are not in what follows
		meter.Remove("other")

		s.set(30*time.Millisecond, true)
		before := scrape(t, reader)
		for key := range before {
			if strings.HasSuffix(key, " other") { // the provider keeps histograms
				t.Errorf("%s is there after Remove", key)
			}
		}
		time.Sleep(9700 * time.Millisecond)
		if _, err := l.Generator().Next(); !errors.Is(err, snowflake.ErrLeaseStalled) {
			t.Fatal(err)
		}
		down := scrape(t, reader)
		calls := down["lease.call.duration_count _OTHER orders extend"]
		if calls < 2 {
			t.Errorf("%g calls of a store that is down", calls)
		}
		down.check(t, "an outage", before, figures{
			"lease.call.duration_count _OTHER orders extend": calls, "lease.call.duration_sum _OTHER orders extend": 0.030 * calls,
			"wait.duration_count timeout orders lease": 1, "wait.duration_sum timeout orders lease": 1,
			"lease.horizon orders": -10.7,
		})

		time.Sleep(15 * time.Second)
		thief := open(t, s.Store, lease.WithWorkers(0, 0))
		s.set(30*time.Millisecond, false)
		time.Sleep(5 * time.Second)
		lost := scrape(t, reader)
		retries := lost["lease.call.duration_count _OTHER orders extend"] - calls
		// Of the others two find the loss, by the last token and the one before, one is for the first horizon of the new
		// worker, and one is for the call above that had to wait.
		lost.check(t, "a loss", down, figures{
			"lease.losses orders": 1, "lease.acquisitions orders": 1, "worker orders": 1,
			"lease.call.duration_count _OTHER orders extend": retries, "lease.call.duration_sum _OTHER orders extend": 0.030 * retries,
			"lease.call.duration_count lost orders extend": 2, "lease.call.duration_sum lost orders extend": 0.060,
			"lease.call.duration_count orders extend": 2, "lease.call.duration_sum orders extend": 0.060,
			"lease.call.duration_count orders acquire": 1, "lease.call.duration_sum orders acquire": 0.030,
		})

		closeLease(t, l)
		scrape(t, reader).check(t, "Close", lost, figures{
			"lease.held orders": -1, "lease.horizon orders": -lost["lease.horizon orders"],
			"lease.call.duration_count orders release": 1, "lease.call.duration_sum orders release": 0.030,
		})
		again := open(t, s, lease.WithWorkers(1, 1))
		before = scrape(t, reader)
		meter.AddLease("orders", again)
		take(t, again.Generator(), 1)
		scrape(t, reader).check(t, "another lease with the name", before, figures{
			"ids orders": 1, "lease.held orders": 1, "lease.epoch orders": 1,
			"lease.acquisitions orders": 1, "lease.takeovers orders": 1,
		})
		closeLease(t, again)
		closeLease(t, thief)
	})
}

// A Fill that gives up its wait gives its IDs back, which Stats had counted.
func TestCountersDoNotDecrease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		meter, reader := newMeter(t)
		g, err := snowflake.New(1, small(t))
		if err != nil {
			t.Fatal(err)
		}
		meter.Add("orders", g)
		time.Sleep(time.Second)
		take(t, g, 44)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- g.Fill(ctx, make([]snowflake.ID, 20)) }()
		synctest.Wait()
		during := scrape(t, reader)["ids orders"]
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) || g.Stats().Issued >= uint64(during) {
			t.Fatalf("%v, %d IDs after %g: the test needs IDs that are given back", err, g.Stats().Issued, during)
		}
		if after := scrape(t, reader)["ids orders"]; after < during {
			t.Errorf("IDs fell from %g to %g", during, after)
		}
		// Another generator of this name: of other counters in a bubble, though of the same worker.
		h, err := snowflake.New(2, small(t))
		if err != nil {
			t.Fatal(err)
		}
		take(t, h, 3)
		before := scrape(t, reader)
		meter.Add("orders", h)
		scrape(t, reader).check(t, "another generator with the name", before, figures{
			"ids orders": 3, "worker orders": 1, "lead orders": scrape(t, reader)["lead orders"] - before["lead orders"],
		})
		waits := scrape(t, reader)["wait.duration_count orders clock"]
		take(t, g, 100)
		if after := scrape(t, reader)["wait.duration_count orders clock"]; after != waits || g.Stats().Waits == 0 {
			t.Errorf("%g waits, then %g: of the generator that was replaced", waits, after)
		}
		meter.Remove("orders")
		meter.Remove("orders")
		for key := range scrape(t, reader) {
			if !strings.HasPrefix(key, "wait.") {
				t.Errorf("%s is there after Remove", key)
			}
		}
		meter.Add("orders", h)
		if err := meter.Close(); err != nil || len(scrape(t, reader)) != 2 { // a histogram's count and sum
			t.Errorf("after Close: %v, %v", err, scrape(t, reader))
		}
	})
}

// Generators of one worker have the same counters, and count as one.
func TestTheSameWorkerIsNotCountedTwice(t *testing.T) {
	meter, reader := newMeter(t)
	var start float64 // not 0 if the process has run this test before
	for i := range 3 {
		g, err := snowflake.New(977)
		if err != nil {
			t.Fatal(err)
		}
		meter.Add("orders", g)
		if i == 0 {
			start = scrape(t, reader)["ids orders"]
		}
		take(t, g, 5)
		if n := scrape(t, reader)["ids orders"] - start; n != float64(5*(i+1)) {
			t.Errorf("%g IDs after %d times 5", n, i+1)
		}
	}
}

func Example() {
	store := leasetest.NewMemory(time.Now) // a program has a store of sqllease
	l, err := lease.Open(context.Background(), store, lease.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		panic(err)
	}
	reader := metric.NewManualReader()                                                    // or a periodic reader with an exporter
	metrics, err := otelsnowflake.New(metric.NewMeterProvider(metric.WithReader(reader))) // or otel.GetMeterProvider()
	if err != nil {
		panic(err)
	}
	metrics.AddLease("orders", l)

	var data metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &data); err != nil {
		panic(err)
	}
	for _, m := range data.ScopeMetrics[0].Metrics {
		if m.Name == "snowflake.lease.held" {
			fmt.Println(m.Name, m.Data.(metricdata.Gauge[int64]).DataPoints[0].Value)
		}
	}
	metrics.Remove("orders")
	if err := l.Close(context.Background()); err != nil {
		panic(err)
	}
	// Output: snowflake.lease.held 1
}
