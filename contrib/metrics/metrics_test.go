package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqlflake/sqlflake/contrib/metrics"
	"github.com/sqlflake/sqlflake/internal/testclock"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

func TestEachMetricOfAGeneratorChangesByWhatItSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock, e := newClock(), newExporter()
		g := newGenerator(t, 3, snowflake.WithClock(clock))
		e.Add("orders", g, nil, e.observe)
		e.Add("other", newGenerator(t, 1, snowflake.WithClock(clock)), nil, nil)
		time.Sleep(100 * time.Millisecond) // past the start fence
		start := e.read(t)
		if start["worker orders"] != 3 || start["worker other"] != 1 || start["ids orders"] != 0 ||
			math.Abs(start["layout.remaining orders"]-g.Layout().End().Sub(clock.Now()).Seconds()) > 0.001 {
			t.Errorf("at the start: %v", start)
		}

		before := start
		step := func(what string, want figures) {
			t.Helper()
			after := e.read(t)
			after.check(t, what, before, want)
			before = after
		}

		take(t, g, 4)
		step("4 IDs", figures{"ids orders": 4})
		take(t, g, 12)
		step("12 IDs of the lead", figures{"ids orders": 12, "lead orders": 0.003})
		time.Sleep(900 * time.Millisecond)
		step("900 ms", figures{"lead orders": -0.003, "layout.remaining orders": -0.9, "layout.remaining other": -0.9})
		take(t, g, 52) // 44 of them without a wait
		step("52 IDs", figures{
			"ids orders": 52, "wait.duration orders clock": 1, "wait.duration orders clock seconds": 0.002, "lead orders": 0.010,
		})

		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(2*time.Millisecond, cancel)
		if err := g.Fill(ctx, make([]snowflake.ID, 20)); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}

		step("a wait that was given up after 2 ms", figures{
			"wait.duration orders clock canceled": 1, "wait.duration orders clock canceled seconds": 0.002, "lead orders": -0.002,
		})

		clock.ahead.Add(int64(time.Hour))
		time.Sleep(2 * time.Second)
		take(t, g, 1)
		step("a step forward", figures{
			"ids orders": 1, "clock.steps orders": 1, "lead orders": -0.008, "layout.remaining orders": -3602,
		})

		clock.ahead.Add(-int64(time.Minute))
		time.Sleep(2 * time.Second)
		take(t, g, 1)
		step("a step back", figures{"ids orders": 1, "clock.drift orders": -59.995, "layout.remaining orders": -1.995})
		e.Clear()
		take(t, g, 100)
		if got := e.read(t); len(e.Read()) != 0 || got["wait.duration orders clock"] != 1 {
			t.Errorf("after Clear: %v", got)
		}
	})
}

// The store answers within 30 ms.
func TestEachMetricOfALeaseChangesByWhatItSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, e := newStore(), newExporter()
		s.behind.Store(int64(2 * time.Second))
		l, other := open(t, s, lease.WithPatience(time.Second), lease.WithWorkers(0, 1)), open(t, s, lease.WithNamespace("other"))
		e.addLease("orders", l)
		e.addLease("other", other)
		s.set(30*time.Millisecond, false)
		start := e.read(t)
		for key, value := range (figures{
			"worker orders": 0, "lease.held orders": 1, "lease.epoch orders": 1, "lease.horizon orders": 10.010,
			"lease.acquisitions orders": 1, "lease.takeovers orders": 0, "lease.losses orders": 0,
			"lease.clock.skew orders": 2, "lease.workers orders": 4, "lease.acquisitions other": 1,
		}) {
			if got, ok := start[key]; !ok || math.Abs(got-value) > 1e-6 {
				t.Errorf("at the start %s is %g, %v, want %g", key, got, ok, value)
			}
		}

		time.Sleep(4 * time.Second)
		calm := e.read(t)
		calm.check(t, "4 s", start, figures{"lease.horizon orders": -4, "lease.horizon other": -4})

		s.behind.Store(int64(5 * time.Second))
		time.Sleep(2 * time.Second) // an extension is due after 4.5 to 5.5 s
		extended := e.read(t)
		extended.check(t, "an extension", calm, figures{
			"lease.call.duration orders extend": 1, "lease.call.duration orders extend seconds": 0.030,
			"lease.call.duration other extend": 1, "lease.call.duration other extend seconds": 0.030,
			// The store's clock was read in these 30 ms, and the smaller difference is taken.
			"lease.clock.skew orders": 2.97, "lease.clock.skew other": 2.97,
		})
		if left := extended["lease.horizon orders"]; left < 8.4 || left > 9.6 { // the window less 0.47 to 1.5 s
			t.Errorf("after an extension the horizon is in %g s", left)
		}
		closeLease(t, other) // its extensions are not in what follows
		e.Remove("other")
		for _, v := range e.Read() {
			if v.Generator == "other" {
				t.Errorf("%s is there after Remove", v.Metric)
			}
		}

		s.set(30*time.Millisecond, true)
		before := e.read(t)
		time.Sleep(9700 * time.Millisecond)
		if _, err := l.Generator().Next(); !errors.Is(err, snowflake.ErrLeaseStalled) {
			t.Fatal(err)
		}
		down := e.read(t)
		calls := down["lease.call.duration orders extend _OTHER"]
		if calls < 2 {
			t.Errorf("%g calls of a store that is down", calls)
		}
		down.check(t, "an outage", before, figures{
			"lease.call.duration orders extend _OTHER": calls, "lease.call.duration orders extend _OTHER seconds": 0.030 * calls,
			"wait.duration orders lease timeout": 1, "wait.duration orders lease timeout seconds": 1,
			"lease.horizon orders": -10.7,
		})

		time.Sleep(15 * time.Second)
		thief := open(t, s.Store, lease.WithWorkers(0, 0))
		s.set(30*time.Millisecond, false)
		time.Sleep(5 * time.Second)
		lost := e.read(t)
		retries := lost["lease.call.duration orders extend _OTHER"] - calls
		// Of the others two find the loss, by the last token and the one before, one is for the first horizon of the new
		// worker, and one is for the call above that had to wait.
		lost.check(t, "a loss", down, figures{
			"lease.losses orders": 1, "lease.acquisitions orders": 1, "worker orders": 1,
			"lease.call.duration orders extend _OTHER": retries, "lease.call.duration orders extend _OTHER seconds": 0.030 * retries,
			"lease.call.duration orders extend lost": 2, "lease.call.duration orders extend lost seconds": 0.060,
			"lease.call.duration orders extend": 2, "lease.call.duration orders extend seconds": 0.060,
			"lease.call.duration orders acquire": 1,
		})

		closeLease(t, l)
		e.read(t).check(t, "Close", lost, figures{
			"lease.held orders": -1, "lease.horizon orders": -lost["lease.horizon orders"],
			"lease.call.duration orders release": 1,
		})
		closeLease(t, thief)
	})
}

