package snowflake_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

// slow is a layout with 4 IDs a millisecond, and an epoch before the clock of testing/synctest.
func slow() snowflake.Option {
	return snowflake.WithLayout(layoutOf("epoch=1999-01-01T00:00:00Z tick=1ms time:41 worker:4 sequence:2"))
}

// Each caller takes 11 ms, so about 90 fit into the second that may be taken above the lead. Some are canceled at once,
// while they wait for room, or from the second round on at any time, also after they were served and before they look.
func TestALongQueueIsServedInTheOrderInWhichItCame(t *testing.T) {
	for round := range 20 {
		random := rand.New(rand.NewPCG(1, uint64(round)))
		synctest.Test(t, func(t *testing.T) {
			g := mustNew(t, 0, slow())
			var wg sync.WaitGroup
			start := time.Now()
			firsts := make([]snowflake.ID, 250)
			for i := range firsts {
				end := time.Hour
				if i > 200 && i%2 == 1 {
					end = time.Millisecond
				} else if round > 0 && i%2 == 1 {
					end = time.Duration(random.IntN(1500)) * time.Millisecond
				}

				if round > 0 && i > 150 {
					time.Sleep(time.Duration(random.IntN(12)) * time.Millisecond)
				}

				came := time.Now()
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(end, cancel)
				wg.Go(func() {
					ids := make([]snowflake.ID, 44)
					err := g.Fill(ctx, ids)
					canceled := errors.Is(err, context.Canceled) && time.Since(came) == end
					if err != nil && !canceled || (err == nil) != (ids[0] != 0) {
						t.Errorf("caller %d, canceled after %v, returned after %v: %d, %v", i, end, time.Since(came), ids[0], err)
					}
					firsts[i] = ids[0]
				})

				synctest.Wait()
			}

			wg.Wait()
			if d := time.Since(start); round == 0 && d > 230*11*time.Millisecond {
				t.Errorf("225 callers took %v: some waited for those that were canceled", d)
			}

			served, last := 0, 0
			for i, id := range firsts {
				if id != 0 && id < firsts[last] {
					t.Fatalf("round %d: caller %d was served before caller %d, which came first", round, i, last)
				} else if id != 0 {
					served, last = served+1, i
				}
			}

			if issued := g.Stats().Issued; issued != uint64(served)*44 {
				t.Errorf("round %d: Stats counts %d issued, want %d", round, issued, served*44)
			}
		})
	}
}

func TestAWaitEndsWithItsContextAndLeavesTheGeneratorUsable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := mustNew(t, 0, slow(), snowflake.WithLead(0))
		cause := errors.New("the request was withdrawn")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(50*time.Millisecond, func() { cancel(cause) }) // halfway
		ids := make([]snowflake.ID, 400)                              // due in 100 ms
		err := g.Fill(ctx, ids)
		if !errors.Is(err, context.Canceled) || !errors.Is(err, cause) {
			t.Errorf("Fill: %v, want the context's error and its cause", err)
		}

		for _, id := range ids {
			if id != 0 {
				t.Fatalf("a batch that failed holds %d", id)
			}
		}

		issued := g.Stats().Issued
		if _, err := g.Next(); err != nil || issued != 0 || g.Stats().Issued != 1 {
			t.Errorf("after it: %v, %d and %d issued", err, issued, g.Stats().Issued)
		}
	})
}

func TestContextsThatAreDoneTakeNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := mustNew(t, 0, slow())
		first := g.MustNext()
		done, cancel := context.WithCancel(t.Context())
		cancel()
		for _, n := range []int{1, 44, 1000} {
			wantMatch(t, errOf(g.NextContext(done)), context.Canceled, "")
			wantMatch(t, g.Fill(done, make([]snowflake.ID, n)), context.Canceled, "")
		}

		if next, err := g.Next(); next != first+1 || err != nil {
			t.Errorf("the ID after %d is %d, %v", first, next, err)
		}
	})
}

// Of the 100 the first step, 44, would be due in a millisecond, the rest in 15.
func TestDeadlinesBeforeTheLastIDIsDueTakeNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := mustNew(t, 0, slow())
		time.Sleep(time.Second)
		first := g.MustNext()
		start := time.Now()
		for n, within := range map[int]time.Duration{44: 900 * time.Microsecond, 100: 5 * time.Millisecond, 10_000: time.Second} {
			ctx, cancel := context.WithTimeout(t.Context(), within)
			err := g.Fill(ctx, make([]snowflake.ID, n))
			var due *snowflake.DueError
			if !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &due) || due.In <= within {
				t.Errorf("Fill of %d within %v: %v", n, within, err)
			}
			cancel()
		}

		if next, err := g.Next(); next != first+1 || err != nil || time.Since(start) != 0 {
			t.Errorf("the ID after %d is %d, %v, %v later", first, next, err, time.Since(start))
		}
	})
}

// Calls that are cancelled one after the other give back what they took.
func TestCancelledWaitsDoNotPushTheOthersBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := mustNew(t, 0, slow())
		g.MustNext()
		for range 1000 {
			ctx, cancel := context.WithCancel(t.Context())
			stop := time.AfterFunc(time.Microsecond, cancel)
			var due *snowflake.DueError
			err := g.Fill(ctx, make([]snowflake.ID, 44))
			if err != nil && (!errors.Is(err, context.Canceled) || !errors.As(err, &due)) {
				t.Fatal(err)
			}
			stop.Stop()
			cancel()
		}

		start := time.Now()
		if _, err := g.Next(); err != nil || time.Since(start) > 11*time.Millisecond {
			t.Errorf("a call with nobody before it waited %v, %v", time.Since(start), err)
		}
	})
}

