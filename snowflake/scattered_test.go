package snowflake_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

// fullest returns how many of the keys are in the fullest of n equal ranges of the layout's IDs, relative to the mean.
func fullest(l snowflake.Layout, keys []snowflake.ID, n int) float64 {
	counts := make([]int, n)
	for _, id := range keys {
		counts[uint64(id)*uint64(n)>>l.Bits()]++
	}
	return float64(slices.Max(counts)) * float64(n) / float64(len(keys))
}

// mostOfRange is the promise: no range of keys gets more than this, relative to the mean. The starts are random and not
// seeded. Of 20,000 single rows a range of 64 has 313 with a standard deviation of 18. The probability of more than 468 is
// below exp(-313*(1.5*ln(1.5)-0.5)) (Chernoff), so that of a false alarm below 2e-13 for all 64, and far less in the other
// cases.
const mostOfRange = 1.5

// wantSpread checks the promise for keys of what.
func wantSpread(t *testing.T, l snowflake.Layout, what string, keys []snowflake.ID) {
	t.Helper()
	for _, n := range []int{16, 64} {
		most := fullest(l, keys, n)
		t.Logf("%s: the fullest of %d ranges has %.3f x the mean", what, n, most)
		if most > mostOfRange {
			t.Errorf("%s: the fullest of %d ranges has %.2f x the mean, want at most %v", what, n, most, mostOfRange)
		}
	}
}

// Each process has a clock of its own, and its statements come at random times, at a rate that one process can insert at.
func TestScatteredSpreadsTheRowsOfFewProcesses(t *testing.T) {
	const statements = 20_000
	for rows, perSecond := range map[int]float64{1: 2_000, 10: 1_000, 100: 500, 1_000: 100} {
		for _, processes := range []int{1, 8} {
			t.Run(fmt.Sprintf("%d rows a statement, processes %d", rows, processes), func(t *testing.T) {
				t.Parallel()
				layout := snowflake.Scattered()
				keys := make([]snowflake.ID, 0, processes*statements*rows)
				for process := range processes {
					clock := newFakeClock(epoch2025.Add(time.Hour))
					g := mustNew(t, int64(process), snowflake.WithLayout(layout), snowflake.WithClock(clock))
					random := rand.New(rand.NewPCG(uint64(rows), uint64(process)))
					for range statements {
						clock.Advance(time.Duration(random.ExpFloat64() * float64(time.Second) / perSecond))
						keys = keys[:len(keys)+rows]
						if err := g.Fill(t.Context(), keys[len(keys)-rows:]); err != nil {
							t.Fatal(err)
						}
					}
				}
				wantSpread(t, layout, t.Name(), keys)
			})
		}
	}
}

// A process may end after one row. So may an owner of a lease, whose successor begins at a tick without IDs.
func TestScatteredSpreadsTheFirstRowsOfProcesses(t *testing.T) {
	layout := snowflake.WithLayout(snowflake.Scattered())
	l, clock := leased(t, layout)
	var first, owners []snowflake.ID
	for range 20_000 {
		clock.Advance(time.Second)
		first = append(first, mustNew(t, 1, layout, snowflake.WithClock(clock)).MustNext())

		from := mustTick(t, l) + 1 // so that the clock does not skip the start
		mustMove(t, l, 1, from, from+1_000)
		owners = append(owners, l.MustNext())
	}
	wantSpread(t, snowflake.Scattered(), "first rows of processes", first)
	wantSpread(t, snowflake.Scattered(), "first rows of owners", owners)
}

// Rows are of whole seconds, days or milliseconds, few or many a tick.
func TestScatteredSpreadsABackfill(t *testing.T) {
	for step, rows := range map[time.Duration]int{time.Millisecond: 1, time.Second: 1, 24 * time.Hour: 1, 1024 * time.Millisecond: 10, time.Minute: 300} {
		layout := layoutOf("epoch=1950-01-01T00:00:00Z tick=1ms sequence:7 time:42 worker:14")
		b := newBackfill(t, 1, snowflake.WithLayout(layout))
		var keys []snowflake.ID
		for i := range 20_000 {
			at := layout.Epoch().Add(time.Duration(1+i) * step)
			for range rows {
				id, err := b.Next(at)
				if err != nil {
					t.Fatal(err)
				}
				keys = append(keys, id)
			}
		}
		wantSpread(t, layout, fmt.Sprintf("%d rows each %v", rows, step), keys)
	}
}

// The order of the fields decides, also of a layout that is not a preset. The sequence below a part of the time is not
// above the time.
func TestOnlyASequenceAboveTheTimeBeginsAtRandom(t *testing.T) {
	for fields, want := range map[string]bool{
		"sequence:6 time:41 worker:10": true, "region:2 sequence:6 time:41 worker:10": true, "sequence:6 worker:10 time:41": true,
		"time:41 worker:10 sequence:6": false, "time:19 sequence:6 time:22 worker:10": false, "worker:4 time:41 sequence:6": false,
	} {
		g, clock := clocked(t, snowflake.WithLayout(layoutOf("epoch=2025-01-01T00:00:00Z tick=1ms "+fields)))
		random := false
		for range 100 { // all 0 by accident: once in 10^180
			clock.Advance(time.Second)
			random = random || g.Layout().Decompose(g.MustNext()).Sequence != 0
		}
		if random != want {
			t.Errorf("%s: random starts %v, want %v", fields, random, want)
		}
	}
}
