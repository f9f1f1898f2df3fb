package core

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// space is a layout with ticks of the given length and 4 IDs each, whose epoch is before the clock of a bubble.
func space(tick time.Duration) Space {
	epoch := time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()
	return Space{EpochNanos: epoch, Tick: tick, Time: TimeSlot{Low: Slot{6, 41}}, Worker: Slot{2, 4}, Sequence: Slot{0, 2}}
}

func mustNew(tb testing.TB, cfg Config, number int64) *Generator {
	tb.Helper()
	g, err := New(cfg, number)
	if err != nil {
		tb.Fatal(err)
	}
	return &g
}

// Next compares times where the definition compares ticks: from that of the clock to the lead above it.
func TestNextTakesIDsFromTheClocksTickToTheLead(t *testing.T) {
	for _, tick := range []time.Duration{time.Millisecond, 10 * time.Millisecond, 28 * time.Second} {
		for worker, lead := range []time.Duration{0, time.Millisecond, 10 * time.Millisecond, 10 * time.Second} {
			g := mustNew(t, Config{Space: space(tick), Lead: lead}, int64(worker))
			w, leadTicks := g.Lessee.current.Load(), g.Lessee.Lead()
			for _, clock := range []int64{0, 1, leadTicks + 1, 1 << 30} {
				for _, within := range []time.Duration{0, 1, tick - 1} {
					for _, above := range []int64{-clock, -1, 0, 1, leadTicks - 1, leadTicks, leadTicks + 1, leadTicks + 1000} {
						if clock+above < 0 {
							continue
						}
						want := 0 <= above && above <= leadTicks
						for sequence := range state(4) {
							now, s := nanos(time.Duration(clock)*tick+within), state(clock+above)<<w.bits|sequence
							if got := g.lead.reaches(w, now, s); got != want {
								t.Fatalf("tick %v, lead %v: at tick %d + %v, tick %d is reached: %v", tick, lead, clock, within, clock+above, got)
							}
						}
					}
				}
			}
		}
	}
}

func TestDividerIsExact(t *testing.T) {
	divisors := []uint64{2, 3, 1000, 1e6, 1e7, 1e9, 28e9, 1<<32 - 1, 1 << 32, 1<<62 + 1, 1<<63 - 1}
	for range 3000 {
		divisors = append(divisors, 2+rand.Uint64()>>(1+rand.IntN(60)))
	}

	for _, d := range divisors {
		d = min(max(d, 2), 1<<63-1)
		for range 100 {
			n := rand.Uint64() >> (1 + rand.IntN(63))
			multiple := n / d * d
			for _, n := range []uint64{n, multiple, multiple + d - 1, multiple - 1, 0, 1<<63 - 1} {
				if got := newDivider(d).div(n); n < 1<<63 && got != n/d {
					t.Fatalf("%d / %d = %d, want %d", n, d, got, n/d)
				}
			}
		}
	}
}

// The clock of a bubble stands still while a generator from outside is called in it.
func TestASpinEndsIfTheClockStandsStill(t *testing.T) {
	synctest.Test(t, func(*testing.T) { spin(time.Hour) })
}

// The fast path is for the system clock alone, whose end no test can wait for. The worker is not in the registry, where
// later tests would find it changed.
func TestALimitStopsTheNextCall(t *testing.T) {
	cfg := Config{Space: space(time.Second)}
	g := newGenerator(cfg)
	w, err := newWorker(cfg, 3)
	if err != nil {
		t.Fatal(err)
	}
	g.Lessee.current.Store(w)

	w.last = w.state.Load()
	w.limit.Store(w.last)
	for range 10 {
		if id, err := g.Next(); id != 0 || !errors.Is(err, ErrTimeExhausted) {
			t.Fatalf("Next() = %d, %v", id, err)
		}
	}
}

// The context of the call ends after another call has served it.
func TestACallThatIsServedAndCanceledGivesItsIDsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := mustNew(t, Config{Space: space(time.Millisecond)}, 0)
		first, err := g.Next()
		w, own := g.Lessee.current.Load(), &request{count: 44}
		w.queueOf(0).add(own)
		if _, served := w.serveAll(0, own, w.now()); !served {
			t.Fatal("not served")
		}

		w.withdraw(0, own)
		second, _ := g.Next()
		if s := g.Stats(); err != nil || second != first+1 || s.Issued != 2 {
			t.Errorf("%d, then %d, %v, %+v", first, second, err, s)
		}
	})
}

// countingClock is the clock of a testing/synctest bubble, and counts its sleeps.
type countingClock struct {
	bubbleClock
	sleeps atomic.Int64
}

func (c *countingClock) Sleep(ctx context.Context, d time.Duration) error {
	c.sleeps.Add(1)
	return c.bubbleClock.Sleep(ctx, d)
}

// A queue of ten seconds: nine tenths of its calls have not been served at any time.
func TestOnlyTheFirstOfTheCallsInAQueueSleepsByTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := mustNew(t, Config{Space: space(time.Millisecond), Lead: 10 * time.Millisecond}, 0)
		clock := new(countingClock)
		g.Lessee.current.Load().clock = clock
		const calls = 1000
		var wg sync.WaitGroup
		for range calls {
			wg.Go(func() {
				if err := Fill(t.Context(), g, make([]int64, 40)); err != nil {
					t.Error(err)
				}
			})
		}

		wg.Wait()
		// Each call sleeps until it is first and room for it comes, and then until its IDs are due.
		if sleeps := clock.sleeps.Load(); sleeps > 4*calls {
			t.Errorf("%d calls slept %d times", calls, sleeps)
		}
	})
}