// Where each call that gives up has another behind it, nothing can be given back.
func TestTheQueueIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := mustNew(t, 0, slow())
		var previous context.CancelFunc
		var wg sync.WaitGroup
		for range 2000 {
			ctx, cancel := context.WithCancel(t.Context())
			wg.Go(func() { _ = g.Fill(ctx, make([]snowflake.ID, 44)) })
			synctest.Wait()
			if previous != nil {
				previous()
				synctest.Wait()
			}
			previous = cancel
		}

		previous()
		wg.Wait()
		if lead := g.Stats().Lead; lead > 10*time.Millisecond+time.Second+11*time.Millisecond {
			t.Errorf("the state is %v ahead of the clock", lead)
		}

		start := time.Now()
		if _, err := g.Next(); err != nil || time.Since(start) > 2*time.Second {
			t.Errorf("the next call waited %v, %v", time.Since(start), err)
		}
	})
}

func TestACallerThatWaitsSleeps(t *testing.T) {
	clock := newFakeClock(epoch2025)
	g := mustNew(t, 0, slow(), snowflake.WithClock(clock))
	g.Observe(nil)() // is never called
	for range 1000 {
		g.MustNext()
	}
	if total, times := clock.Slept(); times > 250 || total < 230*time.Millisecond {
		t.Errorf("1,000 IDs at 4 a millisecond slept %d times, %v in all", times, total)
	}
}

func TestAClockThatDoesNotSleepEndsTheWait(t *testing.T) {
	broken := errors.New("no alarm clock")
	for _, want := range []error{context.Canceled, broken} {
		ctx, cancel := context.WithCancel(t.Context())
		clock := newFakeClock(epoch2025)
		clock.onSleep = func() error {
			if errors.Is(want, broken) {
				return broken
			}
			cancel()
			return errAwake
		}

		g := mustNew(t, 0, slow(), snowflake.WithClock(clock))
		id, err := g.NextContext(ctx) // the start fence waits
		cancel()
		if id != 0 || !errors.Is(err, want) {
			t.Errorf("NextContext = %d, %v, want %v", id, err, want)
		}
	}
}

func TestThePatienceIsCountedByTheClockOfTheGenerator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := newFakeClock(epoch2025.Add(time.Hour))
		l := newLessee(t, time.Minute, snowflake.WithClock(clock))
		start := time.Now()
		_, err := l.Next()
		if slept, _ := clock.Slept(); !errors.Is(err, snowflake.ErrLeaseStalled) || slept != time.Minute || time.Since(start) != 0 {
			t.Errorf("%v after %v, and %v in real time", err, slept, time.Since(start))
		}

		// The horizon rises when the patience ends.
		clock.onSleep = func() error {
			mustMove(t, l, 1, 0, 1<<40)
			return nil
		}

		l.MustNext()
		l.Withdraw()
		broken := errors.New("no alarm clock")
		clock.onSleep = func() error { return broken }
		wantNoID(t, l.Generator, broken, "")
		wantNoID(t, l.Generator, snowflake.ErrLeaseStalled, "")
	})
}

// A batch of ten seconds: the queue lets it in when the first second of it has room.
func TestALongWaitEndsWithinASecondOfAStepForward(t *testing.T) {
	g, clock := clocked(t, slow(), snowflake.WithLead(snowflake.MaxLead))
	fill(t, g, 40_000)
	before, _ := clock.Slept()
	stepped := false
	clock.onSleep = func() error {
		if !stepped {
			clock.Step(time.Hour)
		}
		stepped = true
		return nil
	}

	fill(t, g, 40_000)
	if slept, _ := clock.Slept(); !stepped || slept-before > 1100*time.Millisecond {
		t.Errorf("waited %v", slept-before)
	}
}

// isForeign reports whether err is that of a call from another bubble.
func isForeign(err error) bool {
	return err != nil && strings.Contains(err.Error(), "another testing/synctest bubble")
}

func TestGeneratorsDoNotCrossTheBorderOfABubble(t *testing.T) {
	outside := mustNew(t, 500)
	unix := mustNew(t, 0, snowflake.WithLayout(layoutOf("mastodon"))) // whose epoch is before the bubble's time
	var inside *snowflake.Generator
	synctest.Test(t, func(t *testing.T) {
		for _, g := range []*snowflake.Generator{outside, unix} {
			if id, err := g.Next(); id != 0 || !isForeign(err) {
				t.Errorf("inside: %d, %v, want the error of another bubble", id, err)
			}
		}

		wantMatch(t, errOf(snowflake.New(500)), snowflake.ErrBeforeEpoch, "") // in the year 2000
		time.Sleep(30 * 365 * 24 * time.Hour)
		inside = mustNew(t, 500)
		if share(inside, outside) {
			t.Error("a generator in the bubble shares the state of one outside")
		}

		if id := inside.MustNext(); snowflake.Default().Time(id).Year() < 2029 {
			t.Errorf("inside: %d", id)
		}
	})

	if id, err := inside.Next(); id != 0 || !isForeign(err) {
		t.Errorf("outside: %d, %v, want the error of another bubble", id, err)
	}

	outside.MustNext()
}
