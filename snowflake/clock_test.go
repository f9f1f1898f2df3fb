package snowflake_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

// fakeClock is a wall clock and a monotonic one that a test sets. Its Sleep lets them run.
type fakeClock struct {
	mu      sync.Mutex
	wall    time.Time
	elapsed time.Duration
	slept   time.Duration
	sleeps  int
	onSleep func() error // called before each sleep, which its error replaces
	onNow   func()       // called before the wall clock is read
}

// errAwake makes a Sleep return at once, without an error and without a look at its context.
var errAwake = errors.New("awake")

func newFakeClock(at time.Time) *fakeClock { return &fakeClock{wall: at, elapsed: time.Hour} }

func (c *fakeClock) Now() time.Time {
	if c.onNow != nil {
		c.onNow()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wall
}

func (c *fakeClock) Elapsed() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.elapsed
}

func (c *fakeClock) Sleep(ctx context.Context, d time.Duration) error {
	if c.onSleep != nil {
		if err := c.onSleep(); errors.Is(err, errAwake) {
			return nil
		} else if err != nil {
			return err
		}
	}

	if err := ctx.Err(); err != nil {
		return err
	}

	c.mu.Lock()
	c.slept += d
	c.sleeps++
	c.mu.Unlock()
	c.Advance(d)
	return nil
}

// Advance lets time pass.
func (c *fakeClock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wall = c.wall.Add(d)
	c.elapsed += d
}

// Step sets the wall clock forward or back, which the monotonic one does not see.
func (c *fakeClock) Step(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wall = c.wall.Add(d)
}

func (c *fakeClock) Slept() (total time.Duration, times int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.slept, c.sleeps
}

var _ snowflake.Clock = (*fakeClock)(nil)

// clocked returns a generator of worker 1 and its clock.
func clocked(tb testing.TB, opts ...snowflake.Option) (*snowflake.Generator, *fakeClock) {
	tb.Helper()
	clock := newFakeClock(epoch2025.Add(time.Hour))
	return mustNew(tb, 1, append(opts, snowflake.WithClock(clock))...), clock
}

func mustNew(tb testing.TB, worker int64, opts ...snowflake.Option) *snowflake.Generator {
	tb.Helper()
	g, err := snowflake.New(worker, opts...)
	noError(tb, err)
	return g
}

// must returns the result of a call that cannot fail.
func must[T any](result T, err error) T {
	if err != nil {
		panic(err)
	}
	return result
}

