package snowflake_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

var long = flag.Bool("long", os.Getenv("SNOWFLAKE_TEST_LONG") != "", "issue 10^8 IDs in the uniqueness tests")

// witness looks at every ID that goroutines get from one generator.
type witness struct {
	t       *testing.T
	g       *snowflake.Generator
	layout  snowflake.Layout
	first   int64                      // the first tick
	seen    []atomic.Pointer[[]uint64] // a bit for each sequence, by tick
	highest atomic.Int64               // the greatest ID that has been returned
	count   atomic.Int64
	failed  atomic.Bool
	bits    sync.Mutex
	words   int
}

func newWitness(t *testing.T, g *snowflake.Generator) *witness {
	return &witness{
		t: t, g: g, layout: g.Layout(), first: g.NowTick(),
		seen:  make([]atomic.Pointer[[]uint64], 1<<19),
		words: int(g.Layout().MaxSequence()+64) / 64,
	}
}

func (w *witness) fail(format string, args ...any) {
	if w.failed.CompareAndSwap(false, true) {
		w.t.Errorf(format, args...)
	}
}

// call lets issue draw IDs into batch and checks what a single ID can be held against: those returned before, and the
// clock before and after.
func (w *witness) call(batch []snowflake.ID, issue func([]snowflake.ID) error) {
	returned, before := w.highest.Load(), w.g.NowTick()
	if err := issue(batch); err != nil {
		w.fail("%v", err)
		return
	}
	after := w.g.NowTick()
	last := snowflake.ID(returned)
	for _, id := range batch {
		if id <= last {
			w.fail("%d is not above %d, which was returned before its call began or before it in the batch", id, last)
		}
		last = id
		tick, _ := w.layout.Field(id, snowflake.FieldTime)
		if tick < before || tick > after+w.g.LeadTicks() {
			w.fail("%d has tick %d: the clock went from %d to %d, the lead is %d", id, tick, before, after, w.g.LeadTicks())
		}
		w.mark(id, tick)
	}
	for {
		highest := w.highest.Load()
		if highest >= int64(last) || w.highest.CompareAndSwap(highest, int64(last)) {
			break
		}
	}
	w.count.Add(int64(len(batch)))
}

func (w *witness) mark(id snowflake.ID, tick int64) {
	slot := &w.seen[tick-w.first]
	words := slot.Load()
	if words == nil {
		w.bits.Lock()
		if words = slot.Load(); words == nil {
			fresh := make([]uint64, w.words)
			words = &fresh
			slot.Store(words)
		}
		w.bits.Unlock()
	}
	sequence := int64(id) & w.layout.MaxSequence()
	bit := uint64(1) << (sequence % 64)
	if atomic.OrUint64(&(*words)[sequence/64], bit)&bit != 0 {
		w.fail("%d was issued twice", id)
	}
}

// storm draws total IDs by goroutines that call all methods in turn.
func (w *witness) storm(goroutines int, total int64, maxBatch int) {
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			ctx := context.Background()
			batch := make([]snowflake.ID, maxBatch)
			for w.count.Load() < total && !w.failed.Load() {
				w.call(batch[:1], func(ids []snowflake.ID) (err error) {
					ids[0], err = w.g.Next()
					return err
				})
				w.call(batch[:1], func(ids []snowflake.ID) (err error) {
					ids[0], err = w.g.NextContext(ctx)
					return err
				})
				w.call(batch[:1+rand.IntN(maxBatch)], func(ids []snowflake.ID) error { return w.g.Fill(ctx, ids) })
			}
		})
	}
	wg.Wait()
}

func TestNoIDComesTwiceNorOutOfOrderNorOutOfTime(t *testing.T) {
	total := int64(2_000_000)
	if *long {
		total = 100_000_000
	}
	for i, procs := range []int{1, 2, 8} {
		t.Run(fmt.Sprintf("GOMAXPROCS=%d", procs), func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
			g := mustNew(t, int64(200+i), snowflake.WithLayout(layoutOf("wide")))
			w := newWitness(t, g)
			start := g.Stats().Issued
			w.storm(64, total, 400)
			if issued := int64(g.Stats().Issued - start); issued != w.count.Load() {
				t.Errorf("Stats counts %d IDs, %d were issued", issued, w.count.Load())
			}
		})
	}
}

func TestLayoutsWithSmallSequencesKeepTheirPromiseUnderLoad(t *testing.T) {
	layout, err := snowflake.ParseLayout("epoch=2025-01-01T00:00:00Z tick=1ms time:41 worker:4 sequence:6")
	if err != nil {
		t.Fatal(err)
	}
	for i, lead := range []snowflake.Option{snowflake.WithLead(0), snowflake.WithLead(3e6), snowflake.WithLead(10 * time.Millisecond)} {
		g := mustNew(t, int64(i), snowflake.WithLayout(layout), lead)
		w := newWitness(t, g)
		w.storm(16, 3_000, 100)
	}
}
