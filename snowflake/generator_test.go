package snowflake_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

func TestNewRejectsBadInputWithTheValueAndTheLimit(t *testing.T) {
	twitter := snowflake.WithLayout(layoutOf("twitter"))
	for _, test := range []struct {
		worker int64
		opts   []snowflake.Option
		is     error
		want   string
	}{
		{1024, nil, snowflake.ErrFieldRange, "worker 1024 out of range [0, 1023]"},
		{-1, nil, snowflake.ErrFieldRange, "worker -1 out of range [0, 1023]"},
		{8192, []snowflake.Option{snowflake.WithLayout(layoutOf("instagram"))}, snowflake.ErrFieldRange, "shard 8192 out of range [0, 8191]"},
		{1, []snowflake.Option{snowflake.WithLayout(layoutOf("mastodon"))}, snowflake.ErrFieldRange, "worker 1 out of range [0, 0]"},
		{1, []snowflake.Option{snowflake.WithField("region", 1)}, snowflake.ErrUnknownField, `"region" is not among time, worker, sequence`},
		{1, []snowflake.Option{twitter, snowflake.WithField("datacenter", 32)}, snowflake.ErrFieldRange, "datacenter 32 out of range [0, 31]"},
		{1, []snowflake.Option{twitter, snowflake.WithField("datacenter", 3), snowflake.WithField("datacenter", 3)}, snowflake.ErrOption, `"datacenter" set twice`},
		{1, []snowflake.Option{snowflake.WithField("worker", 1)}, snowflake.ErrOption, `"worker" is set by the generator`},
		{1, []snowflake.Option{snowflake.WithField("time", 1)}, snowflake.ErrOption, `"time" is set by the generator`},
		{1, []snowflake.Option{snowflake.WithLead(-1)}, snowflake.ErrOption, "lead -1ns out of range [0, 10s]"},
		{1, []snowflake.Option{snowflake.WithLead(time.Hour)}, snowflake.ErrOption, "lead 1h0m0s out of range [0, 10s]"},
		{1, []snowflake.Option{snowflake.WithClock(nil)}, snowflake.ErrOption, "nil Clock"},
		{1, []snowflake.Option{nil}, snowflake.ErrOption, "nil Option"},
	} {
		g, err := snowflake.New(test.worker, test.opts...)
		if g != nil || !errors.Is(err, test.is) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("New = %v, %v, want %v with %q", g, err, test.is, test.want)
		}
	}
}

func TestGeneratorsThatNewDidNotMakeReturnAnError(t *testing.T) {
	for _, g := range []*snowflake.Generator{nil, {}} {
		wantNoID(t, g, snowflake.ErrNoGenerator, "")
		wantMatch(t, errOf(g.NextContext(t.Context())), snowflake.ErrNoGenerator, "")
		wantMatch(t, errOf(g.With("datacenter", 1)), snowflake.ErrNoGenerator, "")
		wantMatch(t, g.Fill(t.Context(), make([]snowflake.ID, 1)), snowflake.ErrNoGenerator, "")
		g.Observe(func(snowflake.Wait) {})()
		if g.Stats() != (snowflake.Stats{}) || g.Layout() != (snowflake.Layout{}) || g.Worker() != -1 {
			t.Errorf("%+v, %v, %d", g.Stats(), g.Layout(), g.Worker())
		}
		wantMatch(t, panicOf(func() { g.MustNext() }), snowflake.ErrNoGenerator, "")
	}
}

func TestIDsCarryTheirWorkerAndTheClocksTime(t *testing.T) {
	names := slices.DeleteFunc(snowflake.Presets(), func(name string) bool { return name == "baidu" }) // ended in 2024
	for _, name := range append(names, "epoch=2025-01-01T00:00:00Z tick=10us shard:4 sequence:6 time:48 worker:3") {
		l := layoutOf(name)
		clock := newFakeClock(epoch2025.Add(400 * 24 * time.Hour))
		g := mustNew(t, l.MaxWorker(), snowflake.WithLayout(l), snowflake.WithClock(clock))
		g.MustNext()
		clock.Advance(time.Minute)
		first := l.FirstSequence(clock.Now(), l.MaxWorker())
		for n := range min(l.MaxSequence()+1, 3) {
			want := (first + n) % (l.MaxSequence() + 1)
			id := g.MustNext()
			p := l.Decompose(id)
			if !p.Time.Equal(l.Epoch().Add(clock.Now().Sub(l.Epoch()).Truncate(l.Tick()))) || p.Worker != l.MaxWorker() || p.Sequence != want {
				t.Errorf("%v at %v: %v", l, clock.Now(), p)
			}
		}

		if g.Worker() != l.MaxWorker() || g.Layout() != l {
			t.Errorf("Worker() = %d, Layout() = %v", g.Worker(), g.Layout())
		}
	}
}

