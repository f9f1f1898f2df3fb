package promsnowflake_test

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

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
	"github.com/sqlflake/sqlflake/snowflake/promsnowflake"
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
		collector, registry := promsnowflake.New(), prometheus.NewPedanticRegistry()
		registry.MustRegister(collector)
		g := open(23)
		collector.Add("orders", g)
		collector.Add("other", open(4))
		time.Sleep(100 * time.Millisecond) // past the start fence
		start := scrape(t, registry)
		if start["worker orders"] != 23 || start["worker other"] != 4 || start["ids_total orders"] != 0 ||
			math.Abs(start["layout_remaining_seconds orders"]-four.End().Sub(clock.Now()).Seconds()) > 0.001 {
			t.Errorf("at the start: %v", start)
		}

		take(t, g, 4)
		after := scrape(t, registry)
		after.check(t, "4 IDs", start, figures{"ids_total orders": 4})

		take(t, g, 12)
		leading := scrape(t, registry)
		leading.check(t, "12 IDs of the lead", after, figures{"ids_total orders": 12, "lead_seconds orders": 0.003})

		time.Sleep(900 * time.Millisecond)
		late := scrape(t, registry)
		late.check(t, "900 ms", leading, figures{
			"lead_seconds orders": -0.003, "layout_remaining_seconds orders": -0.9, "layout_remaining_seconds other": -0.9,
		})

		take(t, g, 52) // 44 of them without a wait
		waited := scrape(t, registry)
		waited.check(t, "52 IDs", late, figures{
			"ids_total orders": 52, "wait_seconds_count orders clock": 1, "wait_seconds_sum orders clock": 0.002, "lead_seconds orders": 0.010,
		})

		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(2*time.Millisecond, cancel)
		if err := g.Fill(ctx, make([]snowflake.ID, 20)); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		failed := scrape(t, registry)
		failed.check(t, "a wait that was given up after 2 ms", waited, figures{
			"wait_seconds_count orders clock": 1, "wait_seconds_sum orders clock": 0.002, "wait_errors_total orders clock": 1,
			"lead_seconds orders": -0.002,
		})

		clock.step(time.Hour)
		time.Sleep(2 * time.Second)
		take(t, g, 1)
		stepped := scrape(t, registry)
		stepped.check(t, "a step forward", failed, figures{
			"ids_total orders": 1, "clock_steps_total orders": 1, "lead_seconds orders": -0.008, "layout_remaining_seconds orders": -3602,
		})

		clock.step(-time.Minute)
		time.Sleep(2 * time.Second)
		take(t, g, 1)
		scrape(t, registry).check(t, "a step back", stepped, figures{
			"ids_total orders": 1, "clock_drift_seconds orders": -59.995, "layout_remaining_seconds orders": -1.995,
		})
	})
}

// The store answers within 30 ms.
func TestEachMetricOfALeaseChangesByWhatItSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		s.behind.Store(int64(2 * time.Second))
		l, other := open(t, s, lease.WithPatience(time.Second), lease.WithWorkers(0, 1)), open(t, s, lease.WithNamespace("other"))
		collector, registry := promsnowflake.New(), prometheus.NewPedanticRegistry()
		registry.MustRegister(collector)
		collector.AddLease("orders", l)
		collector.AddLease("other", other)
		s.set(30*time.Millisecond, false)
		start := scrape(t, registry)
		want := figures{
			"worker orders": 0, "lease_held orders": 1, "lease_epoch orders": 1, "lease_horizon_seconds orders": 10.010,
			"lease_acquisitions_total orders": 1, "lease_takeovers_total orders": 0, "lease_losses_total orders": 0,
			"lease_clock_skew_seconds orders":        2,
			"lease_call_seconds_count extend orders": 0, "lease_call_errors_total extend orders": 0, "lease_acquisitions_total other": 1,
		}
		for key, value := range want {
			if got, ok := start[key]; !ok || math.Abs(got-value) > 1e-6 {
				t.Errorf("at the start %s is %g, %v, want %g", key, got, ok, value)
			}
		}

		time.Sleep(4 * time.Second)
		calm := scrape(t, registry)
		calm.check(t, "4 s", start, figures{"lease_horizon_seconds orders": -4, "lease_horizon_seconds other": -4})

		s.behind.Store(int64(5 * time.Second))
		time.Sleep(2 * time.Second) // an extension is due after 4.5 to 5.5 s
		extended := scrape(t, registry)
		extended.check(t, "an extension", calm, figures{
			"lease_call_seconds_count extend orders": 1, "lease_call_seconds_sum extend orders": 0.030,
			"lease_call_seconds_count extend other": 1, "lease_call_seconds_sum extend other": 0.030,
			// The store's clock was read in these 30 ms, and the smaller difference is taken.
			"lease_clock_skew_seconds orders": 2.97, "lease_clock_skew_seconds other": 2.97,
		})
		if left := extended["lease_horizon_seconds orders"]; left < 8.4 || left > 9.6 { // the window less 0.47 to 1.5 s
			t.Errorf("after an extension the horizon is in %g s", left)
		}
		closeLease(t, other) // its extensions are not in what follows
		collector.Remove("other")

		s.set(30*time.Millisecond, true)
		before := scrape(t, registry)
		for key := range before {
			if strings.HasSuffix(key, " other") {
				t.Errorf("%s is there after Remove", key)
			}
		}
		time.Sleep(9700 * time.Millisecond)
		if _, err := l.Generator().Next(); !errors.Is(err, snowflake.ErrLeaseStalled) {
			t.Fatal(err)
		}
		down := scrape(t, registry)
		calls := down["lease_call_seconds_count extend orders"] - before["lease_call_seconds_count extend orders"]
		if calls < 2 {
			t.Errorf("%g calls of a store that is down", calls)
		}
		down.check(t, "an outage", before, figures{
			"lease_call_seconds_count extend orders": calls, "lease_call_seconds_sum extend orders": 0.030 * calls,
			"lease_call_errors_total extend orders": calls,
			"wait_seconds_count orders lease":       1, "wait_seconds_sum orders lease": 1, "wait_errors_total orders lease": 1,
			"lease_horizon_seconds orders": -10.7,
		})

		time.Sleep(15 * time.Second)
		thief := open(t, s.Store, lease.WithWorkers(0, 0))
		s.set(30*time.Millisecond, false)
		time.Sleep(5 * time.Second)
		lost := scrape(t, registry)
		retries := lost["lease_call_errors_total extend orders"] - down["lease_call_errors_total extend orders"]
		// Of the others two find the loss, by the last token and the one before, one is for the first horizon of the new
		// worker, and one is for the call above that had to wait.
		lost.check(t, "a loss", down, figures{
			"lease_losses_total orders": 1, "lease_acquisitions_total orders": 1, "worker orders": 1,
			"lease_call_errors_total extend orders":  retries,
			"lease_call_seconds_count extend orders": retries + 4, "lease_call_seconds_sum extend orders": 0.030 * (retries + 4),
			"lease_call_seconds_count acquire orders": 1, "lease_call_seconds_sum acquire orders": 0.030,
		})

		closeLease(t, l)
		scrape(t, registry).check(t, "Close", lost, figures{
			"lease_held orders": -1, "lease_horizon_seconds orders": -lost["lease_horizon_seconds orders"],
			"lease_call_seconds_count release orders": 1, "lease_call_seconds_sum release orders": 0.030,
		})
		again := open(t, s, lease.WithWorkers(1, 1))
		before = scrape(t, registry)
		collector.AddLease("orders", again)
		take(t, again.Generator(), 1)
		scrape(t, registry).check(t, "another lease with the name", before, figures{
			"ids_total orders": 1, "lease_held orders": 1, "lease_epoch orders": 1,
			"lease_acquisitions_total orders": 1, "lease_takeovers_total orders": 1,
		})
		closeLease(t, again)
		closeLease(t, thief)
	})
}

