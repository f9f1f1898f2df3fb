package kvlease_test

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/kvlease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
)

// 250 callers have all read the same rows when they swap for the first time. Without a choice at random each one would
// meet a conflict at each worker.
func TestACrowdMeetsFewConflicts(t *testing.T) {
	const callers = 250
	kv := newMemory()
	store := open(t, &together{memory: kv, expect: callers})
	acquire(t, open(t, kv), request(1000, 1000)) // writes the layout
	kv.reads, kv.swaps, kv.conflicts = 0, 0, 0
	var mu sync.Mutex
	workers := map[int64]bool{}
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			grant, err := store.Acquire(t.Context(), request(0, 1023))
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			workers[grant.Worker] = true
		})
	}
	wg.Wait()
	if len(workers) != callers {
		t.Errorf("%d callers have %d workers", callers, len(workers))
	}
	if calls := kv.reads + kv.swaps; calls > 8*callers {
		t.Errorf("%d callers have made %d calls", callers, calls)
	}
	t.Logf("%d callers: %d reads, %d swaps of which %d met a conflict", callers, kv.reads, kv.swaps, kv.conflicts)
	kv.conflicts = 0
	store = open(t, &together{memory: kv, expect: 2}) // for one worker: the loser does not swap the same value again
	for range 2 {
		wg.Go(func() { _, _ = store.Acquire(t.Context(), request(2000, 2000)) })
	}
	wg.Wait()
	if kv.conflicts != 1 {
		t.Errorf("two callers for one worker met %d conflicts, want 1", kv.conflicts)
	}
}

func TestOfTwoLayoutsAtOnceOneIsLent(t *testing.T) {
	store := open(t, &together{memory: newMemory(), expect: 2})
	var granted, refused atomic.Int64
	var wg sync.WaitGroup
	for _, layout := range []string{"time:41 worker:10 sequence:12", "time:41 worker:8 sequence:14"} {
		wg.Go(func() {
			r := request(0, 9)
			r.Layout = layout
			_, err := store.Acquire(t.Context(), r)
			switch {
			case err == nil:
				granted.Add(1)
			case errors.Is(err, lease.ErrLayout):
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if granted.Load() != 1 || refused.Load() != 1 {
		t.Errorf("%d were granted and %d refused, want 1 and 1", granted.Load(), refused.Load())
	}
}

// together holds the first lists back until all callers have made theirs.
type together struct {
	*memory
	mu     sync.Mutex
	expect int
	all    chan struct{}
}

func (x *together) List(ctx context.Context, prefix string) ([]kvlease.Pair, error) {
	pairs, err := x.memory.List(ctx, prefix)
	x.mu.Lock()
	if x.all == nil {
		x.all = make(chan struct{})
	}
	if x.expect--; x.expect == 0 {
		close(x.all)
	}
	x.mu.Unlock()
	<-x.all
	return pairs, err
}

// span is what one owner may use of a worker.
type span struct{ worker, epoch, from, to int64 }

// Owners whose clocks show any time within 20 seconds, and run fast, take each other's workers. What they may use does
// not overlap.
func TestOwnersWithWrongClocksNeverOverlap(t *testing.T) {
	kv := newMemory()
	kv.stale = true
	var mu sync.Mutex
	var spans []span
	var wg sync.WaitGroup
	start, readings := time.Now(), atomic.Int64{}
	for range 8 {
		store := open(t, kv)
		store.SetClock(func() time.Time {
			return start.Add(time.Duration(readings.Add(1)) * time.Second / 2).Add(rand.N(20 * time.Second))
		})
		wg.Go(func() {
			for range 100 {
				s, ok := own(t, store)
				if !ok {
					continue
				}
				mu.Lock()
				spans = append(spans, s)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	slices.SortFunc(spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.worker, b.worker), cmp.Compare(a.epoch, b.epoch))
	})
	for i := 1; i < len(spans); i++ {
		if a, b := spans[i-1], spans[i]; a.worker == b.worker && (a.epoch == b.epoch || b.from < a.to) {
			t.Errorf("worker %d: epoch %d may use %d to %d, epoch %d %d to %d",
				a.worker, a.epoch, a.from, a.to, b.epoch, b.from, b.to)
		}
	}
	if len(spans) < 100 {
		t.Errorf("%d owners, want more", len(spans))
	}
	t.Logf("%d owners", len(spans))
}

// own takes one of two workers, extends it until it is lost or no longer wanted, and gives a part of it back or none.
func own(t *testing.T, store *kvlease.Store) (s span, ok bool) {
	r := request(0, 1)
	r.TTL = 10 * time.Second
	grant, err := store.Acquire(t.Context(), r)
	if err != nil {
		if !errors.Is(err, lease.ErrNoWorker) {
			t.Error(err)
		}
		return s, false
	}
	s = span{grant.Worker, grant.Epoch, grant.Horizon, grant.Horizon}
	for range rand.N(4) {
		grant.Next = leasetest.NewToken()
		if _, err := store.Extend(t.Context(), grant.Claim, s.to+10, r.TTL); err != nil {
			if !errors.Is(err, lease.ErrLost) {
				t.Error(err)
			}
			return s, true
		}
		s.to += 10
		grant.Token = grant.Next
	}
	if rand.N(4) > 0 {
		s.to = s.from + rand.Int64N(s.to-s.from+1)
		if err := store.Release(t.Context(), grant.Claim, s.to); err != nil && !errors.Is(err, lease.ErrLost) {
			t.Error(err)
		}
	}
	return s, true
}
