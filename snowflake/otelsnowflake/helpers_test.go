package otelsnowflake_test

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
	"github.com/sqlflake/sqlflake/snowflake/otelsnowflake"
)

// small has 4 workers and 4 IDs a millisecond, and an epoch before the time of synctest bubbles.
func small(tb testing.TB) snowflake.Option {
	tb.Helper()
	l, err := snowflake.ParseLayout("epoch=1999-01-01T00:00:00Z tick=1ms time:41 worker:2 sequence:2")
	if err != nil {
		tb.Fatal(err)
	}
	return snowflake.WithLayout(l)
}

// store answers after a delay, or fails after it.
type store struct {
	lease.Store
	mu     sync.Mutex
	delay  time.Duration
	down   bool
	behind atomic.Int64 // how far its clock is behind, in nanoseconds
}

var errDown = errors.New("the store is down")

func newStore() *store {
	s := new(store)
	s.Store = leasetest.NewMemory(func() time.Time { return time.Now().Add(-time.Duration(s.behind.Load())) })
	return s
}

func (s *store) set(delay time.Duration, down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.delay, s.down = delay, down
}

func (s *store) wait() error {
	s.mu.Lock()
	delay, down := s.delay, s.down
	s.mu.Unlock()
	time.Sleep(delay)
	if down {
		return errDown
	}
	return nil
}

func (s *store) Acquire(ctx context.Context, r lease.Request) (lease.Grant, error) {
	if err := s.wait(); err != nil {
		return lease.Grant{}, err
	}
	return s.Store.Acquire(ctx, r)
}

func (s *store) Extend(ctx context.Context, c lease.Claim, horizon int64, ttl time.Duration) (time.Time, error) {
	if err := s.wait(); err != nil {
		return time.Time{}, err
	}
	return s.Store.Extend(ctx, c, horizon, ttl)
}

func (s *store) Release(ctx context.Context, c lease.Claim, horizon int64) error {
	if err := s.wait(); err != nil {
		return err
	}
	return s.Store.Release(ctx, c, horizon)
}

func (s *store) List(ctx context.Context, namespace string) ([]lease.Entry, error) {
	if err := s.wait(); err != nil {
		return nil, err
	}
	return s.Store.List(ctx, namespace)
}

func open(tb testing.TB, s lease.Store, more ...lease.Option) *lease.Lease {
	tb.Helper()
	l, err := lease.Open(tb.Context(), s, append([]lease.Option{
		lease.WithGenerator(small(tb)), lease.WithLogger(slog.New(slog.DiscardHandler)),
	}, more...)...)
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

func closeLease(tb testing.TB, l *lease.Lease) {
	tb.Helper()
	if err := l.Close(context.Background()); err != nil {
		tb.Error(err)
	}
}

func take(tb testing.TB, g *snowflake.Generator, n int) {
	tb.Helper()
	if err := g.Fill(tb.Context(), make([]snowflake.ID, n)); err != nil {
		tb.Fatal(err)
	}
}

// figures are metrics by their name and labels, without the prefix.
type figures map[string]float64

// newMeter returns a meter, and a reader that collects its metrics.
func newMeter(tb testing.TB) (*otelsnowflake.Meter, *metric.ManualReader) {
	tb.Helper()
	reader := metric.NewManualReader()
	meter, err := otelsnowflake.New(metric.NewMeterProvider(metric.WithReader(reader)))
	if err != nil {
		tb.Fatal(err)
	}
	return meter, reader
}

// units has the unit and the kind of each metric.
var units = map[string]string{
	"ids": "{id} counter", "wait.duration": "s histogram", "lead": "s gauge", "clock.drift": "s gauge",
	"clock.steps": "{step} counter", "worker": "1 gauge", "layout.remaining": "s gauge", "lease.held": "1 gauge",
	"lease.epoch": "1 gauge", "lease.horizon": "s gauge", "lease.clock.skew": "s gauge",
	"lease.acquisitions": "{acquisition} counter", "lease.takeovers": "{takeover} counter", "lease.losses": "{loss} counter",
	"lease.call.duration": "s histogram", "lease.worker.held": "{worker} gauge", "lease.worker.limit": "{worker} gauge",
}

// scrape returns all metrics but the buckets.
func scrape(tb testing.TB, from *metric.ManualReader) figures {
	tb.Helper()
	var data metricdata.ResourceMetrics
	if err := from.Collect(context.Background(), &data); err != nil {
		tb.Fatal(err)
	}
	all := figures{}
	for _, scope := range data.ScopeMetrics {
		for _, m := range scope.Metrics {
			name, kind := strings.TrimPrefix(m.Name, "snowflake."), "gauge"
			switch points := m.Data.(type) {
			case metricdata.Sum[int64]:
				if kind = "sum"; points.IsMonotonic && points.Temporality == metricdata.CumulativeTemporality {
					kind = "counter"
				}
				for _, p := range points.DataPoints {
					all[name+values(p.Attributes)] = float64(p.Value)
				}
			case metricdata.Gauge[int64]:
				for _, p := range points.DataPoints {
					all[name+values(p.Attributes)] = float64(p.Value)
				}
			case metricdata.Gauge[float64]:
				for _, p := range points.DataPoints {
					all[name+values(p.Attributes)] = p.Value
				}
			case metricdata.Histogram[float64]:
				kind = "histogram"
				for _, p := range points.DataPoints {
					all[name+"_count"+values(p.Attributes)] = float64(p.Count)
					all[name+"_sum"+values(p.Attributes)] = p.Sum
				}
			}
			if want := units[name]; m.Unit+" "+kind != want || m.Description == "" {
				tb.Errorf("%s is in %s, a %s, %q; want %q", m.Name, m.Unit, kind, m.Description, want)
			}
		}
	}
	return all
}

// values returns the values in the order of their keys.
func values(of attribute.Set) string {
	var text strings.Builder
	for _, kv := range of.ToSlice() {
		text.WriteString(" " + kv.Value.AsString())
	}
	return text.String()
}

// check fails unless exactly these metrics have changed, by these amounts. Gauges of time that pass by themselves may be
// left out.
func (f figures) check(tb testing.TB, what string, before, want figures) {
	tb.Helper()
	for _, key := range slices.Sorted(maps.Keys(f)) {
		change, expected := f[key]-before[key], want[key]
		if _, named := want[key]; !named && (strings.HasPrefix(key, "layout.remaining") || strings.HasPrefix(key, "lease.horizon")) {
			continue
		}
		if math.Abs(change-expected) > 1e-6 {
			tb.Errorf("%s: %s changed by %g, want %g", what, key, change, expected)
		}
	}
	for key := range want {
		if _, ok := f[key]; !ok {
			tb.Errorf("%s: there is no %s among %v", what, key, slices.Sorted(maps.Keys(f)))
		}
	}
}

// clock is that of a bubble, with a wall clock that the test sets.
type clock struct{ ahead atomic.Int64 }

var origin = time.Now()

func (c *clock) Now() time.Time       { return time.Now().Add(time.Duration(c.ahead.Load())) }
func (*clock) Elapsed() time.Duration { return time.Since(origin) }

func (*clock) Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *clock) step(d time.Duration) { c.ahead.Add(int64(d)) }
