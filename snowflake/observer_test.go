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
		if got := o.take(); len(got) != 0 {
			t.Errorf("IDs that were due: %v", got)
		}
		fill(t, g, 12)
		if got, want := o.take(), []snowflake.Wait{{Took: 3 * time.Millisecond}}; !slices.Equal(got, want) {
			t.Errorf("12 IDs at 4 a millisecond: %v, want %v", got, want)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(2*time.Millisecond, cancel)
		if err := g.Fill(ctx, make([]snowflake.ID, 40)); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if got := o.take(); len(got) != 1 || got[0].Lease || got[0].Took != 2*time.Millisecond || !errors.Is(got[0].Err, context.Canceled) {
			t.Errorf("a wait that was given up: %v", got)
		}
		if a := second.take(); len(a) != 2 {
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

func TestAnObserverIsToldAboutStalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLessee(t, 3*time.Second, slow())
		var o observed
		l.Observe(o.add)
		time.AfterFunc(time.Second, func() { mustMove(t, l, 1, 0, mustTick(t, l)+1000) })
		l.MustNext()
		if got, want := o.take(), []snowflake.Wait{{Lease: true, Took: time.Second}}; !slices.Equal(got, want) {
			t.Errorf("a wait for the first worker: %v, want %v", got, want)
		}
		l.MustNext() // no wait
		time.Sleep(2 * time.Second)
		if _, err := l.Next(); !errors.Is(err, snowflake.ErrLeaseStalled) {
			t.Error(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		if _, err := l.NextContext(ctx); !errors.Is(err, snowflake.ErrLeaseStalled) {
			t.Error(err)
		}
		time.AfterFunc(2*time.Second, func() { l.Fail(nil) })
		for range 2 { // the second one finds the error at once
			if _, err := l.Next(); !errors.Is(err, snowflake.ErrLeaseStalled) {
				t.Error(err)
			}
		}
		var took []time.Duration
		for _, got := range o.take() {
			took = append(took, got.Took)
			if !got.Lease || !errors.Is(got.Err, snowflake.ErrLeaseStalled) {
				t.Errorf("%+v", got)
			}
		}
		if want := []time.Duration{3 * time.Second, 500 * time.Millisecond, 2 * time.Second}; !slices.Equal(took, want) {
			t.Errorf("stalls of %v, want %v", took, want)
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
