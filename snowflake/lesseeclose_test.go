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
	clock := newFakeClock(epoch2025.Add(time.Hour))
	ended := errors.New("ended")
	l := newLessee(t, 0, snowflake.WithClock(clock))
	if next := l.Close(ended); next != 1 {
		t.Errorf("without a worker: %d, want 1", next)
	}

	l = newLessee(t, 0, snowflake.WithClock(clock))
	now := mustTick(t, l)
	mustMove(t, l, 3, now+5, now+1000)
	if next := l.Close(ended); next != now+5 {
		t.Errorf("without an ID: %d, want the start %d", next, now+5)
	}

	l = newLessee(t, 0, snowflake.WithClock(clock))
	mustMove(t, l, 3, now, now+1000)
	batch := fill(t, l.Generator(), 4096*2+1)
	last := tickOf(t, l.Generator(), batch[len(batch)-1])
	for range 2 {
		if next := l.Close(ended); next != last+1 {
			t.Errorf("after an ID of the tick %d: %d", last, next)
		}
	}
	if err := l.Move(4, now+2000, now+3000); !errors.Is(err, ended) {
		t.Errorf("Move after Close: %v", err)
	}
	l.Extend(now + 5000)
	if _, err := l.Generator().Next(); !errors.Is(err, ended) {
		t.Errorf("Next after Close and Extend: %v", err)
	}

	l = newLessee(t, 0, snowflake.WithClock(clock))
	mustMove(t, l, 3, now, now+1000)
	l.Generator().MustNext()
	mustMove(t, l, 4, now+50, now+1000)
	if next := l.Close(ended); next != now+50 {
		t.Errorf("after a move beyond all IDs: %d, want its start %d", next, now+50)
	}
}

// A call that has drawn and waits for its IDs to be due has issued them: Close must not give their ticks away, though
// nobody has seen them yet.
func TestCloseCountsWhatCallsAreWaitingFor(t *testing.T) {
	l, clock := leased(t)
	now := mustTick(t, l)
	mustMove(t, l, 3, now, now+10_000)
	g := l.Generator()
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
		l := newLessee(t, time.Hour, slow(t))
		time.AfterFunc(time.Second, func() { l.Close(nil) })
		start := time.Now()
		if _, err := l.Generator().Next(); !errors.Is(err, snowflake.ErrLeaseStalled) || time.Since(start) != time.Second {
			t.Errorf("Next: %v after %v", err, time.Since(start))
		}
	})
}
