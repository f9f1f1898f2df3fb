package snowflake_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

type observation struct {
	op   snowflake.Operation
	took time.Duration
	err  error
}

// observations keeps what an Observer gets.
type observations struct {
	mu  sync.Mutex
	all []observation
}

func (o *observations) Observe(op snowflake.Operation, took time.Duration, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all = append(o.all, observation{op, took, err})
}

func (o *observations) take() []observation {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := o.all
	o.all = nil
	return all
}

func TestAnObserverIsToldTheLengthOfEachWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := mustNew(t, 0, slow(t))
		var o, second observations
		remove := g.AddObserver(&o)
		g.AddObserver(&second)
		time.Sleep(time.Second)
		for range 44 { // the lead and the clock's tick
			g.MustNext()
		}
		if got := o.take(); len(got) != 0 {
			t.Errorf("IDs that were due: %v", got)
		}
		fill(t, g, 12)
		if got, want := o.take(), []observation{{snowflake.OpWait, 3 * time.Millisecond, nil}}; !slices.Equal(got, want) {
			t.Errorf("12 IDs at 4 a millisecond: %v, want %v", got, want)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(2*time.Millisecond, cancel)
		if err := g.Fill(ctx, make([]snowflake.ID, 40)); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if got := o.take(); len(got) != 1 || got[0].op != snowflake.OpWait || got[0].took != 2*time.Millisecond || !errors.Is(got[0].err, context.Canceled) {
			t.Errorf("a wait that was given up: %v", got)
		}
		if a := second.take(); len(a) != 2 {
			t.Errorf("another observer: %v", a)
		}
		remove()
		remove()
		for range 60 {
			g.MustNext()
		}
		if got, more := o.take(), second.take(); len(got) != 0 || len(more) == 0 || g.Stats().Waits < 2 {
			t.Errorf("after remove: %v, the other one: %v, %+v", got, more, g.Stats())
		}
	})
}

func TestAnObserverIsToldAboutStalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLessee(t, 3*time.Second, slow(t))
		var o observations
		l.Generator().AddObserver(&o)
		time.AfterFunc(time.Second, func() { mustMove(t, l, 1, 0, mustTick(t, l)+1000) })
		l.Generator().MustNext()
		if got, want := o.take(), []observation{{snowflake.OpStall, time.Second, nil}}; !slices.Equal(got, want) {
			t.Errorf("a wait for the first worker: %v, want %v", got, want)
		}
		l.Generator().MustNext() // no wait
		time.Sleep(2 * time.Second)
		if _, err := l.Generator().Next(); !errors.Is(err, snowflake.ErrLeaseStalled) {
			t.Error(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		if _, err := l.Generator().NextContext(ctx); !errors.Is(err, snowflake.ErrLeaseStalled) {
			t.Error(err)
		}
		time.AfterFunc(2*time.Second, func() { l.Fail(nil) })
		for range 2 { // the second one finds the error at once
			if _, err := l.Generator().Next(); !errors.Is(err, snowflake.ErrLeaseStalled) {
				t.Error(err)
			}
		}
		var took []time.Duration
		for _, got := range o.take() {
			took = append(took, got.took)
			if got.op != snowflake.OpStall || !errors.Is(got.err, snowflake.ErrLeaseStalled) {
				t.Errorf("%+v", got)
			}
		}
		if want := []time.Duration{3 * time.Second, 500 * time.Millisecond, 2 * time.Second}; !slices.Equal(took, want) {
			t.Errorf("stalls of %v, want %v", took, want)
		}
		l.Observe(string(snowflake.OpExtend), time.Minute, snowflake.ErrLeaseStalled)
		if got := o.take(); len(got) != 1 || got[0] != (observation{snowflake.OpExtend, time.Minute, snowflake.ErrLeaseStalled}) {
			t.Errorf("Lessee.Observe: %v", got)
		}
	})
}

// A step forward of the wall clock while a batch waits is followed, a step back is not. Neither is part of the wait.
func TestAStepOfTheWallClockDuringAWaitDoesNotProlongIt(t *testing.T) {
	for _, step := range []time.Duration{time.Hour, -time.Hour} {
		clock := newFakeClock(snowflake.Default().Epoch().Add(1000 * time.Hour))
		g := mustNew(t, 0, slow(t), snowflake.WithClock(clock))
		var o observations
		g.AddObserver(&o)
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
			sum += got.took
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

func TestAMissingObserverOrGeneratorIsIgnored(t *testing.T) {
	var none *snowflake.Generator
	none.AddObserver(&observations{})()
	new(snowflake.Generator).AddObserver(&observations{})()
	g := mustNew(t, 0, slow(t), snowflake.WithClock(newFakeClock(snowflake.Default().Epoch().Add(time.Hour))))
	g.AddObserver(nil)()
	fill(t, g, 4*100)
}