func TestViewsStampTheirFieldAndNeverCollide(t *testing.T) {
	l := layoutOf("resource")
	clock := newFakeClock(epoch2025.Add(time.Hour))
	g := mustNew(t, 2, snowflake.WithLayout(l), snowflake.WithClock(clock), snowflake.WithField("region", 63))
	users := must(g.With("type", 200))
	orders := must(users.With("type", 7))
	ticks := make(map[snowflake.ID]bool) // time and sequence, whatever the type
	for i := range 300 {
		view, want := []*snowflake.Generator{g, users, orders}[i%3], []int64{0, 200, 7}[i%3]
		id := view.MustNext()
		p := l.Decompose(id)
		if p.Fields["type"] != want || p.Fields["region"] != 63 || p.Worker != 2 {
			t.Fatalf("%v, want type %d in region 63", p, want)
		}

		bare := id &^ ((1<<14 - 1) << 5)
		if ticks[bare] {
			t.Fatalf("%d has the time and the sequence of another view's ID", id)
		}

		ticks[bare] = true
	}

	for _, test := range []struct {
		field string
		value int64
		is    error
		want  string
	}{
		{"type", 1 << 14, snowflake.ErrFieldRange, "type 16384 out of range [0, 16383]"},
		{"type", -1, snowflake.ErrFieldRange, "type -1 out of range [0, 16383]"},
		{"shard", 1, snowflake.ErrUnknownField, `"shard" is not among`},
		{"region", 1, snowflake.ErrOption, `"region" is pinned to 63`},
		{"machine", 1, snowflake.ErrOption, `"machine" is set by the generator`},
	} {
		view, err := users.With(test.field, test.value)
		if view != nil || !errors.Is(err, test.is) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("With(%q, %d) = %v, %v, want %v with %q", test.field, test.value, view, err, test.is, test.want)
		}
	}
}

// share reports whether two generators take IDs from the same state.
func share(a, b *snowflake.Generator) bool {
	before := b.Stats().Issued
	a.MustNext()
	return b.Stats().Issued == before+1
}

func TestGeneratorsForOneWorkerShareTheirState(t *testing.T) {
	l := layoutOf("datacenter")
	a := mustNew(t, 9, snowflake.WithLayout(l))
	b := mustNew(t, 9, snowflake.WithLayout(l), snowflake.WithLead(time.Millisecond))
	other := mustNew(t, 9, snowflake.WithLayout(l), snowflake.WithField("datacenter", 3))
	renamed := snowflake.MustLayout(l.Epoch(), l.Tick(), fields("time", 41, "region", 5, "machine", 5, "sequence", 12)...)
	for i, g := range []*snowflake.Generator{b, other, mustNew(t, 9, snowflake.WithLayout(renamed))} {
		if !share(a, g) {
			t.Errorf("generator %d for the same worker and bits has another state", i)
		}
	}

	for i, g := range []*snowflake.Generator{
		mustNew(t, 10, snowflake.WithLayout(l)),
		mustNew(t, 9, snowflake.WithLayout(layoutOf("twitter"))),
		mustNew(t, 9, snowflake.WithLayout(l), snowflake.WithClock(newFakeClock(epoch2025))),
	} {
		if share(a, g) {
			t.Errorf("generator %d for another worker, layout or clock shares the state", i)
		}
	}

	var last snowflake.ID
	for range 1000 {
		for _, g := range []*snowflake.Generator{a, b, mustNew(t, 9, snowflake.WithLayout(l))} {
			id, err := g.Next()
			if err != nil || id <= last {
				t.Fatalf("%d, %v, after %d", id, err, last)
			}
			last = id
		}
	}

	if a.Stats().Issued != b.Stats().Issued || a.Stats().Issued < 3000 {
		t.Errorf("Issued: %d and %d", a.Stats().Issued, b.Stats().Issued)
	}
}

// The start fence stands on the first lead: a process that had a longer one later could die and be started again below
// its last ID.
func TestALongerLeadCanNotJoinLater(t *testing.T) {
	l := layoutOf("wide")
	mustNew(t, 99, snowflake.WithLayout(l), snowflake.WithLead(time.Second))
	mustNew(t, 99, snowflake.WithLayout(l), snowflake.WithLead(time.Second))
	mustNew(t, 99, snowflake.WithLayout(l))
	_, err := snowflake.New(99, snowflake.WithLayout(l), snowflake.WithLead(time.Second+time.Millisecond))
	wantMatch(t, err, snowflake.ErrOption, "a lead of 1.001s is longer than the 1s")
}

