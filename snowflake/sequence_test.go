package snowflake_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

// spread counts the keys in 64 equal ranges of a layout's IDs.
type spread struct {
	layout snowflake.Layout
	counts [64]int
}

func (s *spread) add(keys ...snowflake.ID) {
	for _, id := range keys {
		s.counts[id>>(s.layout.Bits()-6)]++
	}
}

// fullest returns how many keys are in the fullest of n equal ranges, relative to the mean.
func (s *spread) fullest(n int) float64 {
	most, total := 0, 0
	for part := range slices.Chunk(s.counts[:], len(s.counts)/n) {
		keys := 0
		for _, count := range part {
			keys += count
		}
		most, total = max(most, keys), total+keys
	}
	return float64(most) * float64(n) / float64(total)
}

// mostOfRange is the promise: no range of keys gets more than this, relative to the mean. The clocks are seeded, so the
// keys are the same in each run.
const mostOfRange = 1.5

// want checks the promise.
func (s *spread) want(t *testing.T, what string) {
	t.Helper()
	for _, n := range []int{16, 64} {
		most := s.fullest(n)
		t.Logf("%s: the fullest of %d ranges has %.3f x the mean", what, n, most)
		if most > mostOfRange {
			t.Errorf("%s: the fullest of %d ranges has %.2f x the mean, want at most %v", what, n, most, mostOfRange)
		}
	}
}

// Each process has a clock of its own. Its statements come at random times, or in step with the clock, at rates of up to
// nine tenths of what a worker can issue.
func TestScatteredSpreadsTheRowsOfFewProcesses(t *testing.T) {
	const statements, perSecond = 20_000, 128_000
	for _, rows := range []int{1, 10, 100, 1_000} {
		for _, used := range []float64{0.001, 0.05, 0.3, 0.9} {
			for _, processes := range []int{1, 8} {
				t.Run(fmt.Sprintf("%d rows a statement, %g of the rate, processes %d", rows, used, processes), func(t *testing.T) {
					t.Parallel()
					gap := float64(rows) / perSecond / used * float64(time.Second)
					atRandom, inStep := spread{layout: snowflake.Scattered()}, spread{layout: snowflake.Scattered()}
					for process := range processes {
						random := rand.New(rand.NewPCG(uint64(rows), uint64(process)))
						atRandom.insert(t, process, statements, rows, func() time.Duration { return time.Duration(random.ExpFloat64() * gap) })
						inStep.insert(t, process, statements, rows, func() time.Duration { return time.Duration(gap) })
					}
					atRandom.want(t, "statements at random")
					inStep.want(t, "statements in step")
				})
			}
		}
	}
}

// insert adds the keys of the statements of a process.
func (s *spread) insert(t *testing.T, process, statements, rows int, gap func() time.Duration) {
	t.Helper()
	clock := newFakeClock(epoch2025.Add(time.Hour))
	g := mustNew(t, int64(process), snowflake.WithLayout(s.layout), snowflake.WithClock(clock))
	ids := make([]snowflake.ID, rows)
	for range statements {
		clock.Advance(gap())
		noError(t, g.Fill(t.Context(), ids))
		s.add(ids...)
	}
}

// A process may end after one row. So may an owner of a lease, whose successor begins at a tick without IDs.
func TestScatteredSpreadsTheFirstRowsOfProcesses(t *testing.T) {
	first, owners := spread{layout: snowflake.Scattered()}, spread{layout: snowflake.Scattered()}
	layout := snowflake.WithLayout(snowflake.Scattered())
	l, clock := leased(t, layout)
	for range 20_000 {
		clock.Advance(time.Second)
		first.add(mustNew(t, 1, layout, snowflake.WithClock(clock)).MustNext())

		from := mustTick(t, l) + 1 // so that the clock does not skip the start
		mustMove(t, l, 1, from, from+1_000)
		owners.add(l.MustNext())
	}
	first.want(t, "first rows of processes")
	owners.want(t, "first rows of owners")
}

// The order of the fields decides, also of a layout that is not a preset. The sequence below a part of the time is not
// above the time.
func TestOnlyASequenceAboveTheTimeBeginsElsewhere(t *testing.T) {
	for fields, want := range map[string]bool{
		"sequence:6 time:41 worker:10": true, "region:2 sequence:6 time:41 worker:10": true, "sequence:6 worker:10 time:41": true,
		"time:41 worker:10 sequence:6": false, "time:19 sequence:6 time:22 worker:10": false, "worker:4 time:41 sequence:6": false,
	} {
		g, clock := clocked(t, snowflake.WithLayout(layoutOf("epoch=2025-01-01T00:00:00Z tick=1ms "+fields)))
		begins := map[int64]bool{}
		for range 1_000 {
			clock.Advance(time.Second)
			begins[g.Layout().Decompose(g.MustNext()).Sequence] = true
		}
		if all := len(begins) == 64; all != want || !want && len(begins) != 1 {
			t.Errorf("%s: %d sequences begin a tick, want all %v", fields, len(begins), want)
		}
	}
}

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
			id := g.MustNext()
			if id <= last {
				t.Fatalf("%d after %d", id, last)
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
			noError(t, g.Fill(t.Context(), ids[:n]))
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
	fill(t, l.Generator, 4096) // the last tick below the horizon
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
