package snowflake_test

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

// since1999 is the Default layout with an epoch before the clock of testing/synctest.
func since1999() snowflake.Option {
	return snowflake.WithLayout(layoutOf("epoch=1999-01-01T00:00:00Z tick=1ms time:41 worker:10 sequence:12"))
}

// seeded is WithRandomStart with numbers that repeat.
func seeded() snowflake.Option {
	return snowflake.WithRandom(rand.New(rand.NewPCG(1, 2)).Uint64N)
}

// Calls come at random times. With 10,000 a second a tick has ten IDs in a row, which are not independent.
func TestARandomStartSpreadsRemainders(t *testing.T) {
	const issued = 160_000
	for _, rate := range []float64{1, 400, 10_000} {
		g, clock := clocked(t, seeded())
		counts := map[int64]int{}
		last, random := snowflake.ID(0), rand.New(rand.NewPCG(3, 4))
		for range issued {
			clock.Advance(time.Duration(random.ExpFloat64() * float64(time.Second) / rate))
			id, err := g.Next()
			if err != nil || id <= last {
				t.Fatalf("%d, %v, after %d", id, err, last)
			}
			last = id
			counts[int64(id)%16]++
		}
		for remainder := range int64(16) { // 10,000 with a standard deviation of 97
			if n := counts[remainder]; n < 9600 || n > 10_400 {
				t.Errorf("%g a second: id %% 16 is %d %d times", rate, remainder, n)
			}
		}
	}
}

func TestARandomStartKeepsBursts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := mustNew(t, 1, since1999(), seeded())
		ids := make([]snowflake.ID, 45_056)
		for _, n := range []int{45_056, 45_000, 4096, 1} {
			time.Sleep(time.Second)
			start, waits := time.Now(), g.Stats().Waits
			if err := g.Fill(t.Context(), ids[:n]); err != nil {
				t.Fatal(err)
			}
			if d := time.Since(start); d != 0 || g.Stats().Waits != waits {
				t.Errorf("%d IDs after an idle second took %v", n, d)
			}
		}
		latest := mustNew(t, 2, since1999(), snowflake.WithRandom(func(limit uint64) uint64 { return limit - 1 }))
		time.Sleep(time.Second)
		for start := time.Now(); time.Since(start) == 0; {
			latest.MustNext()
		}
		if n := latest.Stats().Issued; n != 40_962 { // the last one waited
			t.Errorf("%d calls from the last sequence of a tick on, want 40962", n)
		}
	})
}

// Calls as fast as they go take as long as without the option.
func TestARandomStartKeepsTheRateOfTheCeiling(t *testing.T) {
	slept := func(opts ...snowflake.Option) time.Duration {
		g, clock := clocked(t, opts...)
		clock.Advance(time.Second)
		for range 250_000 {
			g.MustNext()
		}
		total, _ := clock.Slept()
		return total
	}
	// The first tick is not whole.
	if with, without := slept(seeded()), slept(); with < without || with > without+time.Millisecond {
		t.Errorf("250,000 IDs took %v, without the option %v", with, without)
	}
}

// A random start must not reach past the horizon or the layout's end where a lower one would not.
func TestARandomStartUsesTheLastTick(t *testing.T) {
	l, clock := leased(t, snowflake.WithRandom(func(limit uint64) uint64 { return limit - 1 }))
	mustMove(t, l, 1, mustTick(t, l), mustTick(t, l)+3)
	clock.Advance(2 * time.Millisecond)
	if err := l.Fill(t.Context(), make([]snowflake.ID, 4096)); err != nil {
		t.Errorf("the last tick below the horizon: %v", err)
	}
}

func TestWithALeadOfZeroARandomStartStaysInItsTick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := mustNew(t, 1, since1999(), snowflake.WithLead(0), seeded())
		for range 20_000 {
			id := g.MustNext()
			if at := g.Layout().Time(id); at.After(time.Now()) {
				t.Fatalf("%v is ahead of %v", at, time.Now())
			}
		}
	})
}
