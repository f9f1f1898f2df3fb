package gormtest_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/gormplugin/gormtest"
	"github.com/sqlflake/sqlflake/snowflake"
)

var start = time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)

func each(step time.Duration) *gormtest.Generator {
	return gormtest.New(snowflake.Default(), start, step)
}

// take returns the next n IDs, in batches of a size.
func take(t *testing.T, gen *gormtest.Generator, n, size int) []snowflake.ID {
	t.Helper()
	ids := make([]snowflake.ID, n)
	for batch := range slices.Chunk(ids, size) {
		if err := gen.Fill(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
	}
	return ids
}

func wantIDs(t *testing.T, what string, got, want []snowflake.ID) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: IDs %v, want %v", what, got, want)
	}
}

func TestEveryRunMakesTheSameIDsFromTheTimes(t *testing.T) {
	for _, preset := range []string{"default", "javascriptsafe", "seconds"} {
		layout := snowflake.MustPreset(preset)
		for _, step := range []time.Duration{time.Hour, time.Second, time.Millisecond, time.Microsecond} {
			ids := take(t, gormtest.New(layout, start, step), 3000, 1)
			wantIDs(t, "in batches", take(t, gormtest.New(layout, start, step), 3000, 1000), ids)
			for i, id := range ids {
				at, tick := start.Add(time.Duration(i)*step), layout.Decompose(id)
				if i > 0 && id <= ids[i-1] || tick.Worker != 0 {
					t.Fatalf("%d (%v) follows %d", id, tick, ids[i-1])
				}
				room := time.Duration(layout.MaxSequence()+1) * step
				if late := tick.Time.Sub(at); late <= -layout.Tick() || late > 0 && room >= layout.Tick() {
					t.Fatalf("ID %d is of %s, want the tick of %s", i, tick.Time, at)
				}
			}
		}
	}
}

// A test must not find an order by time that the application's keys don't have.
func TestScatteredKeysAreInNoOrder(t *testing.T) {
	for _, step := range []time.Duration{0, time.Millisecond, time.Second, time.Hour} {
		ids := take(t, gormtest.New(snowflake.Scattered(), start, step), 3000, 7)
		wantIDs(t, "another run", take(t, gormtest.New(snowflake.Scattered(), start, step), 3000, 100), ids)
		ranges := [16]int{}
		for _, id := range ids {
			ranges[id>>59]++
		}

		if most := slices.Max(ranges[:]); most > 3000/16*3/2 {
			t.Errorf("step %v: %d of 3000 keys are in one of 16 ranges: %v", step, most, ranges)
		}

		slices.Sort(ids)
		if distinct := len(slices.Compact(ids)); distinct != 3000 {
			t.Errorf("step %v: %d different IDs", step, distinct)
		}
	}
}

func TestSetTimeGoesBothWaysAndRepeatsNothing(t *testing.T) {
	gen, seen := each(time.Hour), map[snowflake.ID]bool{}
	if now := gen.Now(); now != start {
		t.Errorf("it is %s, want the start", now)
	}

	for _, at := range []time.Time{start, start.Add(time.Hour), start.Add(-time.Hour), start, start, start.Add(time.Hour)} {
		gen.SetTime(at.In(time.FixedZone("", 3600)))
		for i := range 2 {
			id := take(t, gen, 1, 1)[0]
			want := at.Add(time.Duration(i) * time.Hour)
			if got := gen.Layout().Time(id); seen[id] || !got.Equal(want) || gen.Now() != want {
				t.Errorf("ID %d of %s, now %s, want another of %s", id, got, gen.Now(), want)
			}
			seen[id] = true
		}
	}
}

func TestPinnedIDsComeFirst(t *testing.T) {
	plain, gen := take(t, each(time.Hour), 2, 1), each(time.Hour)
	gen.Pin(42, 7)
	gen.Pin(0)
	ids := append(take(t, gen, 4, 4), take(t, gen, 1, 1)...)
	wantIDs(t, "after Pin", ids, []snowflake.ID{42, 7, 0, plain[0], plain[1]})
}

func TestFailAfterFailsUntilItIsToldOtherwise(t *testing.T) {
	gen, down := each(time.Hour), errors.New("down")
	gen.FailAfter(2, down)
	got := take(t, gen, 1, 1)
	for _, n := range []int{2, 1} { // a batch beyond the limit, and every call after it
		batch := []snowflake.ID{-1, -1}[:n]
		if err := gen.Fill(t.Context(), batch); !errors.Is(err, down) || batch[0] != -1 {
			t.Errorf("%v, error %v", batch, err)
		}
	}
	gen.FailAfter(0, nil)
	got = append(got, take(t, gen, 3, 1)...)
	wantIDs(t, "after a failure, which uses none up", got, take(t, each(time.Hour), 4, 1))
}

func TestAFailedCallUsesNothingUp(t *testing.T) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	layout := snowflake.Default()
	nearEnd := gormtest.New(layout, layout.End().Add(-2*layout.Tick()), layout.Tick())
	nearEnd.Pin(42)
	for _, tt := range []struct {
		gen  *gormtest.Generator
		ctx  context.Context
		n    int
		want error
	}{
		{gormtest.New(layout, layout.Epoch().Add(-1), 0), t.Context(), 1, snowflake.ErrBeforeEpoch},
		{nearEnd, t.Context(), 4, snowflake.ErrTimeExhausted},
		{each(-1), t.Context(), 1, snowflake.ErrOption},
		{gormtest.New(snowflake.Layout{}, start, 0), t.Context(), 1, snowflake.ErrLayout},
		{each(0), canceled, 1, context.Canceled},
		{each(0), t.Context(), 0, snowflake.ErrEmptyFill},
	} {
		if err := tt.gen.Fill(tt.ctx, make([]snowflake.ID, tt.n)); !errors.Is(err, tt.want) {
			t.Errorf("error %v, want %v", err, tt.want)
		}
	}

	ids := take(t, nearEnd, 3, 1)
	if p := layout.Decompose(ids[1]); ids[0] != 42 || p.Time != layout.End().Add(-2*layout.Tick()) || p.Sequence != 0 {
		t.Errorf("after the error: %v", ids)
	}
}

func TestGoroutinesShareTheIDsOfATick(t *testing.T) {
	layout := snowflake.Default()
	gen, ids := gormtest.New(layout, layout.Epoch(), 0), make([]snowflake.ID, 4800)
	var group sync.WaitGroup
	for part := range slices.Chunk(ids, 600) {
		group.Go(func() {
			for batch := range slices.Chunk(part, 3) {
				if err := gen.Fill(context.Background(), batch); err != nil {
					t.Error(err)
				}
				gen.Now()
			}
		})
	}

	group.Wait()
	slices.Sort(ids)
	for i, id := range ids { // the first is not 0, which means none
		if tick := layout.Decompose(id); tick.Sequence != int64(i+1)%4096 || tick.Time != layout.Epoch().Add(time.Duration((i+1)/4096)*time.Millisecond) {
			t.Fatalf("ID %d is %v", i, tick)
		}
	}
}