// A Fill that gives up its wait gives its IDs back, which Stats had counted.
func TestCountersDoNotDecrease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		collector, registry := promsnowflake.New(), prometheus.NewPedanticRegistry()
		registry.MustRegister(collector)
		g, err := snowflake.New(1, small(t))
		if err != nil {
			t.Fatal(err)
		}
		collector.Add("orders", g)
		time.Sleep(time.Second)
		take(t, g, 44)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- g.Fill(ctx, make([]snowflake.ID, 20)) }()
		synctest.Wait()
		during := scrape(t, registry)["ids_total orders"]
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) || g.Stats().Issued >= uint64(during) {
			t.Fatalf("%v, %d IDs after %g: the test needs IDs that are given back", err, g.Stats().Issued, during)
		}
		if after := scrape(t, registry)["ids_total orders"]; after < during {
			t.Errorf("IDs fell from %g to %g", during, after)
		}
		// Another generator of this name: of other counters in a bubble, though of the same worker.
		h, err := snowflake.New(2, small(t))
		if err != nil {
			t.Fatal(err)
		}
		take(t, h, 3)
		before := scrape(t, registry)
		collector.Add("orders", h)
		scrape(t, registry).check(t, "another generator with the name", before, figures{
			"ids_total orders": 3, "worker orders": 1, "lead_seconds orders": scrape(t, registry)["lead_seconds orders"] - before["lead_seconds orders"],
		})
		waits := scrape(t, registry)["wait_seconds_count orders clock"]
		take(t, g, 100)
		if after := scrape(t, registry)["wait_seconds_count orders clock"]; after != waits || g.Stats().Waits == 0 {
			t.Errorf("%g waits, then %g: of the generator that was replaced", waits, after)
		}
		collector.Remove("orders")
		collector.Remove("orders")
		if got := scrape(t, registry); len(got) != 0 {
			t.Errorf("after Remove: %v", got)
		}
	})
}

// Generators of one worker have the same counters, and count as one.
func TestTheSameWorkerIsNotCountedTwice(t *testing.T) {
	collector, registry := promsnowflake.New(), prometheus.NewPedanticRegistry()
	registry.MustRegister(collector)
	var start float64 // not 0 if the process has run this test before
	for i := range 3 {
		g, err := snowflake.New(977)
		if err != nil {
			t.Fatal(err)
		}
		collector.Add("orders", g)
		if i == 0 {
			start = scrape(t, registry)["ids_total orders"]
		}
		take(t, g, 5)
		if n := scrape(t, registry)["ids_total orders"] - start; n != float64(5*(i+1)) {
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
	metrics := promsnowflake.New()
	metrics.AddLease("orders", l)
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
	metrics.Remove("orders")
	if err := l.Close(context.Background()); err != nil {
		panic(err)
	}
	// Output:
	// snowflake_lease_epoch 1
	// snowflake_lease_held 1
}
