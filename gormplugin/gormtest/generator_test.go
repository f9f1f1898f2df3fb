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

// one returns the next ID.
func one(gen *gormtest.Generator) (snowflake.ID, error) {
	var ids [1]snowflake.ID
	err := gen.Fill(context.Background(), ids[:])
	return ids[0], err
}

// take returns the next n IDs, one by one.
func take(t *testing.T, gen *gormtest.Generator, n int) []snowflake.ID {
	t.Helper()
	ids := make([]snowflake.ID, n)
	for i := range ids {
		var err error
		if ids[i], err = one(gen); err != nil {
			t.Fatal(err)
		}
	}
	return ids
}

func TestEveryRunMakesTheSameIDs(t *testing.T) {
	want := []snowflake.ID{0, 0, 0} // filled below, by hand: see the layout of snowflake.Default
	for i := range want {
		ms := start.Add(time.Duration(i)*time.Millisecond).UnixMilli() - snowflake.Default().Epoch().UnixMilli()
		want[i] = snowflake.ID(ms << 22)
	}
	if got := take(t, gormtest.New(start), 3); !slices.Equal(got, want) {
		t.Errorf("IDs %v, want %v", got, want)
	}
	batch := make([]snowflake.ID, 3)
	if err := gormtest.New(start).Fill(t.Context(), batch); err != nil || !slices.Equal(batch, want) {
		t.Errorf("a batch %v, error %v, want %v", batch, err, want)
	}
}

func TestIDsAscendAndBelongToTheLayout(t *testing.T) {
	for name, tt := range map[string]struct {
		gen  *gormtest.Generator
		step time.Duration
	}{
		"default":      {gormtest.New(start), time.Millisecond},
		"hours":        {gormtest.New(start, gormtest.WithStep(time.Hour)), time.Hour},
		"within ticks": {gormtest.New(start, gormtest.WithStep(time.Microsecond)), time.Microsecond},
		"seconds":      {gormtest.New(start, gormtest.WithLayout(preset("seconds"))), time.Second},
		"sonyflake":    {gormtest.New(start, gormtest.WithLayout(preset("sonyflake"))), 10 * time.Millisecond},
		"javascript":   {gormtest.New(start, gormtest.WithLayout(snowflake.MustPreset("javascriptsafe"))), snowflake.MustPreset("javascriptsafe").Tick()},
	} {
		t.Run(name, func(t *testing.T) {
			layout := tt.gen.Layout()
			ids := take(t, tt.gen, 3000)
			for i, id := range ids {
				if i > 0 && id <= ids[i-1] {
					t.Fatalf("%d follows %d", id, ids[i-1])
				}
				if err := layout.Validate(id); err != nil {
					t.Fatal(err)
				}
				at := start.Add(time.Duration(i) * tt.step)
				if got := layout.Time(id); got.After(at) || !got.Add(layout.Tick()).After(at) {
					t.Fatalf("ID %d is of %s, want the tick of %s", i, got, at)
				}
			}
		})
	}
}

func TestOneTimeIsLeftWhenItsSequenceIsUsedUp(t *testing.T) {
	gen := gormtest.New(start, gormtest.WithStep(0))
	layout := gen.Layout()
	room := int(layout.MaxSequence()) + 1
	ids := take(t, gen, room+1)
	if got := layout.Time(ids[room-1]); !got.Equal(start) {
		t.Errorf("the last ID of the tick is of %s", got)
	}
	if got := layout.Time(ids[room]); !got.Equal(start.Add(layout.Tick())) {
		t.Errorf("the ID after it is of %s", got)
	}
}

func TestSetTimeGoesBothWaysAndRepeatsNothing(t *testing.T) {
	gen := gormtest.New(start)
	layout := gen.Layout()
	seen := make(map[snowflake.ID]bool)
	for _, at := range []time.Time{start, start.Add(time.Hour), start.Add(-time.Hour), start, start, start.Add(time.Hour)} {
		gen.SetTime(at)
		for i, id := range take(t, gen, 2) {
			if seen[id] {
				t.Errorf("%d comes again", id)
			}
			seen[id] = true
			if got, want := layout.Time(id), at.Add(time.Duration(i)*layout.Tick()); !got.Equal(want) {
				t.Errorf("time %s, want %s", got, want)
			}
		}
	}
}

func TestNowIsTheTimeOfTheLastID(t *testing.T) {
	gen := gormtest.New(start.In(time.FixedZone("", 3600)), gormtest.WithStep(time.Hour))
	for i := range 3 {
		if i > 0 {
			take(t, gen, 1)
		}
		if got, want := gen.Now(), start.Add(time.Duration(max(i-1, 0))*time.Hour); got != want {
			t.Errorf("after %d IDs it is %s, want %s", i, got, want)
		}
	}
}

