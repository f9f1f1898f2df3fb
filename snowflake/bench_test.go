package snowflake_test

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

// Sinks keep the compiler from dropping what is measured.
var (
	sinkID    snowflake.ID
	sinkStats snowflake.Stats
	sinkBytes []byte
)

// widest has so many sequence numbers that no call waits.
func widest() snowflake.Layout {
	return layoutOf("epoch=2025-01-01T00:00:00Z tick=1ms time:41 sequence:22")
}

// steppedClock is the system clock, until step sets its wall clock back by a day and lets two seconds pass.
type steppedClock struct{ elapsed, wall time.Duration }

func (c *steppedClock) Elapsed() time.Duration { return time.Since(benchmarkStart) + c.elapsed }
func (c *steppedClock) Now() time.Time         { return time.Now().Add(c.wall) }
func (c *steppedClock) step()                  { c.elapsed, c.wall = 2*time.Second, -24*time.Hour }

func (c *steppedClock) Sleep(context.Context, time.Duration) error { return nil }

var benchmarkStart = time.Now()

// A program compares two of these, or the same ones of two commits, with benchstat.
func BenchmarkNext(b *testing.B) {
	wide := snowflake.WithLayout(widest())
	fixed := mustNew(b, 0, wide)
	leased := newLessee(b, 0, wide)
	mustMove(b, leased, 0, mustTick(b, leased), 1<<41-1)
	observed := mustNew(b, 0, wide, snowflake.WithClock(new(steppedClock)))
	observed.Observe(func(snowflake.Wait) {})
	var clock steppedClock
	catching := mustNew(b, 0, wide, snowflake.WithClock(&clock))
	clock.step()
	if catching.MustNext(); catching.Stats().Drift > -time.Hour {
		b.Fatalf("drift %v: the generator is not catching up", catching.Stats().Drift)
	}
	for _, c := range []struct {
		name string
		g    *snowflake.Generator
	}{
		{"fixed", fixed},
		{"leased", leased.gen},
		{"random start", mustNew(b, 0, wide, snowflake.WithRandomStart())},
		{"clock", mustNew(b, 0, wide, snowflake.WithClock(new(steppedClock)))},
		{"catching up", catching},
		{"observed", observed},
		{"ceiling of 4,096 a millisecond", mustNew(b, 77)},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				sinkID, _ = c.g.Next()
			}
		})
	}
	b.Run("context", func(b *testing.B) {
		for ctx := context.Background(); b.Loop(); {
			sinkID, _ = fixed.NextContext(ctx)
		}
	})
	b.Run("contended", func(b *testing.B) {
		b.SetParallelism(4)
		b.RunParallel(func(p *testing.PB) {
			for p.Next() {
				_, _ = fixed.Next()
			}
		})
	})
	b.Run("of time.Since alone", func(b *testing.B) {
		for b.Loop() {
			sinkID = snowflake.ID(time.Since(benchmarkStart))
		}
	})
	b.Run("Stats", func(b *testing.B) {
		for b.Loop() {
			sinkStats = fixed.Stats()
		}
	})
}

func BenchmarkFill(b *testing.B) {
	g, batch := mustNew(b, 0, snowflake.WithLayout(widest())), make([]snowflake.ID, 1000)
	for b.Loop() {
		if err := g.Fill(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
	}
}

// The IDs have 18 and 19 digits, as some years after an epoch.
func BenchmarkText(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	var (
		ids   [1024]snowflake.ID
		texts [1024]string
		raw   [1024][]byte
		id    snowflake.ID
		buf   = make([]byte, 0, 32)
	)
	for i := range ids {
		ids[i] = snowflake.ID(1e17 + random.Int64N(9e18))
		texts[i], raw[i] = ids[i].String(), []byte(ids[i].String())
	}
	// The subjects call their functions directly and not through a table, so that inlining is as in a program.
	b.Run("Parse", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			sinkID, _ = snowflake.Parse(texts[i%1024])
		}
	})
	b.Run("strconv.ParseInt", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			v, _ := strconv.ParseInt(texts[i%1024], 10, 64)
			sinkID = snowflake.ID(v)
		}
	})
	b.Run("Scan string", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			_ = id.Scan(texts[i%1024])
		}
	})
	b.Run("Scan bytes", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			_ = id.Scan(raw[i%1024])
		}
	})
	b.Run("AppendText", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			buf, _ = ids[i%1024].AppendText(buf[:0])
		}
	})
	b.Run("Base62", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			buf = append(buf[:0], ids[i%1024].Base62()...)
		}
	})
}

func BenchmarkJSON(b *testing.B) {
	record := struct {
		ID, Parent, Owner snowflake.ID
		Name              string
	}{1234567890123456789, 1234567890123456780, 987654321098765432, "alice"}
	b.Run("Marshal", func(b *testing.B) {
		for b.Loop() {
			sinkBytes, _ = json.Marshal(&record)
		}
	})
	b.Run("Unmarshal", func(b *testing.B) {
		text, _ := json.Marshal(&record)
		for b.Loop() {
			_ = json.Unmarshal(text, &record)
		}
	})
}
