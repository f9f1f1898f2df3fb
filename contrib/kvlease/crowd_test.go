package kvlease_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/sqlflake/sqlflake/contrib/kvlease"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// 250 callers have all read the same rows when they swap for the first time. Without a choice at random each one would
// meet a conflict at each worker.
func TestACrowdMeetsFewConflicts(t *testing.T) {
	const callers = 250
	kv := newMemory()
	store := open(t, &together{memory: kv, expect: callers})
	acquire(t, open(t, kv), request(1000, 1000)) // writes the layout
	kv.reads, kv.swaps, kv.conflicts = 0, 0, 0
	var workers sync.Map
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			grant, err := store.Acquire(t.Context(), request(0, 1023))
			if _, taken := workers.LoadOrStore(grant.Worker, true); err != nil || taken {
				t.Errorf("worker %d, taken before: %t, error %v", grant.Worker, taken, err)
			}
		})
	}
	wg.Wait()
	if calls := kv.reads + kv.swaps; calls > 8*callers {
		t.Errorf("%d callers have made %d calls", callers, calls)
	}
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

// The last worker is for lease.Lease.Reserve, so it comes after all that nobody had.
func TestACrowdTakesTheLastWorkerLast(t *testing.T) {
	for range 20 {
		kv := newMemory()
		store := open(t, &together{memory: kv, expect: 8})
		acquire(t, open(t, kv), request(1000, 1000)) // writes the layout
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if grant, err := store.Acquire(t.Context(), request(0, 15)); err != nil || grant.Worker == 15 {
					t.Errorf("one of 8 callers for 16 workers: worker %d, error %v", grant.Worker, err)
				}
			})
		}
		wg.Wait()
	}
}

func TestOfTwoLayoutsAtOnceOneIsLent(t *testing.T) {
	store := open(t, &together{memory: newMemory(), expect: 2})
	errs := make(chan error)
	for _, layout := range []string{"time:41 worker:10 sequence:12", "time:41 worker:8 sequence:14"} {
		r := request(0, 9)
		r.Layout = layout
		go func() {
			_, err := store.Acquire(t.Context(), r)
			errs <- err
		}()
	}
	if a, b := <-errs, <-errs; (a == nil) == (b == nil) || !errors.Is(errors.Join(a, b), lease.ErrLayout) {
		t.Errorf("errors %v and %v, want one ErrLayout", a, b)
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
