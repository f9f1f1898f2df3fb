package snowflake_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

// Twice as many IDs are wanted as the layout has. Calls that cannot have theirs in time are rejected at once, so that
// the others get all there are.
func TestUnderOverloadNoIDIsTakenForACallWhoseDeadlineIsTooEarly(t *testing.T) {
	for _, timeout := range []time.Duration{500 * time.Millisecond, 1200 * time.Millisecond, 2500 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			g := mustNew(t, 0, slow())
			var served, late atomic.Int64
			var wg sync.WaitGroup
			const calls = 1000
			for range calls {
				time.Sleep(5500 * time.Microsecond)
				wg.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), timeout)
					defer cancel()
					came := time.Now()
					if err := g.Fill(ctx, make([]snowflake.ID, 44)); err == nil { // 11 ms of IDs
						served.Add(1)
					} else if time.Since(came) > 0 {
						late.Add(1)
					}
				})
			}
			wg.Wait()
			if served.Load() < calls/2 || late.Load() > 0 {
				t.Errorf("timeout %v: %d of %d calls served, %d failed after a wait", timeout, served.Load(), calls, late.Load())
			}

			// The calls before are gone, and must not be counted any more.
			for range 100 { // 1.1 s
				wg.Go(func() { _ = g.Fill(t.Context(), make([]snowflake.ID, 44)) })
			}
			synctest.Wait()
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			wantMatch(t, errOf(g.NextContext(ctx)), nil, "")
			wg.Wait()
		})
	}
}

func TestBehindAQueueACallWhoseDeadlineIsTooEarlyReturnsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := mustNew(t, 0, slow())
		var wg sync.WaitGroup
		for range 400 { // 4.4 s
			wg.Go(func() { _ = g.Fill(t.Context(), make([]snowflake.ID, 44)) })
		}
		synctest.Wait()

		for _, timeout := range []time.Duration{2 * time.Second, 4 * time.Second} {
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			came := time.Now()
			if _, err := g.NextContext(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(came) > 0 {
				t.Errorf("timeout %v: %v after %v", timeout, err, time.Since(came))
			}
			cancel()
		}
		wg.Wait()
	})
}

func TestACallOfAShortLeadDoesNotHoldUpThoseOfALongOne(t *testing.T) {
	const lead = snowflake.MaxLead
	long := mustNew(t, 13, slow(), snowflake.WithLead(lead)) // on the system clock, to share the worker
	short := mustNew(t, 13, slow(), snowflake.WithLead(0))
	for long.Stats().Lead < lead {
		long.MustNext()
	}

	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		wantMatch(t, errOf(short.NextContext(ctx)), context.Canceled, "")
	})

	for range 10 {
		// Behind the other call this would take so long that the other one is served.
		fill(t, long, 40)
	}

	cancel()
	wg.Wait()
}

// The calls before a waiting call give their IDs back. A call that comes later must not take them.
func TestIDsThatAreGivenBackGoToTheFirstWaitingCall(t *testing.T) {
	for calls := 93; calls < 97; calls++ {
		for _, sleep := range []time.Duration{1, 10, 15} {
			synctest.Test(t, func(t *testing.T) {
				g := mustNew(t, 0, slow())
				time.Sleep(time.Second)
				var cancels []context.CancelFunc
				var wg sync.WaitGroup
				for i := range calls {
					ctx, cancel := context.WithCancel(t.Context())
					cancels = append(cancels, cancel)
					wg.Go(func() { _ = g.Fill(ctx, make([]snowflake.ID, min(44, 1+43*i))) })
					synctest.Wait()
				}

				time.Sleep(sleep * time.Millisecond)
				var waiting snowflake.ID
				wg.Go(func() { waiting = g.MustNext() })
				synctest.Wait()
				for _, cancel := range slices.Backward(cancels) {
					cancel()
					synctest.Wait()
				}

				later := g.MustNext()
				wg.Wait()
				if later < waiting {
					t.Errorf("%d calls, %v ms: the waiting call got %d, a later one %d", calls, int64(sleep), waiting, later)
				}
			})
		}
	}
}

