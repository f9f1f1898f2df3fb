package lease_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/internal/attempt"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

// blocked is an Extend that waits until something is received from the channel, and ignores its context.
func blocked(store leasestore.Store, block <-chan struct{}) extendFunc {
	return func(ctx context.Context, c leasestore.Claim, horizon int64, ttl time.Duration) (time.Time, error) {
		<-block
		return store.Extend(context.WithoutCancel(ctx), c, horizon, ttl)
	}
}

func TestCloseEndsWithItsContextAndStopsTheGeneratorAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := lease.NewMemory(time.Now)
		store := &altered{Store: memory}
		l := mustOpen(t, store)
		block := make(chan struct{})
		store.extend.set(blocked(memory, block))
		time.Sleep(6 * time.Second) // an extension is in progress
		patient := make(chan error, 1)
		go func() { patient <- l.Close(context.Background()) }() // nor does another Close keep one waiting
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		if err := l.Close(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("Close: %v after %v", err, time.Since(start))
		}
		if _, err := l.Generator().Next(); !errors.Is(err, lease.ErrClosed) {
			t.Errorf("Next: %v", err)
		}
		close(block)
		if err := <-patient; err != nil {
			t.Errorf("the other Close: %v", err)
		}
		mustClose(t, l)
		if entry(t, memory, 0).Held {
			t.Error("the worker was not given back")
		}
	})
}

func TestCloseGivesBackAWorkerThatIsNotInUseYet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := lease.NewMemory(time.Now)
		store := newFaulty(memory)
		slow := &altered{Store: store}
		l := mustOpen(t, slow, lease.WithWorkers(0, 1))
		store.setDown(true)
		time.Sleep(25 * time.Second)
		thief := mustOpen(t, memory, lease.WithWorkers(0, 0))
		defer mustClose(t, thief)
		store.setDown(false)
		block := make(chan struct{}, 2)
		block <- struct{}{} // for the two calls that notice the loss; the first one of worker 1 blocks
		block <- struct{}{}
		slow.extend.set(blocked(store, block))
		time.Sleep(5 * time.Second) // so worker 1 is acquired and not used yet
		if !entry(t, memory, 1).Held {
			t.Fatal("worker 1 is not held")
		}
		time.AfterFunc(time.Second, func() { close(block) })
		mustClose(t, l)
		if e := entry(t, memory, 1); e.Held || e.Epoch != 1 || e.Horizon != 0 { // as it was granted, since no ID was issued
			t.Errorf("worker 1 was not given back: %+v", e)
		}
	})
}

func TestAWorkerIsGivenBackIfItsAcquisitionWasCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := lease.NewMemory(time.Now)
		faulty := newFaulty(memory)
		store, calls := &altered{Store: faulty}, new(atomic.Int64)
		// Some calls are executed when their context has ended, as by a database whose client has left.
		store.acquire.set(func(ctx context.Context, r leasestore.Request) (leasestore.Grant, error) {
			if calls.Add(-1) < 0 {
				return faulty.Acquire(ctx, r)
			}
			<-ctx.Done()
			_, err := faulty.Acquire(context.WithoutCancel(ctx), r)
			return leasestore.Grant{}, errors.Join(ctx.Err(), err)
		})
		first := mustOpen(t, store, lease.WithWorkers(0, 0))
		mustNext(t, first)
		mustClose(t, first)
		before := entry(t, memory, 0)
		calls.Store(1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := lease.Open(ctx, store, options(t, lease.WithWorkers(0, 0))...); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Open: %v", err)
		}
		if e := entry(t, memory, 0); e.Held || e.Epoch != 2 || e.Horizon != before.Horizon {
			t.Errorf("after Open: %+v, before it %+v", e, before)
		}
		l := mustOpen(t, store, lease.WithWorkers(0, 1))
		faulty.setDown(true)
		time.Sleep(25 * time.Second)
		thief := mustOpen(t, memory, lease.WithWorkers(0, 0))
		defer mustClose(t, thief)
		calls.Store(100)
		faulty.setDown(false)
		time.Sleep(5 * time.Second) // l knows of the loss, and has asked for another worker
		calls.Store(0)
		mustClose(t, l)
		if e := entry(t, memory, 1); e.Held || e.Horizon != 0 {
			t.Errorf("after Close: %+v", e)
		}
	})
}

