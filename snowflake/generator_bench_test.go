package snowflake_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

// widest has so many sequence numbers that no ceiling is measured.
func widest() snowflake.Layout {
	return snowflake.MustLayout(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), time.Millisecond,
		snowflake.Field{Name: "time", Bits: 41}, snowflake.Field{Name: "sequence", Bits: 22})
}

func mustNew(tb testing.TB, worker int64, opts ...snowflake.Option) *snowflake.Generator {
	tb.Helper()
	g, err := snowflake.New(worker, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

var (
	sinkID       snowflake.ID
	sinkTime     time.Time
	sinkDuration time.Duration
	sinkStats    snowflake.Stats
)

func nextSubject(name string, g *snowflake.Generator) subject {
	return subject{name, func(n int) {
		for range n {
			sinkID, _ = g.Next()
		}
	}}
}

func BenchmarkNextAgainstClock(b *testing.B) {
	g := mustNew(b, 0, snowflake.WithLayout(widest()))
	base := time.Now()
	takeTurns(b,
		subject{"time.Since", func(n int) {
			for range n {
				sinkDuration = time.Since(base)
			}
		}},
		subject{"time.Now", func(n int) {
			for range n {
				sinkTime = time.Now()
			}
		}},
		nextSubject("Next", g),
		subject{"NextContext", func(n int) {
			ctx := context.Background()
			for range n {
				sinkID, _ = g.NextContext(ctx)
			}
		}},
	)
}

// BenchmarkNextAgainstRandomStart has a generator of each kind. Few IDs begin a tick, so the ratio is that of the others.
// An exporter adds an observer and reads Stats: here after each turn, about every millisecond.
func BenchmarkNextAgainstExported(b *testing.B) {
	layout, err := snowflake.ParseLayout("epoch=2025-01-01T00:00:00Z tick=1ms time:41 worker:2 sequence:20")
	if err != nil {
		b.Fatal(err)
	}
	exported := mustNew(b, 1, snowflake.WithLayout(layout))
	exported.AddObserver(new(observed))
	next := nextSubject("exported", exported)
	takeTurns(b,
		nextSubject("plain", mustNew(b, 0, snowflake.WithLayout(layout))),
		subject{next.name, func(n int) {
			next.run(n)
			sinkStats = exported.Stats()
		}})
}

func BenchmarkNextAgainstRandomStart(b *testing.B) {
	takeTurns(b,
		nextSubject("Next", mustNew(b, 0, snowflake.WithLayout(widest()))),
		nextSubject("WithRandomStart", mustNew(b, 0, snowflake.WithLayout(widest()), snowflake.WithRandomStart())),
	)
}

func BenchmarkFillAgainstStores(b *testing.B) {
	g := mustNew(b, 0, snowflake.WithLayout(widest()))
	ctx := context.Background()
	batch := make([]snowflake.ID, 1000)
	takeTurns(b,
		subject{"stores1000", func(n int) {
			var counter snowflake.ID
			for range n {
				for i := range batch {
					batch[i] = counter
					counter++
				}
			}
		}},
		subject{"Fill1000", func(n int) {
			for range n {
				if err := g.Fill(ctx, batch); err != nil {
					b.Fatal(err)
				}
			}
		}},
	)
}

// BenchmarkNextContended has several goroutines at one generator and compares with as many that take turns at a mutex
// around a counter.
func BenchmarkNextContended(b *testing.B) {
	g := mustNew(b, 0, snowflake.WithLayout(widest()))
	var (
		mu      sync.Mutex
		counter int64
	)
	together := func(n int, f func()) {
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range n / 8 {
					f()
				}
			})
		}
		wg.Wait()
	}
	takeTurns(b,
		subject{"mutex", func(n int) {
			together(n, func() {
				mu.Lock()
				counter++
				mu.Unlock()
			})
		}},
		subject{"Next", func(n int) {
			together(n, func() { _, _ = g.Next() })
		}},
	)
}

// BenchmarkCeiling runs the Default layout as fast as it goes, 4,096 IDs a millisecond, and reports the share of that
// rate which is reached, the processor time it takes and the waits.
func BenchmarkCeiling(b *testing.B) {
	g := mustNew(b, 77)
	for range 200_000 { // uses up the lead, which is not part of the rate
		sinkID, _ = g.Next()
	}
	var issued atomic.Uint64
	before := g.Stats()
	start, cpu := time.Now(), cpuTime()
	for b.Loop() {
		sinkID, _ = g.Next()
		issued.Add(1)
	}
	wall := time.Since(start)
	used := cpuTime() - cpu
	after := g.Stats()
	b.ReportMetric(float64(issued.Load())/(wall.Seconds()*4.096e6)*100, "%ceiling")
	if used > 0 {
		b.ReportMetric(used.Seconds()/wall.Seconds(), "cores")
	}
	b.ReportMetric(float64(after.Waits-before.Waits)/wall.Seconds(), "sleeps/s")
}

// steppedClock is the system clock, until step sets its wall clock back by a day and lets two seconds pass.
type steppedClock struct{ elapsed, wall time.Duration }

func (c *steppedClock) Elapsed() time.Duration { return time.Since(benchmarkStart) + c.elapsed }
func (c *steppedClock) Now() time.Time         { return time.Now().Add(c.wall) }
func (c *steppedClock) step()                  { c.elapsed, c.wall = 2*time.Second, -24*time.Hour }

func (c *steppedClock) Sleep(_ context.Context, d time.Duration) error {
	time.Sleep(d)
	return nil
}

var benchmarkStart = time.Now()

// BenchmarkNextWhileCatchingUp has two generators with a clock of their own, with which Next takes longer. One of them
// runs slower because its wall clock was stepped back.
func BenchmarkNextWhileCatchingUp(b *testing.B) {
	var level, stepped steppedClock
	with := func(clock snowflake.Clock) *snowflake.Generator {
		return mustNew(b, 0, snowflake.WithLayout(widest()), snowflake.WithClock(clock))
	}
	calm, catching := with(&level), with(&stepped)
	stepped.step()
	if _, err := catching.Next(); err != nil || catching.Stats().Drift > -time.Hour {
		b.Fatalf("%v, drift %v: the generator is not catching up", err, catching.Stats().Drift)
	}
	takeTurns(b, nextSubject("Next", calm), nextSubject("catchingUp", catching))
}
