package snowflake_test

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

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
		if err := l.Move(4, now+2000, now+3000); !errors.Is(err, ended) {
			t.Errorf("%s: Move after Close: %v", what, err)
		}
		l.Extend(now + 5000)
		if _, err := l.Next(); !errors.Is(err, ended) {
			t.Errorf("%s: Next after Close and Extend: %v", what, err)
		}
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
