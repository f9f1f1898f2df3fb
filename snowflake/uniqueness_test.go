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
	var wg sync.WaitGroup
	var mu sync.Mutex
	var all []snowflake.ID
	for range goroutines {
		wg.Go(func() {
			var own []snowflake.ID
			batch := make([]snowflake.ID, maxBatch)
			for call := 0; len(own) < total/goroutines && !t.Failed(); call++ {
				last, before := highest.Load(), g.NowTick()
				ids, err := draw(g, call, batch)
				if err != nil {
					t.Error(err)
				}

				after := g.NowTick() + g.LeadTicks()
				for _, id := range ids {
					at, tick := position(t, g, id), tickOf(t, g, id)
					if at <= last || tick < before || tick > after {
						t.Errorf("%d has position %d and tick %d, want one above %d, which was returned before its call began or "+
							"before it in the batch, and a tick from %d to %d", id, at, tick, last, before, after)
					}
					last = at
				}

				for returned := highest.Load(); returned < last; returned = highest.Load() {
					highest.CompareAndSwap(returned, last)
				}

				own = append(own, ids...)
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

// draw calls the methods in turn, mostly Next. It returns the part of the batch that it has filled.
func draw(g *snowflake.Generator, call int, batch []snowflake.ID) (ids []snowflake.ID, err error) {
	ids = batch[:1]
	switch call % 64 {
	case 0:
		ids = batch[:1+rand.IntN(len(batch))]
		err = g.Fill(context.Background(), ids)
	case 1:
		ids[0], err = g.NextContext(context.Background())
	default:
		ids[0], err = g.Next()
	}
	return ids, err
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

func TestNoIDIsIssuedBeforeTheEpoch(t *testing.T) {
	layout := snowflake.MustLayout(time.Now().Add(time.Hour), time.Millisecond, fields("time", 41, "worker", 10, "sequence", 12)...)
	wantMatch(t, errOf(snowflake.New(0, snowflake.WithLayout(layout))), snowflake.ErrBeforeEpoch, layout.Epoch().Format(time.RFC3339Nano))
	// A monotonic clock that does go back must not make an ID of a negative time.
	clock := newFakeClock(epoch2025.Add(time.Minute))
	g := mustNew(t, 0, snowflake.WithClock(clock))
	clock.Advance(-time.Hour)
	wantNoID(t, g, snowflake.ErrBeforeEpoch, "2024-12-31T23:01:00Z is before 2025")
	if s := g.Stats(); s.Issued != 0 {
		t.Errorf("%+v", s)
	}
	clock.Advance(2 * time.Hour)
	g.MustNext()
}

// Every preset is driven over its end: each ID of the last ticks is issued once, then there is an error for ever.
func TestTheEndOfTimeIsAnErrorForEver(t *testing.T) {
	others := []string{"baidu", "seconds", "mastodon", "yitter"} // whose ends are out of reach of the clocks here
	names := slices.DeleteFunc(snowflake.Presets(), func(name string) bool { return slices.Contains(others, name) })
	for _, name := range append(names,
		"epoch=2025-01-01T00:00:00Z tick=1ms shard:4 time:20 sequence:2", "epoch=2025-01-01T00:00:00Z tick=1h time:2 sequence:3") {
		t.Run(name, func(t *testing.T) {
			l := layoutOf(name)
			clock := newFakeClock(l.End().Add(-20*l.Tick() - 10*time.Millisecond))
			if clock.Now().Before(l.Epoch()) {
				clock = newFakeClock(l.Epoch())
			}

			g := mustNew(t, l.MaxWorker(), snowflake.WithLayout(l), snowflake.WithClock(clock))
			var last snowflake.ID
			at := int64(-1) // its position
			batch := make([]snowflake.ID, l.MaxSequence()+1)
			for len(batch) > 0 {
				if g.Fill(t.Context(), batch) != nil { // what is left may be less than a batch
					batch = batch[:len(batch)/2]
					continue
				}
				for _, id := range batch {
					if position(t, g, id) <= at || uint64(id)>>l.Bits() != 0 {
						t.Fatalf("%d after %d, at most %d bits", id, last, l.Bits())
					}
					last, at = id, position(t, g, id)
				}
			}

			final := snowflake.Parts{Time: l.End().Add(-1), Worker: l.MaxWorker()}
			final.Sequence = (l.FirstSequence(final.Time, final.Worker) + l.MaxSequence()) % (l.MaxSequence() + 1)
			want, err := l.Compose(final)
			if last != want || err != nil {
				t.Errorf("the last ID is %d, want %d, %v", last, want, err)
			}

			for range 3 {
				wantNoID(t, g, snowflake.ErrTimeExhausted, l.End().Format(time.RFC3339Nano))
				wantMatch(t, g.Fill(context.Background(), make([]snowflake.ID, 5)), snowflake.ErrTimeExhausted, "")
				clock.Advance(3 * l.Tick())
			}

			clock.Advance(time.Minute)
			wantMatch(t, errOf(snowflake.New(0, snowflake.WithLayout(l), snowflake.WithClock(clock))), snowflake.ErrTimeExhausted, "")
			if s := g.Stats(); s.Remaining != 0 {
				t.Errorf("remaining: %v", s.Remaining)
			}
		})
	}
}

func TestAGeneratorCanUse292YearsFromItsEpoch(t *testing.T) {
	old := snowflake.MustLayout(time.Date(1700, 1, 1, 0, 0, 0, 0, time.UTC), time.Second, fields("time", 40, "sequence", 10)...)
	const end = "is not before the end, 1992-04-11T23:47:16.854775807Z"
	wantMatch(t, errOf(snowflake.New(0, snowflake.WithLayout(old))), snowflake.ErrTimeExhausted, end)
	clock := newFakeClock(time.Date(2262, 4, 11, 0, 0, 0, 0, time.UTC))
	g := mustNew(t, 0, snowflake.WithLayout(layoutOf("mastodon")), snowflake.WithClock(clock))
	if left := g.Stats().Remaining; left.Round(time.Second) != 23*time.Hour+47*time.Minute+17*time.Second {
		t.Errorf("remaining: %v", left)
	}
	for range 3 {
		clock.Advance(24 * time.Hour)
		wantNoID(t, g, snowflake.ErrTimeExhausted, clock.Now().Format(time.DateOnly))
	}
}

func TestABatchThatNoLongerFitsTakesNothing(t *testing.T) {
	l := snowflake.Default()
	clock := newFakeClock(l.End().Add(-100 * time.Millisecond))
	g := mustNew(t, 0, snowflake.WithClock(clock))
	first := g.MustNext()
	wantMatch(t, g.Fill(t.Context(), make([]snowflake.ID, 1_000_000)), snowflake.ErrTimeExhausted, "")
	if id, err := g.Next(); id != first+1 || err != nil {
		t.Errorf("after it: %d, %v, want %d", id, err, first+1)
	}
	clock = newFakeClock(l.End().Add(-5 * time.Millisecond))
	wantMatch(t, errOf(snowflake.New(0, snowflake.WithClock(clock))), snowflake.ErrTimeExhausted, "") // the start fence is beyond the end
}

// So far beyond the end that the state would be small again after a shift.
func TestAClockFarBeyondTheEndIsNotTakenForAnEarlyOne(t *testing.T) {
	l := widest()
	for _, move := range []func(*fakeClock, time.Duration){(*fakeClock).Advance, (*fakeClock).Step} {
		clock := newFakeClock(epoch2025.Add(time.Hour))
		g := mustNew(t, 0, snowflake.WithLayout(l), snowflake.WithClock(clock))
		g.MustNext()
		move(clock, 2*l.End().Sub(l.Epoch())-time.Minute)
		clock.Advance(2 * time.Minute)
		for range 3 {
			wantNoID(t, g, snowflake.ErrTimeExhausted, "")
		}
	}
}

func TestALeadLongerThanTheLayoutDoesNotWrapAround(t *testing.T) {
	l := snowflake.MustLayout(epoch2025, time.Microsecond, fields("time", 20, "sequence", 43)...)
	_, err := snowflake.New(0, snowflake.WithLayout(l), snowflake.WithLead(1<<21*time.Microsecond), snowflake.WithClock(newFakeClock(epoch2025.Add(time.Millisecond))))
	wantMatch(t, err, snowflake.ErrTimeExhausted, "") // the fence is beyond the end
}