// noError fails the test on an error.
func noError(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// panicOf returns the error that f panics with.
func panicOf(f func()) (err error) {
	defer func() { err, _ = recover().(error) }()
	f()
	return nil
}

// errOf returns the error of a call.
func errOf[T any](_ T, err error) error { return err }

// wantMatch checks that an error matches another, and contains a text.
func wantMatch(tb testing.TB, err, want error, says string) {
	tb.Helper()
	if !errors.Is(err, want) || !strings.Contains(fmt.Sprint(err), says) {
		tb.Errorf("error %v, want %v with %q", err, want, says)
	}
}

// wantNoID checks that Next returns 0, and an error that matches another and contains a text.
func wantNoID(tb testing.TB, g *snowflake.Generator, want error, says string) {
	tb.Helper()
	id, err := g.Next()
	wantMatch(tb, err, want, says)
	if id != 0 {
		tb.Errorf("Next() = %d with an error", id)
	}
}

func fill(tb testing.TB, g *snowflake.Generator, n int) []snowflake.ID {
	tb.Helper()
	ids := make([]snowflake.ID, n)
	noError(tb, g.Fill(tb.Context(), ids))
	return ids
}

// After 100 calls in ten seconds the generator has caught up with 5 ms for each of them. A step of 5 ms is too small.
func TestAStepBackOfTheWallClockIsCaughtUpWithWithoutAWait(t *testing.T) {
	for step, caught := range map[time.Duration]time.Duration{
		5 * time.Millisecond: 0, 20 * time.Millisecond: 20 * time.Millisecond, 5 * time.Second: 50 * time.Millisecond,
		24 * time.Hour: 50 * time.Millisecond, 10 * 365 * 24 * time.Hour: 50 * time.Millisecond,
	} {
		clock := newFakeClock(epoch2025.Add(30 * 365 * 24 * time.Hour))
		g := mustNew(t, 1, snowflake.WithClock(clock))
		last := g.MustNext()
		_, sleeps := clock.Slept()
		clock.Step(-step)
		for range 100 {
			clock.Advance(100 * time.Millisecond)
			id := g.MustNext()
			if id <= last {
				t.Fatalf("after a step of %v: %d after %d", step, id, last)
			}
			last = id
		}

		if _, after := clock.Slept(); after != sleeps {
			t.Errorf("a step back of %v made %d calls wait", step, after-sleeps)
		}

		if s := g.Stats(); (s.Drift+step-caught).Abs() > time.Millisecond || s.Steps != 0 {
			t.Errorf("after a step back of %v: %+v, want to have caught up with %v", step, s, caught)
		}
	}
}

func TestAWallClockThatStepsForwardIsFollowedWithinASecondOfUse(t *testing.T) {
	g, clock := clocked(t)
	clock.Step(9 * time.Millisecond) // is left alone
	clock.Advance(2 * time.Second)
	g.MustNext()
	if s := g.Stats(); s.Steps != 0 || s.Drift != 9*time.Millisecond {
		t.Errorf("after 9 ms: %+v", s)
	}

	clock.Step(8 * time.Hour) // the laptop slept
	clock.Advance(time.Second)
	id := g.MustNext()
	if at := g.Layout().Time(id); !at.Equal(clock.Now().Truncate(time.Millisecond)) {
		t.Errorf("an ID of %v at %v", at, clock.Now())
	}

	if s := g.Stats(); s.Steps != 1 || s.Drift != 0 {
		t.Errorf("%+v, want one step that was followed", s)
	}
}

// A goroutine that loses its processor between the two clocks, on either side of the wall clock's, must not take the
// pause for a step.
func TestAPauseBetweenTheClocksIsNoStep(t *testing.T) {
	clock := &pausedClock{fakeClock: newFakeClock(epoch2025.Add(time.Hour))}
	g := mustNew(t, 1, snowflake.WithClock(clock))
	clock.pause = 80 * time.Millisecond
	for range 12 {
		clock.Advance(2 * time.Second)
		g.MustNext()
		if s := g.Stats(); s.Steps != 0 || s.Drift != 0 {
			t.Fatalf("%+v, want neither a step nor a drift", s)
		}
	}
}

type pausedClock struct {
	*fakeClock
	pause time.Duration
	reads int
}

func (c *pausedClock) Now() time.Time {
	c.reads++
	if c.reads%4 == 0 {
		c.Advance(c.pause)
	}
	wall := c.fakeClock.Now()
	if c.reads%4 == 2 {
		c.Advance(c.pause)
	}
	return wall
}

// Each time in it is beyond what a time.Duration since the epoch can hold.
func TestAWallClockBeyondTheEndIsAnErrorUntilItIsCorrected(t *testing.T) {
	for _, test := range []struct {
		layout snowflake.Layout
		start  time.Time
		step   time.Duration
	}{
		{snowflake.Default(), snowflake.Default().End().Add(-time.Hour), 2 * time.Hour},
		{layoutOf("mastodon"), epoch2025, 250 * 365 * 24 * time.Hour},
	} {
		clock := newFakeClock(test.start)
		g := mustNew(t, 0, snowflake.WithLayout(test.layout), snowflake.WithClock(clock))
		first := g.MustNext()
		clock.Step(test.step)
		clock.Advance(time.Second)
		for range 3 {
			wantNoID(t, g, snowflake.ErrTimeExhausted, clock.Now().UTC().Format(time.RFC3339Nano))
			clock.Advance(100 * time.Millisecond)
		}

		clock.Step(-test.step)
		if id, err := g.Next(); err != nil || id <= first {
			t.Errorf("after the clock was set right: %d, %v, before %d", id, err, first)
		}
	}
}

// A caller that was paused between a look at the wall clock and the step must not make the step that another has made
// meanwhile.
func TestAStepIsFollowedOnce(t *testing.T) {
	g, clock := clocked(t)
	clock.Advance(time.Second)
	clock.Step(8 * time.Hour)
	clock.onNow = func() {
		clock.onNow = nil
		clock.Advance(2 * time.Second)
		g.MustNext()
	}
	id := g.MustNext()
	if ahead := g.Layout().Time(id).Sub(clock.Now()); ahead > 10*time.Millisecond || g.Stats().Steps != 1 {
		t.Errorf("an ID %v ahead of the clock, %+v", ahead, g.Stats())
	}
}

// Without the step that the call is about to make, the new worker would be hours behind until the next comparison.
func TestAStepIsFollowedOnceAlsoIfTheWorkerChangesMeanwhile(t *testing.T) {
	l, clock := leased(t)
	mustMove(t, l, 1, 0, 1<<40)
	clock.Advance(time.Second)
	clock.Step(8 * time.Hour)
	clock.onNow = func() {
		clock.onNow = nil
		mustMove(t, l, 2, 0, 1<<40)
	}

	p := l.Layout().Decompose(l.MustNext())
	if behind := clock.Now().Sub(p.Time); p.Worker != 2 || behind > time.Second {
		t.Errorf("an ID of worker %d is %v behind the clock", p.Worker, behind)
	}

	clock.Advance(2 * time.Second)
	l.MustNext() // compares again
	if s := l.Stats(); s.Steps != 1 || s.Drift != 0 {
		t.Errorf("%+v, want one step", s)
	}
}

// A fixed worker repeats nothing after a restart if its predecessor had caught up.
func TestAFixedWorkerThatHasCaughtUpMayBeRestarted(t *testing.T) {
	g, clock := clocked(t)
	clock.Step(-5 * time.Second)
	seen, last := map[snowflake.ID]bool{}, snowflake.ID(0)
	next := func(g *snowflake.Generator) {
		t.Helper()
		ids := make([]snowflake.ID, 100)
		if err := g.Fill(t.Context(), ids); err != nil || ids[0] <= last {
			t.Fatalf("Fill: %v, %d after %d", err, ids[0], last)
		}

		for _, id := range ids {
			if seen[id] {
				t.Fatalf("%d came twice", id)
			}
			seen[id] = true
		}

		last = ids[len(ids)-1]
	}

	next(g)
	_, sleeps := clock.Slept()
	for range 2_000 { // 1,000 s
		clock.Advance(500 * time.Millisecond)
		next(g)
	}

	if _, after := clock.Slept(); after != sleeps || g.Stats().Drift != 0 {
		t.Errorf("%d calls waited, %+v", after-sleeps, g.Stats())
	}

	next(mustNew(t, 1, snowflake.WithClock(clock)))
}

// Calls that lead the clock by more than half the lead are not made to wait by a slower clock.
func TestABusyGeneratorDoesNotCatchUp(t *testing.T) {
	g, clock := clocked(t)
	clock.Step(-5 * time.Second)
	ids := make([]snowflake.ID, 45_056)
	for range 20_000 { // each waits for 1 ms at the least
		noError(t, g.Fill(t.Context(), ids[:4096]))
	}
	slept, _ := clock.Slept()
	if want := 20 * time.Second; slept > want || g.Stats().Drift > -5*time.Second+10*time.Millisecond {
		t.Errorf("slept %v, want at most %v; %+v", slept, want, g.Stats())
	}
}

// A call that has read the clock before it was set back takes an ID by the old time. The next call does not wait for it.
func TestACallBesideASlowerClockMakesNoOtherCallWait(t *testing.T) {
	clock := newFakeClock(epoch2025.Add(time.Hour))
	read, taken := make(chan bool), make(chan error)
	var g *snowflake.Generator
	calls := 0
	g = mustNew(t, 1, snowflake.WithClock(clock), snowflake.WithRandom(func(uint64) uint64 {
		switch calls++; calls {
		case 2: // the other call is about to take its ID
			read <- true
			<-read
		case 3: // the clock was set back
			read <- true
			if err := <-taken; err != nil {
				t.Error(err)
			}
		}
		return 0
	}))

	clock.Advance(time.Second)
	g.MustNext()
	clock.Step(-20 * time.Second)
	clock.Advance(time.Hour)
	clock.onNow = func() {
		clock.onNow = nil
		go func() {
			_, err := g.Next()
			taken <- err
		}()
		<-read
	}

	g.MustNext()
	if slept, _ := clock.Slept(); slept > 0 || calls != 3 {
		t.Errorf("a call waited for %v, %d calls", slept, calls)
	}
}

// The sonyflake layout has a lead of one tick, half of which is none, and each of its ticks has IDs here.
func TestALeadOfOneTickIsEnoughToCatchUpInUse(t *testing.T) {
	g, clock := clocked(t, snowflake.WithLayout(layoutOf("sonyflake")))
	clock.Advance(time.Second)
	clock.Step(-time.Second)
	for range 300_000 { // 300 s
		clock.Advance(time.Millisecond)
		g.MustNext()
	}
	if slept, _ := clock.Slept(); slept > 0 || g.Stats().Drift != 0 {
		t.Errorf("slept %v, %+v", slept, g.Stats())
	}
}

// With no lead and few IDs left in the tick of the last one, a call of some more would wait for the next tick.
func TestASlowerClockLeavesRoomForACallOfAFewIDs(t *testing.T) {
	g, clock := clocked(t, snowflake.WithLayout(layoutOf("sonyflake")), snowflake.WithLead(0)) // 256 IDs in a tick of 10 ms
	clock.Advance(990 * time.Millisecond)
	fill(t, g, 250)
	clock.Step(-time.Second)
	clock.Advance(12 * time.Millisecond)
	fill(t, g, 10)
	if slept, _ := clock.Slept(); slept > 0 || g.Stats().Drift >= 0 {
		t.Errorf("slept %v, %+v", slept, g.Stats())
	}
}
