package metrics_test

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

	"github.com/sqlflake/sqlflake/contrib/metrics"
	"github.com/sqlflake/sqlflake/internal/testclock"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

// layout has 4 workers and 4 IDs a millisecond, and an epoch before the time of synctest bubbles.
var layout = snowflake.WithLayout(snowflake.MustLayout(time.Unix(0, 0), time.Millisecond,
	snowflake.Field{Name: "time", Bits: 41}, snowflake.Field{Name: "worker", Bits: 2}, snowflake.Field{Name: "sequence", Bits: 2}))

// store answers Extend and List after a delay, or fails after it.
type store struct {
	leasestore.Store
	mu     sync.Mutex
	delay  time.Duration
	down   bool
	hangs  bool         // in List
	behind atomic.Int64 // how far its clock is behind, in nanoseconds
}

var errDown = errors.New("the store is down")

func newStore() *store {
	s := new(store)
	s.Store = lease.NewMemory(func() time.Time { return time.Now().Add(-time.Duration(s.behind.Load())) })
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

func (s *store) Extend(ctx context.Context, c leasestore.Claim, horizon int64, ttl time.Duration) (time.Time, error) {
	if err := s.wait(); err != nil {
		return time.Time{}, err
	}
	return s.Store.Extend(ctx, c, horizon, ttl)
}

func (s *store) List(ctx context.Context, namespace string) ([]leasestore.Entry, error) {
	if s.hangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if err := s.wait(); err != nil {
		return nil, err
	}
	return s.Store.List(ctx, namespace)
}

func open(tb testing.TB, s leasestore.Store, more ...lease.Option) *lease.Lease {
	tb.Helper()
	l, err := lease.Open(tb.Context(), s, append([]lease.Option{
		lease.WithGenerator(layout), lease.WithLogger(slog.New(slog.DiscardHandler)),
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

func newGenerator(tb testing.TB, worker int64, more ...snowflake.Option) *snowflake.Generator {
	tb.Helper()
	g, err := snowflake.New(worker, append(more, layout)...)
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

func take(tb testing.TB, g *snowflake.Generator, n int) {
	tb.Helper()
	if err := g.Fill(tb.Context(), make([]snowflake.ID, n)); err != nil {
		tb.Fatal(err)
	}
}

// exporter keeps what a Set observes.
type exporter struct {
	metrics.Set
	mu       sync.Mutex
	observed figures
}

// figures are metrics by their name without the prefix, the generator, and the label of a histogram with its error.
type figures map[string]float64

func newExporter() *exporter { return &exporter{observed: figures{}} }

func (e *exporter) observe(v metrics.Value) {
	e.mu.Lock()
	defer e.mu.Unlock()
	key := strings.TrimSpace(strings.TrimPrefix(v.Metric, "snowflake.") + " " + v.Generator + " " + v.Label + " " + v.ErrorType)
	e.observed[key]++
	e.observed[key+" seconds"] += v.Value
}

func (e *exporter) addLease(name string, l *lease.Lease) { e.Add(name, l.Generator(), l, e.observe) }

// read returns all figures of now.
func (e *exporter) read(tb testing.TB) figures {
	tb.Helper()
	values := e.Read(tb.Context())
	e.mu.Lock()
	defer e.mu.Unlock()
	all := maps.Clone(e.observed)
	for _, v := range values {
		key := strings.TrimPrefix(v.Metric, "snowflake.") + " " + v.Generator
		described := slices.ContainsFunc(metrics.All(), func(m metrics.Metric) bool { return m.Name == v.Metric })
		if _, twice := all[key]; twice || !described {
			tb.Errorf("%s is there twice or not in All", key)
		}
		all[key] = v.Value
	}
	return all
}

// check fails unless exactly these figures have changed, by these amounts. Gauges of time that pass by themselves may be
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

// clock has a wall clock that the test sets.
type clock struct {
	*testclock.Clock
	ahead atomic.Int64
}

func newClock() *clock { return &clock{Clock: testclock.New(0)} }

func (c *clock) Now() time.Time { return c.Clock.Now().Add(time.Duration(c.ahead.Load())) }
