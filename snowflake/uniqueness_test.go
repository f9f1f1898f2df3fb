package snowflake_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
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

func TestNoIDIsIssuedBeforeTheEpoch(t *testing.T) {
	layout := snowflake.MustLayout(time.Now().Add(time.Hour), time.Millisecond, fields("time", 41, "worker", 10, "sequence", 12)...)
	g, err := snowflake.New(0, snowflake.WithLayout(layout))
	if g != nil || !errors.Is(err, snowflake.ErrBeforeEpoch) || !strings.Contains(err.Error(), layout.Epoch().Format(time.RFC3339Nano)) {
		t.Errorf("New with an epoch in the future: %v, want ErrBeforeEpoch with the epoch", err)
	}
	// A monotonic clock that does go back must not make an ID of a negative time.
	clock := newFakeClock(epoch2025.Add(time.Minute))
	g = mustNew(t, 0, snowflake.WithClock(clock))
	clock.Advance(-time.Hour)
	if id, err := g.Next(); id != 0 || !errors.Is(err, snowflake.ErrBeforeEpoch) || !strings.Contains(err.Error(), "2024-12-31T23:01:00Z is before 2025") {
		t.Errorf("Next() = %d, %v, want ErrBeforeEpoch with both times", id, err)
	}
	if s := g.Stats(); s.Issued != 0 {
		t.Errorf("%+v", s)
	}
	clock.Advance(2 * time.Hour)
	if _, err := g.Next(); err != nil {
		t.Errorf("after the epoch: %v", err)
	}
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
			for {
				n := len(batch)
				err := g.Fill(t.Context(), batch)
				if err != nil {
					// What is left may be less than a batch.
					n, batch = 1, batch[:1]
					batch[0], err = g.Next()
				}
				if err != nil {
					if !errors.Is(err, snowflake.ErrTimeExhausted) || !strings.Contains(err.Error(), l.End().Format(time.RFC3339Nano)) {
						t.Fatalf("at the end: %v, want ErrTimeExhausted with the end", err)
					}
					break
				}
				for _, id := range batch[:n] {
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
				if id, err := g.Next(); id != 0 || !errors.Is(err, snowflake.ErrTimeExhausted) {
					t.Errorf("Next() = %d, %v", id, err)
				}
				if err := g.Fill(context.Background(), make([]snowflake.ID, 5)); !errors.Is(err, snowflake.ErrTimeExhausted) {
					t.Errorf("Fill: %v", err)
				}
				clock.Advance(3 * l.Tick())
			}
			clock.Advance(time.Minute)
			if _, err := snowflake.New(0, snowflake.WithLayout(l), snowflake.WithClock(clock)); !errors.Is(err, snowflake.ErrTimeExhausted) {
				t.Errorf("New after the end: %v", err)
			}
			if s := g.Stats(); s.Remaining != 0 {
				t.Errorf("remaining: %v", s.Remaining)
			}
		})
	}
}

func TestAGeneratorCanUse292YearsFromItsEpoch(t *testing.T) {
	old := snowflake.MustLayout(time.Date(1700, 1, 1, 0, 0, 0, 0, time.UTC), time.Second, fields("time", 40, "sequence", 10)...)
	const end = "is not before the end, 1992-04-11T23:47:16.854775807Z"
	if _, err := snowflake.New(0, snowflake.WithLayout(old)); !errors.Is(err, snowflake.ErrTimeExhausted) || !strings.Contains(err.Error(), end) {
		t.Errorf("New: %v, want %q", err, end)
	}
	clock := newFakeClock(time.Date(2262, 4, 11, 0, 0, 0, 0, time.UTC))
	g := mustNew(t, 0, snowflake.WithLayout(layoutOf("mastodon")), snowflake.WithClock(clock))
	if left := g.Stats().Remaining; left.Round(time.Second) != 23*time.Hour+47*time.Minute+17*time.Second {
		t.Errorf("remaining: %v", left)
	}
	for range 3 {
		clock.Advance(24 * time.Hour)
		if id, err := g.Next(); id != 0 || !errors.Is(err, snowflake.ErrTimeExhausted) || !strings.Contains(err.Error(), clock.Now().Format(time.DateOnly)) {
			t.Errorf("at %v: %d, %v, want ErrTimeExhausted with the clock's time", clock.Now(), id, err)
		}
	}
}

func TestABatchThatNoLongerFitsTakesNothing(t *testing.T) {
	l := snowflake.Default()
	clock := newFakeClock(l.End().Add(-100 * time.Millisecond))
	g := mustNew(t, 0, snowflake.WithClock(clock))
	first := g.MustNext()
	if err := g.Fill(t.Context(), make([]snowflake.ID, 1_000_000)); !errors.Is(err, snowflake.ErrTimeExhausted) {
		t.Errorf("Fill: %v, want ErrTimeExhausted", err)
	}
	if id, err := g.Next(); id != first+1 || err != nil {
		t.Errorf("after it: %d, %v, want %d", id, err, first+1)
	}
	clock = newFakeClock(l.End().Add(-5 * time.Millisecond))
	if _, err := snowflake.New(0, snowflake.WithClock(clock)); !errors.Is(err, snowflake.ErrTimeExhausted) {
		t.Errorf("New when the start fence is beyond the end: %v", err)
	}
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
			if id, err := g.Next(); id != 0 || !errors.Is(err, snowflake.ErrTimeExhausted) {
				t.Errorf("Next() = %d, %v, want ErrTimeExhausted", id, err)
			}
		}
	}
}

func TestALeadLongerThanTheLayoutDoesNotWrapAround(t *testing.T) {
	l := snowflake.MustLayout(epoch2025, time.Microsecond, fields("time", 20, "sequence", 43)...)
	_, err := snowflake.New(0, snowflake.WithLayout(l), snowflake.WithLead(1<<21*time.Microsecond), snowflake.WithClock(newFakeClock(epoch2025.Add(time.Millisecond))))
	if !errors.Is(err, snowflake.ErrTimeExhausted) {
		t.Errorf("New: %v: the fence is beyond the end", err)
	}
}