// A Fill that gives up its wait gives its IDs back, which Stats had counted.
func TestCountersDoNotDecrease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, g := newExporter(), newGenerator(t, 1)
		e.Add("orders", g, nil, e.observe)
		time.Sleep(time.Second)
		take(t, g, 44)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- g.Fill(ctx, make([]snowflake.ID, 20)) }()
		synctest.Wait()
		during := e.read(t)["ids orders"]
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) || g.Stats().Issued >= uint64(during) {
			t.Fatalf("%v, %d IDs after %g: the test needs IDs that are given back", err, g.Stats().Issued, during)
		}

		if after := e.read(t)["ids orders"]; after < during {
			t.Errorf("IDs fell from %g to %g", during, after)
		}

		h := newGenerator(t, 2)
		take(t, h, 3)
		e.Add("orders", h, nil, nil)
		after := e.read(t)
		if after["ids orders"] != 3 || after["worker orders"] != 2 {
			t.Errorf("another generator with the name: %v", after)
		}

		take(t, g, 100)
		if got := e.read(t); got["wait.duration orders clock"] != after["wait.duration orders clock"] || g.Stats().Waits == 0 {
			t.Errorf("waits of the generator that was replaced: %v", got)
		}

		e.Remove("orders")
		e.Remove("orders")
		if got := e.Read(); len(got) != 0 {
			t.Errorf("after Remove: %v", got)
		}
	})
}

// layout has 4 workers and 4 IDs a millisecond, and an epoch before the time of synctest bubbles.
var layout = snowflake.WithLayout(snowflake.MustLayout(time.Unix(0, 0), time.Millisecond,
	snowflake.Field{Name: "time", Bits: 41}, snowflake.Field{Name: "worker", Bits: 2}, snowflake.Field{Name: "sequence", Bits: 2}))

// store answers Extend after a delay, or fails after it.
type store struct {
	leasestore.Store
	delay  atomic.Int64 // in nanoseconds, as behind
	down   atomic.Bool
	behind atomic.Int64 // how far its clock is behind
}

var errDown = errors.New("the store is down")

func newStore() *store {
	s := new(store)
	s.Store = lease.NewMemory(func() time.Time { return time.Now().Add(-time.Duration(s.behind.Load())) })
	return s
}

func (s *store) set(delay time.Duration, down bool) {
	s.delay.Store(int64(delay))
	s.down.Store(down)
}

func (s *store) Extend(ctx context.Context, c leasestore.Claim, horizon int64, ttl time.Duration) (time.Time, error) {
	isDown := s.down.Load()
	time.Sleep(time.Duration(s.delay.Load()))
	if isDown {
		return time.Time{}, errDown
	}
	return s.Store.Extend(ctx, c, horizon, ttl)
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
	values := e.Read()
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

// An exporter that prints.
func ExampleSet() {
	units := map[string]string{}
	for _, m := range metrics.All() {
		units[m.Name] = m.Unit
	}

	gen, err := snowflake.New(5)
	if err != nil {
		fmt.Println(err)
		return
	}

	var set metrics.Set
	set.Add("orders", gen, nil, func(v metrics.Value) { fmt.Println(v.Metric, v.Label, v.Value) })
	for _, v := range set.Read() {
		if v.Metric == "snowflake.worker" || v.Metric == "snowflake.clock.steps" {
			fmt.Println(v.Metric, v.Generator, v.Value, units[v.Metric])
		}
	}
	// Output:
	// snowflake.clock.steps orders 0 {step}
	// snowflake.worker orders 5 1
}