func TestPinnedIDsComeFirst(t *testing.T) {
	plain := take(t, gormtest.New(start), 2)
	gen := gormtest.New(start)
	gen.Pin(42, 7)
	gen.Pin(0)
	batch := make([]snowflake.ID, 4)
	if err := gen.Fill(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	batch = append(batch, take(t, gen, 1)...)
	if want := []snowflake.ID{42, 7, 0, plain[0], plain[1]}; !slices.Equal(batch, want) {
		t.Errorf("IDs %v, want %v", batch, want)
	}
}

func TestFailAfterFailsUntilItIsToldOtherwise(t *testing.T) {
	want := take(t, gormtest.New(start), 4)
	gen := gormtest.New(start)
	down := errors.New("down")
	gen.FailAfter(2, down)
	got := take(t, gen, 1)
	batch := []snowflake.ID{-1, -1}
	if err := gen.Fill(t.Context(), batch); !errors.Is(err, down) || batch[0] != -1 || batch[1] != -1 {
		t.Errorf("a batch beyond the limit: %v, error %v", batch, err)
	}
	if id, err := one(gen); !errors.Is(err, down) || id != 0 {
		t.Errorf("after it: %d, error %v", id, err)
	}
	gen.FailAfter(0, nil)
	got = append(got, take(t, gen, 3)...)
	if !slices.Equal(got, want) {
		t.Errorf("IDs %v, want %v: a failed call uses none up", got, want)
	}
	gen.FailAfter(0, down)
	if _, err := one(gen); !errors.Is(err, down) {
		t.Errorf("at once: error %v", err)
	}
}

func TestWhatCannotBeIsReportedByTheFirstCall(t *testing.T) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	layout := snowflake.Default()
	for name, tt := range map[string]struct {
		gen  *gormtest.Generator
		ctx  context.Context
		n    int
		want error
	}{
		"before the epoch": {gormtest.New(layout.Epoch().Add(-1)), t.Context(), 1, snowflake.ErrBeforeEpoch},
		"after the end":    {gormtest.New(layout.End()), t.Context(), 1, snowflake.ErrTimeExhausted},
		"over the end":     {gormtest.New(layout.End().Add(-layout.Tick())), t.Context(), 2, snowflake.ErrTimeExhausted},
		"negative step":    {gormtest.New(start, gormtest.WithStep(-1)), t.Context(), 1, snowflake.ErrOption},
		"zero layout":      {gormtest.New(start, gormtest.WithLayout(snowflake.Layout{})), t.Context(), 1, snowflake.ErrLayout},
		"context":          {gormtest.New(start), canceled, 1, context.Canceled},
		"nothing":          {gormtest.New(start), t.Context(), 0, snowflake.ErrEmptyFill},
		"a nil option":     {gormtest.New(start, nil), t.Context(), 1, snowflake.ErrOption},
	} {
		if err := tt.gen.Fill(tt.ctx, make([]snowflake.ID, tt.n)); !errors.Is(err, tt.want) {
			t.Errorf("%s: error %v, want %v", name, err, tt.want)
		}
	}
}

func TestAFailedBatchUsesNothingUp(t *testing.T) {
	layout := snowflake.Default()
	gen := gormtest.New(layout.End().Add(-2 * layout.Tick()))
	gen.Pin(42)
	if err := gen.Fill(t.Context(), make([]snowflake.ID, 4)); !errors.Is(err, snowflake.ErrTimeExhausted) {
		t.Fatalf("error %v, want ErrTimeExhausted", err)
	}
	got := take(t, gen, 3)
	for i, id := range got[1:] {
		want := layout.End().Add(time.Duration(i-2) * layout.Tick())
		if p := layout.Decompose(id); !p.Time.Equal(want) || p.Sequence != 0 {
			t.Errorf("ID %d after the pinned one: %v, want time %s and sequence 0", i+1, p, want)
		}
	}
	if got[0] != 42 {
		t.Errorf("the first is %d, want the pinned 42", got[0])
	}
}

func TestTheIDZeroIsNeverMade(t *testing.T) {
	gen := gormtest.New(snowflake.Default().Epoch())
	if id := take(t, gen, 1)[0]; id == 0 {
		t.Error("the first ID of the epoch is 0, which means none")
	}
}

func TestGoroutinesShareAGenerator(t *testing.T) {
	gen := gormtest.New(start, gormtest.WithStep(0))
	var mu sync.Mutex
	var all []snowflake.ID
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 100 {
				batch := make([]snowflake.ID, 3)
				if err := gen.Fill(context.Background(), batch); err != nil {
					t.Error(err)
				}
				gen.Now()
				mu.Lock()
				all = append(all, batch...)
				mu.Unlock()
			}
		})
	}
	group.Wait()
	slices.Sort(all)
	if want := take(t, gormtest.New(start, gormtest.WithStep(0)), len(all)); !slices.Equal(all, want) {
		t.Error("the IDs are not those that one goroutine gets")
	}
}

func preset(name string) snowflake.Layout {
	l, err := snowflake.Preset(name)
	if err != nil {
		panic(err)
	}
	return l
}