func TestFillIsOneStepForTheWholeBatch(t *testing.T) {
	g, clock := clocked(t)
	g.MustNext()
	for _, n := range []int{1, 2, 4095, 4096, 4097, 45_056, 45_057, 200_001} {
		clock.Advance(time.Minute)
		ids := make([]snowflake.ID, n+2)
		ids[0], ids[n+1] = -1, -2
		noError(t, g.Fill(t.Context(), ids[1:n+1]))
		if ids[0] != -1 || ids[n+1] != -2 {
			t.Fatalf("Fill of %d wrote beside the slice", n)
		}

		first := g.Layout().Decompose(ids[1])
		if first.Sequence != 0 {
			t.Fatalf("a batch of %d begins with %v", n, first)
		}

		for i, id := range ids[1 : n+1] {
			p := g.Layout().Decompose(id)
			if want := first.Time.Add(time.Duration(i/4096) * time.Millisecond); p.Sequence != int64(i%4096) || !p.Time.Equal(want) || p.Worker != 1 {
				t.Fatalf("ID %d of %d is %v, want one of %v", i, n, p, want)
			}
		}
	}
}

// observed keeps what an observer is told.
type observed struct {
	mu    sync.Mutex
	waits []snowflake.Wait
}

func (o *observed) add(w snowflake.Wait) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waits = append(o.waits, w)
}

func (o *observed) take() []snowflake.Wait {
	o.mu.Lock()
	defer o.mu.Unlock()
	waits := o.waits
	o.waits = nil
	return waits
}

func TestAnObserverIsToldTheLengthOfEachWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := mustNew(t, 0, slow())
		var o, second observed
		stop := g.Observe(o.add)
		g.Observe(second.add)
		time.Sleep(time.Second)
		for range 44 { // the lead and the clock's tick
			g.MustNext()
		}

		if got, s := o.take(), g.Stats(); len(got) != 0 || s.Waits != 0 || s.Lead != 10*time.Millisecond {
			t.Errorf("IDs that were due: %v, %+v", got, s)
		}

		g.MustNext()
		if got, s := o.take(), g.Stats(); !slices.Equal(got, []snowflake.Wait{{Took: time.Millisecond}}) || s.Waits != 1 || s.Waited != time.Millisecond {
			t.Errorf("the 45th ID: %v, %+v, want one wait of 1ms", got, s)
		}

		fill(t, g, 12)
		if got, want := o.take(), []snowflake.Wait{{Took: 3 * time.Millisecond}}; !slices.Equal(got, want) {
			t.Errorf("12 IDs at 4 a millisecond: %v, want %v", got, want)
		}

		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(2*time.Millisecond, cancel)
		wantMatch(t, g.Fill(ctx, make([]snowflake.ID, 40)), context.Canceled, "")
		if got := o.take(); len(got) != 1 || got[0].Lease || got[0].Took != 2*time.Millisecond || !errors.Is(got[0].Err, context.Canceled) {
			t.Errorf("a wait that was given up: %v", got)
		}

		if a := second.take(); len(a) != 3 {
			t.Errorf("another observer: %v", a)
		}

		stop()
		stop()
		for range 60 {
			g.MustNext()
		}

		if got, more := o.take(), second.take(); len(got) != 0 || len(more) == 0 || g.Stats().Waits < 2 {
			t.Errorf("after stop: %v, the other one: %v, %+v", got, more, g.Stats())
		}
	})
}

// A step forward of the wall clock while a batch waits is followed, a step back is not. Neither is part of the wait.
func TestAStepOfTheWallClockDuringAWaitDoesNotProlongIt(t *testing.T) {
	for _, step := range []time.Duration{time.Hour, -time.Hour} {
		clock := newFakeClock(snowflake.Default().Epoch().Add(1000 * time.Hour))
		g := mustNew(t, 0, slow(), snowflake.WithClock(clock))
		var o observed
		g.Observe(o.add)
		fill(t, g, 4*100)
		o.take()
		before := g.Stats()
		var once sync.Once
		clock.onSleep = func() error {
			once.Do(func() { clock.Step(step) })
			return nil
		}

		ids := fill(t, g, 4*3000) // three seconds
		stats, sum := g.Stats(), time.Duration(0)
		for _, got := range o.take() {
			sum += got.Took
		}

		waited := stats.Waited - before.Waited
		if waited <= 0 || waited > 3100*time.Millisecond || waited != sum || !slices.IsSorted(ids) {
			t.Errorf("a step of %v: waited %v, observed %v", step, waited, sum)
		}

		if followed := step > 0; followed != (stats.Steps == 1) || followed != (stats.Drift.Abs() < time.Second) {
			t.Errorf("a step of %v: %+v", step, stats)
		}
	}
}
