package snowflake_test

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"testing"

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

// A program compares two of these, or the same ones of two commits, with benchstat.
func BenchmarkNext(b *testing.B) {
	wide := snowflake.WithLayout(widest())
	fixed := mustNew(b, 0, wide)
	leased := newLessee(b, 0, wide)
	mustMove(b, leased, 0, mustTick(b, leased), 1<<41-1)
	for _, c := range []struct {
		name string
		g    *snowflake.Generator
	}{
		{"fixed", fixed},
		{"leased", leased.Generator},
		{"random start", mustNew(b, 0, wide, snowflake.WithRandomStart())},
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

	b.Run("Stats", func(b *testing.B) {
		for b.Loop() {
			sinkStats = fixed.Stats()
		}
	})
}

func BenchmarkFill(b *testing.B) {
	g, batch := mustNew(b, 0, snowflake.WithLayout(widest())), make([]snowflake.ID, 1000)
	for b.Loop() {
		if err := g.Fill(b.Context(), batch); err != nil { // no helper: b.Helper would be a third of the time
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

	for name, run := range map[string]func(i int){
		"Parse":      func(i int) { sinkID, _ = snowflake.Parse(texts[i]) },
		"Scan":       func(i int) { _ = id.Scan(raw[i]) },
		"AppendText": func(i int) { buf, _ = ids[i].AppendText(buf[:0]) },
		"Base62":     func(i int) { buf = append(buf[:0], ids[i].Base62()...) },
		"Marshal":    func(i int) { sinkBytes, _ = json.Marshal(ids[i]) },
		"Unmarshal":  func(i int) { _ = json.Unmarshal(raw[i], &id) },
	} {
		b.Run(name, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				run(i % 1024)
			}
		})
	}
}
