package snowflake_test

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/internal/core"
)

// lessee is a lessee with its generator.
type lessee struct {
	*core.Lessee
	*snowflake.Generator
}

func newLessee(tb testing.TB, patience time.Duration, opts ...snowflake.Option) lessee {
	tb.Helper()
	return trusting(tb, patience, nil, opts...)
}

// trusting returns a lessee whose generator follows steps forward of the wall clock that trust confirms.
func trusting(
	tb testing.TB, patience time.Duration, trust func(wall time.Time) bool, opts ...snowflake.Option,
) lessee {
	tb.Helper()
	g, l, err := core.LeasedGenerator(opts, patience, trust)
	noError(tb, err)
	return lessee{l, g.(*snowflake.Generator)}
}

// leased returns a lessee without patience and its clock.
func leased(tb testing.TB, opts ...snowflake.Option) (lessee, *fakeClock) {
	tb.Helper()
	clock := newFakeClock(epoch2025.Add(time.Hour))
	return newLessee(tb, 0, append(opts, snowflake.WithClock(clock))...), clock
}

func mustTick(tb testing.TB, l lessee) int64 {
	tb.Helper()
	tick, err := l.Tick()
	noError(tb, err)
	return tick
}

func mustMove(tb testing.TB, l lessee, worker, from, horizon int64) {
	tb.Helper()
	noError(tb, l.Move(worker, from, horizon))
}

func tickOf(tb testing.TB, g *snowflake.Generator, id snowflake.ID) int64 {
	tb.Helper()
	tick, err := g.Layout().Field(id, snowflake.FieldTime)
	noError(tb, err)
	return tick
}

func TestBadLesseesAreRejected(t *testing.T) {
	old := snowflake.WithClock(newFakeClock(epoch2025.Add(-time.Second)))
	for want, opt := range map[error]snowflake.Option{
		snowflake.ErrOption: snowflake.WithLead(-1), snowflake.ErrBeforeEpoch: old,
	} {
		g, l, err := core.LeasedGenerator([]snowflake.Option{opt}, 0, nil)
		if g != nil || l != nil || !errors.Is(err, want) {
			t.Errorf("%v, %v, %v, want %v", g, l, err, want)
		}
	}
}

func TestNothingIsIssuedBeforeTheFirstWorker(t *testing.T) {
	l := newLessee(t, 0)
	g := l.Generator
	wantNoID(t, g, snowflake.ErrLeaseStalled, "")
	wantMatch(t, g.Fill(t.Context(), nil), snowflake.ErrEmptyFill, "")
	if s := g.Stats(); s.Issued != 0 || s.Lead != 0 || g.Worker() != -1 {
		t.Errorf("%+v, worker %d", s, g.Worker())
	}
	select {
	case <-l.Wanted():
	default:
		t.Error("nobody was told that a call waits")
	}
}

func TestEveryIDLiesBelowTheHorizon(t *testing.T) {
	for _, name := range []string{"default", "clustered", "scattered"} {
		t.Run(name, func(t *testing.T) { everyIDLiesBelowTheHorizon(t, layoutOf(name)) })
	}
}

func everyIDLiesBelowTheHorizon(t *testing.T, layout snowflake.Layout) {
	l, _ := leased(t, snowflake.WithLayout(layout))
	g := l.Generator
	horizon := mustTick(t, l) + l.Lead()/2
	mustMove(t, l, 3, 0, horizon)
	last, perTick := int64(-1), int(layout.MaxSequence())+1
	for range 3 {
		n := 0
		for {
			id, err := g.Next()
			if errors.Is(err, snowflake.ErrLeaseStalled) {
				break
			}
			if err != nil || position(t, g, id) <= last || tickOf(t, g, id) >= horizon || layout.Decompose(id).Worker != 3 {
				t.Fatalf("%d, %v, after position %d, horizon %d", id, err, last, horizon)
			}
			last = position(t, g, id)
			n++
		}

		if n != 5*perTick {
			t.Errorf("%d IDs below a horizon 5 ticks ahead", n)
		}

		wantMatch(t, g.Fill(context.Background(), make([]snowflake.ID, 1)), snowflake.ErrLeaseStalled, "")
		horizon += 5
		l.Extend(horizon)
		l.Extend(horizon - 100) // a lower one changes nothing
	}
}

