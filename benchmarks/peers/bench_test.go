package main

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	bwmarrin "github.com/bwmarrin/snowflake"
	"github.com/google/uuid"
	"github.com/oklog/ulid/v2"
	"github.com/rs/xid"
	"github.com/sony/sonyflake/v2"
	"github.com/yitter/idgenerator-go/idgen"

	"github.com/sqlflake/sqlflake/snowflake"
)

// A subject does n operations in its own loop: a call through a function value would add up to 2 ns to each.
type subject struct {
	name string
	run  func(n int)
}

// compare benchmarks the subjects. Each takes turns with the first one, so that a change of the machine's speed meets
// both, and reports its time and the ratio. Figures are medians of the turns.
func compare(b *testing.B, goroutines int, subjects ...subject) {
	first := subjects[0]
	for _, s := range subjects {
		b.Run(s.name, func(b *testing.B) {
			const turn = 20_000
			var ours, theirs []float64
			for done := 0; done < b.N; done += turn {
				n := min(turn, b.N-done)
				ours = append(ours, together(goroutines, n, first.run))
				theirs = append(theirs, together(goroutines, n, s.run))
			}

			b.ReportMetric(median(theirs), "ns/op")
			b.ReportMetric(median(theirs)/median(ours), "x-first")
		})
	}
}

// together returns the time of an operation, in ns, when the goroutines share n of them.
func together(goroutines, n int, run func(n int)) float64 {
	start := time.Now()
	var group sync.WaitGroup
	for range goroutines {
		group.Go(func() { run(max(n/goroutines, 1)) })
	}
	group.Wait()
	return float64(time.Since(start)) / float64(n)
}

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

// wide is a layout without a ceiling: 1,048,576 IDs a millisecond.
func wide(b *testing.B, opts ...snowflake.Option) *snowflake.Generator {
	layout := snowflake.MustLayout(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), time.Millisecond,
		snowflake.Field{Name: "time", Bits: 41}, snowflake.Field{Name: "worker", Bits: 2},
		snowflake.Field{Name: "sequence", Bits: 20})
	g, err := snowflake.New(0, append(opts, snowflake.WithLayout(layout))...)
	must(b, err)
	return g
}

// generators are ours, the clock that all read, and others with the widest sequence that each can have, up to ours.
func generators(b *testing.B) []subject {
	bwmarrin.NodeBits, bwmarrin.StepBits = 2, 20
	node, err := bwmarrin.NewNode(1)
	bwmarrin.NodeBits, bwmarrin.StepBits = 10, 12

	must(b, err)

	sony, err := sonyflake.New(sonyflake.Settings{
		TimeUnit: time.Millisecond, BitsSequence: 20, BitsMachineID: 2,
		MachineID: func() (int, error) { return 1, nil },
	})
	must(b, err)

	options := idgen.NewIdGeneratorOptions(1)
	options.WorkerIdBitLength, options.SeqBitLength = 2, 20
	yitter := idgen.NewDefaultIdGenerator(options).SnowWorker
	g, base := wide(b), time.Now()
	return []subject{
		{"sqlflake", func(n int) {
			for range n {
				_, _ = g.Next()
			}
		}},
		{"time.Since", func(n int) {
			var last time.Duration
			for range n {
				last = time.Since(base)
			}
			runtime.KeepAlive(last)
		}},
		{"bwmarrin", func(n int) {
			for range n {
				_ = node.Generate()
			}
		}},
		{"sonyflake", func(n int) {
			for range n {
				_, _ = sony.NextID()
			}
		}},
		{"yitter", func(n int) {
			for range n {
				_ = yitter.NextId()
			}
		}},
		{"xid", func(n int) {
			for range n {
				_ = xid.New()
			}
		}},
		{"ulid", func(n int) {
			for range n {
				_ = ulid.Make()
			}
		}},
		{"uuid4", func(n int) {
			for range n {
				_ = uuid.New()
			}
		}},
		{"uuid7", func(n int) {
			for range n {
				_, _ = uuid.NewV7()
			}
		}},
	}
}

func BenchmarkNext(b *testing.B)  { compare(b, 1, generators(b)...) }
func BenchmarkNext2(b *testing.B) { compare(b, 2, generators(b)...) }
func BenchmarkNext8(b *testing.B) { compare(b, 8, generators(b)...) }

// BenchmarkFill is the time of each ID of a batch.
func BenchmarkFill(b *testing.B) {
	g := wide(b)
	fill := func(size int) func(n int) {
		ids := make([]snowflake.ID, size)
		return func(n int) {
			for done := 0; done < n; done += size {
				_ = g.Fill(context.Background(), ids)
			}
		}
	}

	compare(b, 1, subject{"Next", func(n int) {
		for range n {
			_, _ = g.Next()
		}
	}}, subject{"1", fill(1)}, subject{"10", fill(10)}, subject{"100", fill(100)}, subject{"1000", fill(1000)})
}