// The call that gives IDs back came 15 s ago.
func TestIDsThatAreGivenBackLateGoToTheFirstWaitingCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := mustNew(t, 0, slow(), snowflake.WithLead(10*time.Second)) // by which it begins ahead
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for _, ctx := range []context.Context{t.Context(), ctx} { // the first is served at once, the second after 9 s
			wg.Go(func() { _ = g.Fill(ctx, make([]snowflake.ID, 40_000)) })
			synctest.Wait()
		}

		time.Sleep(10 * time.Second)
		var waiting snowflake.ID
		wg.Go(func() { waiting = g.MustNext() })
		time.Sleep(5010 * time.Millisecond)
		cancel()
		synctest.Wait()
		later := g.MustNext()
		wg.Wait()
		if later < waiting {
			t.Errorf("the waiting call got %d, a later one %d", waiting, later)
		}
	})
}

func TestAQueueBehindALongLeadEndsWithItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(26 * 365 * 24 * time.Hour) // the bubble begins before the epoch
		l := newLessee(t, time.Minute, snowflake.WithLead(10*time.Second))
		mustMove(t, l, 3, 0, 1<<40)
		var wg sync.WaitGroup
		for range 11 {
			wg.Go(func() { _ = l.Fill(t.Context(), make([]snowflake.ID, 4096*10_000/8)) })
		}

		synctest.Wait()
		closed := errors.New("closed")
		wg.Go(func() {
			came := time.Now()
			if _, err := l.Next(); !errors.Is(err, closed) || time.Since(came) > 20*time.Millisecond {
				t.Errorf("a call that waits: %v after %v", err, time.Since(came))
			}
		})

		synctest.Wait()
		l.Close(closed)
		wg.Wait()
	})
}

// A closed lease has no time at which a call behind a queue would get its IDs.
func TestACallBehindAQueueOfAClosedLeaseIsNeverDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLessee(t, 0, since1999())
		mustMove(t, l, 0, mustTick(t, l), mustTick(t, l)+100_000)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range 200 { // 2.2 s
			wg.Go(func() {
				var due *snowflake.DueError
				err := l.Fill(ctx, make([]snowflake.ID, 45_056))
				if errors.As(err, &due) && due.In > 3*time.Second {
					t.Errorf("%v", err)
				}
			})
		}

		synctest.Wait()
		l.Close(nil)
		cancel()
		wg.Wait()
	})
}

// deafClock stands still, and its sleeps end with their contexts.
type deafClock chan struct{} // an element for each sleep

func (deafClock) Now() time.Time         { return epoch2025 }
func (deafClock) Elapsed() time.Duration { return time.Hour }

func (c deafClock) Sleep(ctx context.Context, _ time.Duration) error {
	c <- struct{}{}
	<-ctx.Done()
	return ctx.Err()
}

// The runtime ends a process that uses the channel of a bubble outside of it.
func TestOneQueueHasCallsInsideAndOutsideOfABubble(t *testing.T) {
	clock := make(deafClock, 3)
	g := mustNew(t, 0, slow(), snowflake.WithClock(clock), snowflake.WithLead(10*time.Second))
	fill := func(ctx context.Context, done chan<- error) { done <- g.Fill(ctx, make([]snowflake.ID, 60_000)) }
	ctx, cancel := context.WithCancel(t.Context())
	outside, inside := make(chan error, 2), make(chan error, 1)
	for range 2 { // the first one is served, and sleeps until its IDs are due
		go fill(ctx, outside)
		<-clock
	}

	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		defer end()
		go fill(ctx, inside)
		<-clock
		cancel()
		failed := []error{<-outside, <-outside}
		end()
		for _, err := range append(failed, <-inside) {
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
	})
}