func TestAMoveStartsAtTheOldHorizonAndAboveAllThatWasIssued(t *testing.T) {
	l, _ := leased(t)
	g := l.Generator
	now := mustTick(t, l)
	mustMove(t, l, 3, now, now+100)
	batch := fill(t, g, 40_000) // leads by 9 ms
	last := batch[len(batch)-1]
	mustMove(t, l, 4, now+2, now+100)
	id, err := g.Next()
	if err != nil || tickOf(t, g, id) != tickOf(t, g, last)+1 || g.Worker() != 4 {
		t.Errorf("after the move: %v, %v, worker %d, before it %v", g.Layout().Decompose(id), err, g.Worker(), g.Layout().Decompose(last))
	}

	mustMove(t, l, 5, now+50, now+100)
	if id, err = g.Next(); err != nil || tickOf(t, g, id) < now+50 {
		t.Errorf("started at %d, below the old horizon %d: %v", tickOf(t, g, id), now+50, err)
	}

	if s := g.Stats(); s.Issued != 40_002 {
		t.Errorf("%+v, want 40,002 issued by three workers", s)
	}

	for worker, from := range map[int64]int64{-1: 0, 1024: 0, 7: -1} {
		wantMatch(t, l.Move(worker, from, now+100), snowflake.ErrFieldRange, "")
	}

	if g.Worker() != 5 {
		t.Errorf("a move that failed changed the worker to %d", g.Worker())
	}
}

func TestAClockThatWasNotFollowedBackStaysSoAfterAMove(t *testing.T) {
	l, clock := leased(t)
	now := mustTick(t, l)
	mustMove(t, l, 3, now, now+1_000_000)
	first := l.MustNext()
	clock.Step(-10 * time.Minute)
	clock.Advance(2 * time.Second)
	mustMove(t, l, 4, now, now+1_000_000)
	_, sleeps := clock.Slept()
	id, err := l.Next()
	if _, after := clock.Slept(); err != nil || id <= first || after != sleeps {
		t.Errorf("after a step back and a move: %d, %v, %d waits", id, err, after-sleeps)
	}
}

func TestAStepForwardWaitsForConfirmation(t *testing.T) {
	clock := newFakeClock(epoch2025.Add(time.Hour))
	confirmed := false
	l := trusting(t, 0, func(time.Time) bool { return confirmed }, snowflake.WithClock(clock))
	before := mustTick(t, l)
	clock.Step(24 * time.Hour)
	clock.Advance(2 * time.Second)
	if tick := mustTick(t, l); tick != before+2000 || l.Stats().Drift != 24*time.Hour {
		t.Errorf("the clock went on by %d ticks, %+v", tick-before, l.Stats())
	}

	confirmed = true
	clock.Advance(2 * time.Second)
	if tick := mustTick(t, l); tick != before+4000+86_400_000 {
		t.Errorf("after the confirmation the clock is %d ticks on", tick-before)
	}
}

func TestCallsWithoutADeadlineWaitForTheHorizonAsLongAsThePatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLessee(t, 3*time.Second, snowflake.WithLayout(layoutOf("mastodon")))
		var o observed
		l.Observe(o.add)
		wantWait := func(took time.Duration, err error) {
			t.Helper()
			if got, want := o.take(), []snowflake.Wait{{Lease: true, Took: took, Err: err}}; !slices.Equal(got, want) {
				t.Errorf("observed %v, want %v", got, want)
			}
		}
		canceled, cancel := context.WithCancel(t.Context()) // has no deadline
		time.AfterFunc(7*time.Second, cancel)               // in the third call
		deadline, end := context.WithTimeout(t.Context(), time.Hour)
		defer end()
		for i, test := range []struct {
			ctx  context.Context
			took time.Duration
			also error // beside ErrLeaseStalled
		}{
			{context.Background(), 3 * time.Second, nil},
			{canceled, 3 * time.Second, nil},
			{canceled, time.Second, context.Canceled},
			{deadline, time.Hour - 7*time.Second, context.DeadlineExceeded},
		} {
			_, err := l.NextContext(test.ctx)
			wantWait(test.took, err)
			ended := errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
			if !errors.Is(err, snowflake.ErrLeaseStalled) || !errors.Is(err, cmp.Or(test.also, err)) || ended != (test.also != nil) {
				t.Errorf("call %d: %v, want ErrLeaseStalled and %v", i, err, test.also)
			}
		}
		time.AfterFunc(2*time.Second, func() { mustMove(t, l, 0, 0, mustTick(t, l)+1000) })
		l.MustNext()
		wantWait(2*time.Second, nil) // for a worker
		l.MustNext()                 // does not wait

		time.Sleep(2 * time.Second)
		time.AfterFunc(time.Second, func() { l.Fail(nil) })
		wantNoID(t, l.Generator, snowflake.ErrLeaseStalled, "")
		wantWait(time.Second, snowflake.ErrLeaseStalled)
		wantNoID(t, l.Generator, snowflake.ErrLeaseStalled, "")
		if got := o.take(); len(got) > 0 {
			t.Errorf("a call that found the error at once: %v", got)
		}
	})
}

