package snowflake_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

// position returns what the IDs of a worker ascend by, whatever the order of the layout's bits.
func position(tb testing.TB, g *snowflake.Generator, id snowflake.ID) int64 {
	tb.Helper()
	size, parts := g.Layout().MaxSequence()+1, g.Layout().Decompose(id)
	first := g.Layout().FirstSequence(parts.Time, parts.Worker)
	return tickOf(tb, g, id)*size + (parts.Sequence-first+size)%size
}

// storm draws about total IDs by goroutines that call all methods in turn. It checks each call against the IDs that were
// returned before, and the clock before and after, and returns all IDs in ascending order.
func storm(t *testing.T, g *snowflake.Generator, goroutines, total, maxBatch int) []snowflake.ID {
	t.Helper()
	var highest atomic.Int64 // the greatest position of an ID that has been returned
	check := func(batch []snowflake.ID, issue func([]snowflake.ID) error) bool {
		last, before := highest.Load(), g.NowTick()
		if err := issue(batch); err != nil {
			t.Error(err)
			return false
		}
		after := g.NowTick() + g.LeadTicks()
		for _, id := range batch {
			if position(t, g, id) <= last {
				t.Errorf("%d is not above position %d, which was returned before its call began or before it in the batch", id, last)
				return false
			}
			last = position(t, g, id)
			if tick := tickOf(t, g, id); tick < before || tick > after {
				t.Errorf("%d has tick %d, want %d to %d", id, tick, before, after)
				return false
			}
		}
		for {
			returned := highest.Load()
			if returned >= last || highest.CompareAndSwap(returned, last) {
				return true
			}
		}
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var all []snowflake.ID
	for range goroutines {
		wg.Go(func() {
			batch := make([]snowflake.ID, maxBatch)
			var own []snowflake.ID
			for call := 0; len(own) < total/goroutines; call++ {
				n, issue := 1, func(ids []snowflake.ID) (err error) {
					ids[0], err = g.Next()
					return err
				}
				switch call % 64 {
				case 0:
					n, issue = 1+rand.IntN(maxBatch), func(ids []snowflake.ID) error { return g.Fill(context.Background(), ids) }
				case 1:
					issue = func(ids []snowflake.ID) (err error) {
						ids[0], err = g.NextContext(context.Background())
						return err
					}
				}
				if !check(batch[:n], issue) {
					break
				}
				own = append(own, batch[:n]...)
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, own...)
		})
	}
	wg.Wait()
	slices.Sort(all)
	for i, id := range all[1:] {
		if id == all[i] {
			t.Fatalf("%d was issued twice", id)
		}
	}
	return all
}

func TestNoIDComesTwiceNorOutOfOrderNorOutOfTime(t *testing.T) {
	total := 300_000
	if os.Getenv("SNOWFLAKE_TEST_LONG") != "" {
		total = 50_000_000
	}
	for i, procs := range []int{1, 2, 8} {
		t.Run(fmt.Sprintf("GOMAXPROCS=%d", procs), func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
			g := mustNew(t, int64(200+i), snowflake.WithLayout(layoutOf("wide")))
			start := g.Stats().Issued
			issued := len(storm(t, g, 64, total, 400))
			if counted := int(g.Stats().Issued - start); counted != issued {
				t.Errorf("Stats counts %d IDs, %d were issued", counted, issued)
			}
		})
	}
}

func TestLayoutsWithSmallSequencesKeepTheirPromiseUnderLoad(t *testing.T) {
	for _, fields := range []string{"time:41 worker:4 sequence:6", "time:39 worker:4 time:2 sequence:6", "sequence:6 time:41 worker:4"} {
		layout := snowflake.WithLayout(layoutOf("epoch=2025-01-01T00:00:00Z tick=1ms " + fields))
		for i, lead := range []time.Duration{0, 3 * time.Millisecond, 10 * time.Millisecond} {
			storm(t, mustNew(t, int64(i), layout, snowflake.WithLead(lead)), 16, 3_000, 100)
		}
	}
}

// A crash right after the greatest burst, and a restart before the clock has moved at all: the worst that can happen
// without a step of the clock.
func TestAProcessStartsAboveAllThatADeadOneCanHaveLedTo(t *testing.T) {
	for _, l := range []snowflake.Layout{snowflake.Default(), layoutOf("wide"), layoutOf("sonyflake"), layoutOf("seconds"), layoutOf("instagram")} {
		for _, lead := range []time.Duration{0, time.Millisecond, 10 * time.Millisecond, snowflake.MaxLead} {
			clock := newFakeClock(epoch2025.Add(time.Hour + 123456789))
			var last snowflake.ID
			for restart := range 50 {
				g := mustNew(t, 3, snowflake.WithLayout(l), snowflake.WithClock(clock), snowflake.WithLead(lead))
				first, err := g.Next()
				if err != nil || first <= last {
					t.Fatalf("%v, lead %v: the ID after restart %d is %d, %v, before it %d", l, lead, restart, first, err, last)
				}
				burst := (lead/l.Tick()+1)*time.Duration(l.MaxSequence()+1) - 1
				ids := fill(t, g, int(min(burst, 20_000)))
				// It might as well have issued all of the last tick that it may lead to.
				if last, err = l.Compose(snowflake.Parts{
					Time:   clock.Now().Add(lead / l.Tick() * l.Tick()),
					Worker: 3, Sequence: l.MaxSequence(),
				}); err != nil {
					t.Fatal(err)
				}
				if ids[len(ids)-1] > last {
					t.Fatalf("%v, lead %v: %d is beyond the lead, %d", l, lead, ids[len(ids)-1], last)
				}
			}
		}
	}
}
