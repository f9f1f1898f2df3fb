package lease_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

func TestOpenWaitsForAWorkerAsLongAsItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := lease.NewMemory(time.Now)
		var all []*lease.Lease
		for range 4 {
			all = append(all, mustOpen(t, store))
		}
		workers := map[int64]bool{}
		for _, l := range all {
			workers[l.Generator().Worker()] = true
		}
		if len(workers) != 4 {
			t.Errorf("four leases hold %v", workers)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := lease.Open(ctx, store, options(t)...)
		var none *lease.NoWorkerError
		if !errors.As(err, &none) || !errors.Is(err, lease.ErrNoWorker) || !errors.Is(err, context.DeadlineExceeded) || none.Last != 3 {
			t.Errorf("Open: %v, want a NoWorkerError and the deadline", err)
		}
		time.AfterFunc(30*time.Second, func() { mustClose(t, all[2]) })
		unsure := newFaulty(store)
		unsure.loseNext("acquire", 1) // an answer after a failure counts
		fifth := mustOpen(t, unsure)
		if fifth.Generator().Worker() != 2 {
			t.Errorf("the fifth got worker %d", fifth.Generator().Worker())
		}
		for _, l := range append(all, fifth) {
			mustClose(t, l)
		}
	})
}

func TestOpenGivesUpOnAStoreThatDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFaulty(lease.NewMemory(time.Now))
		store.setDown(true)
		for _, window := range []time.Duration{lease.DefaultWindow, lease.MaxWindow} {
			start := time.Now()
			_, err := lease.Open(t.Context(), store, options(t, lease.WithWindow(window))...)
			if !errors.Is(err, errDown) || time.Since(start) > 15*time.Second {
				t.Errorf("Open with a window of %v: %v after %v", window, err, time.Since(start))
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := lease.Open(ctx, store, options(t)...); !errors.Is(err, errDown) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Open with a deadline: %v, want it and the store's error", err)
		}
	})
}

func TestOpenReturnsAFinalErrorOfAnExtensionAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		store := &altered{Store: lease.NewMemory(time.Now)}
		store.extend.set(func(context.Context, leasestore.Claim, int64, time.Duration) (time.Time, error) {
			return time.Time{}, lease.ErrOption // the store is unusable, which only an extension shows
		})
		var events recorder
		_, err := lease.Open(t.Context(), store, options(t, lease.WithObserver(events.hook))...)
		if !errors.Is(err, lease.ErrOption) || time.Since(start) > 0 {
			t.Errorf("Open: %v after %v", err, time.Since(start))
		}
		if kinds := events.kinds(); len(kinds) > 0 {
			t.Errorf("events %v of a lease that never began", kinds)
		}
		if entries, err := store.List(t.Context(), lease.DefaultNamespace); err != nil || len(entries) != 1 || entries[0].Held {
			t.Errorf("what Open had taken is not given back: %+v, %v", entries, err)
		}
	})
}

func TestOpenSaysWhatItWaitedForIfItsContextEndsDuringACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := lease.NewMemory(time.Now)
		holder := mustOpen(t, store, lease.WithWorkers(0, 0))
		defer mustClose(t, holder)
		ctx, cancel := context.WithTimeout(t.Context(), 11*time.Second) // the second call comes after ten
		defer cancel()
		hanging, calls := &altered{Store: store}, 0
		hanging.acquire.set(func(ctx context.Context, r leasestore.Request) (leasestore.Grant, error) {
			if calls++; calls == 2 {
				<-ctx.Done()
				return leasestore.Grant{}, ctx.Err()
			}
			return store.Acquire(ctx, r)
		})
		_, err := lease.Open(ctx, hanging, options(t, lease.WithWorkers(0, 0))...)
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, lease.ErrNoWorker) {
			t.Errorf("Open: %v, want DeadlineExceeded and ErrNoWorker", err)
		}
	})
}