func TestFailLetsTheRestBelowTheHorizonBeUsed(t *testing.T) {
	lost := errors.New("taken over")
	l, _ := leased(t)
	now := mustTick(t, l)
	mustMove(t, l, 3, now, now+2)
	l.Fail(lost)
	for range 2 * 4096 {
		l.MustNext()
	}
	wantNoID(t, l.Generator, lost, "")
	wantMatch(t, l.Move(4, now, now+100), lost, "")
}

// Workers change all the time under many callers; each worker is given ticks from where its last use had its horizon,
// as a store would do it.
func TestChangingWorkersMixNothing(t *testing.T) {
	l := newLessee(t, time.Minute, snowflake.WithLayout(layoutOf("wide")))
	g := l.Generator
	const workers = 3
	start := mustTick(t, l)
	horizons := [workers]int64{start, start, start}
	stop, done := make(chan struct{}), make(chan struct{})
	move := func(worker int64) {
		now := mustTick(t, l)
		from := horizons[worker]
		horizons[worker] = max(from, now) + 5
		mustMove(t, l, worker, from, horizons[worker])
	}

	move(0)
	go func() {
		defer close(done)
		for i := int64(0); ; i++ {
			select {
			case <-stop:
				return
			default:
				move(i % workers)
				time.Sleep(time.Duration(rand.IntN(3000)) * time.Microsecond)
			}
		}
	}()

	ids := storm(t, g, 8, 100_000, 50)
	close(stop)
	<-done
	if issued := g.Stats().Issued; issued != uint64(len(ids)) {
		t.Errorf("Stats counts %d, %d were issued", issued, len(ids))
	}
}

func TestIssuedNeverDecreasesWhileTheWorkerChanges(t *testing.T) {
	l := newLessee(t, time.Minute)
	mustMove(t, l, 3, 0, 1<<40)
	var wg sync.WaitGroup
	var done atomic.Bool
	wg.Go(func() {
		defer done.Store(true)
		for range 500 {
			mustMove(t, l, 3, 0, 1<<40)
			l.MustNext()
		}
	})

	for last := uint64(0); !done.Load(); {
		issued := l.Stats().Issued
		if issued < last {
			t.Errorf("%d issued after %d", issued, last)
			break
		}
		last = issued
	}

	wg.Wait()
}

func TestAWithdrawnWorkerIssuesNothingUntilTheNextMove(t *testing.T) {
	l, _ := leased(t)
	l.Withdraw() // without a worker it changes nothing
	now := mustTick(t, l)
	mustMove(t, l, 3, now, now+100)
	first := l.MustNext()
	for range 2 {
		l.Withdraw()
	}

	l.Extend(now + 1000)
	wantNoID(t, l.Generator, snowflake.ErrLeaseStalled, "")
	if issued := l.Stats().Issued; issued != 1 || l.Worker() != 3 {
		t.Errorf("%d IDs issued by worker %d, want 1 by 3", issued, l.Worker())
	}

	mustMove(t, l, 3, now, now+100)
	if id := l.MustNext(); tickOf(t, l.Generator, id) <= tickOf(t, l.Generator, first) {
		t.Errorf("%d after %d, want a later tick", id, first)
	}
}