// stuck returns a store that blocks releases until the channel is closed or the context ends.
func stuck(store leasestore.Store) (*altered, chan struct{}) {
	s, block := &altered{Store: store}, make(chan struct{})
	s.release.set(func(ctx context.Context, c leasestore.Claim, horizon int64) error {
		select {
		case <-block:
			return store.Release(ctx, c, horizon)
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	return s, block
}

func TestCloseCanBeRepeatedAfterAFailureAndTellsTheTruth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := lease.NewMemory(time.Now)
		store, block := stuck(memory)
		l := mustOpen(t, store)
		last := mustNext(t, l)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		for range 20 {
			start := time.Now()
			err := l.Close(ended)
			if !errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(err.Error(), "lease: release worker 0") ||
				time.Since(start) != time.Second {
				t.Fatalf("Close: %v after %v, want the store's error after a second", err, time.Since(start))
			}
		}
		close(block)
		for range 2 {
			if err := l.Close(ended); err != nil {
				t.Errorf("Close when the store answers: %v", err)
			}
		}
		tick := l.Generator().Layout().Decompose(last).Time
		if e := entry(t, memory, 0); e.Held || !l.Generator().Layout().Start(e.Horizon).Equal(tick.Add(time.Millisecond)) {
			t.Errorf("after Close: %+v, the last ID is of %v", e, tick)
		}
	})
}

// endsMeanwhile is a context that ends after the first look at it.
type endsMeanwhile struct {
	context.Context
	looked atomic.Bool
}

func (c *endsMeanwhile) Err() error {
	if !c.looked.Swap(true) {
		return nil
	}
	return c.Context.Err()
}

// A context that ends during Close is no reason to say that something else was slow.
func TestCloseReportsNoWaitForWhatHasEnded(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	l := mustOpen(t, lease.NewMemory(nil))
	mustClose(t, l)
	for range 50 { // a choice by chance would be wrong in most of them
		if err := l.Close(&endsMeanwhile{Context: ended}); err != nil {
			t.Fatalf("the second Close: %v", err)
		}
	}
}

func TestCloseAfterALostReplyAndATakeoverIsNoError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := lease.NewMemory(time.Now)
		store := newFaulty(memory)
		l := mustOpen(t, store, lease.WithWorkers(0, 0))
		store.loseNext("release", 1)
		if err := l.Close(t.Context()); !errors.Is(err, errLostReply) {
			t.Errorf("the first Close: %v", err)
		}
		next := mustOpen(t, memory, lease.WithWorkers(0, 0))
		defer mustClose(t, next)
		mustClose(t, l)
		mustClose(t, l)
		if n := store.count("release"); n != 2 || l.Status().Held {
			t.Errorf("%d releases, %+v", n, l.Status())
		}
	})
}

func TestALeaseEndsWhenItsStoreIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, calls := &altered{Store: lease.NewMemory(time.Now)}, new(atomic.Int64)
		errGone := fmt.Errorf("the store: %w", os.ErrClosed)
		connecting := new(atomic.Int64)
		connect := func(ctx context.Context) (io.Closer, error) {
			connecting.Add(1)
			defer connecting.Add(-1)
			<-ctx.Done()
			return nil, ctx.Err()
		}
		store.extend.set(func(ctx context.Context, c leasestore.Claim, horizon int64, ttl time.Duration) (time.Time, error) {
			if calls.Add(1) > 1 { // it was closed for good after the first one
				_, _, _ = attempt.Connect(ctx, false, connect)
				return time.Time{}, errGone
			}
			return store.Store.Extend(ctx, c, horizon, ttl)
		})
		store.release.set(func(context.Context, leasestore.Claim, int64) error { return errGone })
		var events recorder
		l := mustOpen(t, store, lease.WithObserver(events.hook))
		horizon := l.Status().Horizon
		time.Sleep(lease.DefaultWindow * 3 / 4)
		mustNext(t, l) // up to the horizon, and no further
		time.Sleep(lease.DefaultWindow)
		if _, err := l.Generator().Next(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("Next after %v: %v, want os.ErrClosed", horizon, err)
		}
		if connecting.Load() > 0 {
			t.Error("the lease goes on connecting after its end")
		}
		if n := calls.Load(); n != 2 {
			t.Errorf("the store was asked %d times, want 2", n)
		}
		if kinds := events.kinds(); !slices.Equal(kinds, []lease.EventKind{lease.Acquired, lease.Failed}) {
			t.Errorf("events: %v", kinds)
		}
		if err := l.Close(t.Context()); !errors.Is(err, os.ErrClosed) {
			t.Errorf("Close: %v, want os.ErrClosed", err)
		}
	})
}