// The next ID is due when the clock has come back to the last one. Meanwhile steps of the wall clock are noticed as always.
func TestAClockThatIsSetBackWaitsForWhatWasIssued(t *testing.T) {
	const half = int64(30 * time.Minute / time.Millisecond)
	l, clock := leased(t)
	now := mustTick(t, l)
	mustMove(t, l, 3, now, now+2*half)
	last := l.MustNext()
	clock.Step(-30 * time.Minute)
	if next := l.SetBack(half); next != now || mustTick(t, l) != now-half || l.Stats().Drift != 0 {
		t.Errorf("the next ID at the tick %d of %d, the clock at %d, %+v", next, now, mustTick(t, l), l.Stats())
	}
	id := l.MustNext()
	if slept, _ := clock.Slept(); id <= last || tickOf(t, l.Generator, id) > now || slept < 30*time.Minute-10*time.Millisecond ||
		slept > 30*time.Minute {
		t.Errorf("%d after %d, when %v had passed", id, last, slept)
	}

	l.SetBack(half)
	clock.Step(time.Minute)
	clock.Advance(time.Second)
	if tick := mustTick(t, l); tick <= now {
		t.Errorf("the wall clock is ahead, and the generator's is %d ticks behind what it was", now-tick)
	}
	l.Withdraw()
	if next := l.SetBack(1); next <= tickOf(t, l.Generator, id) {
		t.Errorf("without a worker the next ID is at the tick %d, that of the last one is %d", next, tickOf(t, l.Generator, id))
	}
}

func TestCloseTellsTheFirstTickThatIsUnused(t *testing.T) {
	ended := errors.New("ended")
	l, _ := leased(t)
	now := mustTick(t, l)
	for what, test := range map[string]struct {
		use  func(l lessee)
		next int64
	}{
		"no worker": {func(lessee) {}, 1},
		"no ID":     {func(l lessee) { mustMove(t, l, 3, now+5, now+1000) }, now + 5},
		"three ticks": {func(l lessee) {
			mustMove(t, l, 3, now, now+1000)
			fill(t, l.Generator, 4096*2+1)
		}, now + 3},
		"a move beyond all IDs": {func(l lessee) {
			mustMove(t, l, 3, now, now+1000)
			l.MustNext()
			mustMove(t, l, 4, now+50, now+1000)
		}, now + 50},
	} {
		l, _ := leased(t)
		test.use(l)
		for range 2 {
			if next := l.Close(ended); next != test.next {
				t.Errorf("%s: %d, want %d", what, next, test.next)
			}
		}

		wantMatch(t, l.Move(4, now+2000, now+3000), ended, "")
		l.Extend(now + 5000)
		wantNoID(t, l.Generator, ended, "")
		wantMatch(t, l.Fill(t.Context(), make([]snowflake.ID, 100_000)), ended, "")
	}
}

// A call that has drawn and waits for its IDs to be due has issued them: Close must not give their ticks away, though
// nobody has seen them yet.
func TestCloseCountsWhatCallsAreWaitingFor(t *testing.T) {
	l, clock := leased(t)
	now := mustTick(t, l)
	mustMove(t, l, 3, now, now+10_000)
	g := l.Generator
	fill(t, g, 45_056) // all that may be ahead
	waiting, let, drawn := make(chan struct{}), make(chan struct{}), make(chan snowflake.ID)
	var once sync.Once
	clock.onSleep = func() error {
		once.Do(func() { close(waiting) })
		<-let
		return nil
	}

	go func() {
		id, err := g.Next()
		if err != nil {
			t.Error(err)
		}
		drawn <- id
	}()

	<-waiting
	next := l.Close(errors.New("ended"))
	close(let)
	if tick := tickOf(t, g, <-drawn); tick >= next || next > tick+1 {
		t.Errorf("an ID of the tick %d came out after Close had said %d", tick, next)
	}
}

func TestCloseEndsCallsThatStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLessee(t, time.Hour, slow())
		time.AfterFunc(time.Second, func() { l.Close(nil) })
		start := time.Now()
		if _, err := l.Next(); !errors.Is(err, snowflake.ErrLeaseStalled) || time.Since(start) != time.Second {
			t.Errorf("Next: %v after %v", err, time.Since(start))
		}
	})
}
