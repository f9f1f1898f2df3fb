package lease_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/internal/attempt"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
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

		ctx := within(t, time.Minute)
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
	})
}

func TestOpenGivesUpOnAStoreThatDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFaulty(lease.NewMemory(time.Now))
		store.setDown(true)
		for _, window := range []time.Duration{lease.DefaultWindow, lease.MaxWindow} {
			start := time.Now()
			wantErr(t, "Open", openErr(t, store, lease.WithWindow(window)), errDown)
			wantTime(t, "Open", time.Since(start), lease.DefaultWindow, 15*time.Second)
		}
		err := errOf(lease.Open(within(t, time.Second), store, options(t)...))
		wantErr(t, "Open with a deadline", err, context.DeadlineExceeded, errDown.Error())
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
		wantErr(t, "Open", err, lease.ErrOption)
		wantTime(t, "Open", time.Since(start), 0, 0)
		events.want(t) // of a lease that never began
		wantFree(t, store, 0)
	})
}

func TestOpenSaysWhatItWaitedForIfItsContextEndsDuringACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := lease.NewMemory(time.Now)
		mustOpen(t, store, lease.WithWorkers(0, 0))
		ctx := within(t, 11*time.Second) // the second call comes after ten
		hanging, calls := &altered{Store: store}, 0
		hanging.acquire.set(func(ctx context.Context, r leasestore.Request) (leasestore.Grant, error) {
			if calls++; calls == 2 {
				<-ctx.Done()
				return leasestore.Grant{}, ctx.Err()
			}
			return store.Acquire(ctx, r)
		})

		err := errOf(lease.Open(ctx, hanging, options(t, lease.WithWorkers(0, 0))...))
		wantErr(t, "Open", err, context.DeadlineExceeded)
		wantErr(t, "Open", err, lease.ErrNoWorker)
	})
}

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
		ctx := within(t, time.Second)
		start := time.Now()
		wantErr(t, "Close", l.Close(ctx), context.DeadlineExceeded)
		wantTime(t, "Close", time.Since(start), time.Second, time.Second)
		wantErr(t, "Next", errOf(l.Generator().Next()), lease.ErrClosed)
		close(block)
		wantErr(t, "the other Close", <-patient, nil)
		mustClose(t, l)
		wantFree(t, memory, 0)
	})
}

func TestCloseGivesBackAWorkerThatIsNotInUseYet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := lease.NewMemory(time.Now)
		store := newFaulty(memory)
		slow := &altered{Store: store}
		l := mustOpen(t, slow, lease.WithWorkers(0, 1))
		store.robbed(t)
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
		ctx := within(t, time.Second)
		err := errOf(lease.Open(ctx, store, options(t, lease.WithWorkers(0, 0))...))
		wantErr(t, "Open", err, context.DeadlineExceeded)
		if e := entry(t, memory, 0); e.Held || e.Epoch != 2 || e.Horizon != before.Horizon {
			t.Errorf("after Open: %+v, before it %+v", e, before)
		}

		l := mustOpen(t, store, lease.WithWorkers(0, 1))
		faulty.robbed(t)
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
			wantErr(t, "Close", l.Close(ended), context.DeadlineExceeded, "lease: release worker 0")
			wantTime(t, "Close", time.Since(start), time.Second, time.Second)
		}

		close(block)
		for range 2 {
			wantErr(t, "Close when the store answers", l.Close(ended), nil)
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
		must(t, l.Close(&endsMeanwhile{Context: ended}))
	}
}

func TestCloseAfterALostReplyAndATakeoverIsNoError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := lease.NewMemory(time.Now)
		store := newFaulty(memory)
		l := mustOpen(t, store, lease.WithWorkers(0, 0))
		store.loseNext("release", 1)
		wantErr(t, "the first Close", l.Close(t.Context()), errLostReply)
		mustOpen(t, memory, lease.WithWorkers(0, 0))
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
		time.Sleep(lease.DefaultWindow * 3 / 4)
		mustNext(t, l) // up to the horizon, and no further
		time.Sleep(lease.DefaultWindow)
		wantErr(t, "Next after the horizon", errOf(l.Generator().Next()), os.ErrClosed)
		if connecting.Load() > 0 {
			t.Error("the lease goes on connecting after its end")
		}

		if n := calls.Load(); n != 2 {
			t.Errorf("the store was asked %d times, want 2", n)
		}

		events.want(t, lease.Acquired, lease.Failed)
		wantErr(t, "Close", l.Close(t.Context()), os.ErrClosed)
		store.release.Store(nil) // so that the worker can be given back at the end
	})
}

func TestBadSettingsAreRefusedWithTheValueAndTheLimit(t *testing.T) {
	store := lease.NewMemory(nil)
	for _, test := range []struct {
		name  string
		store leasestore.Store
		opt   lease.Option
		is    error
		want  string
	}{
		{"no store", nil, lease.WithStopOnLoss(), lease.ErrOption, "nil Store"},
		{"no option", store, nil, lease.ErrOption, "nil Option"},
		{"no namespace", store, lease.WithNamespace(""), lease.ErrOption, "has 0 bytes, want 1 to 100"},
		{"long namespace", store, lease.WithNamespace(strings.Repeat("n", 101)), lease.ErrOption, "has 101 bytes, want 1 to 100"},
		{"short window", store, lease.WithWindow(time.Millisecond), lease.ErrOption, "window 1ms out of range [10ms, 10m0s]"},
		{"long window", store, lease.WithWindow(time.Hour), lease.ErrOption, "window 1h0m0s out of range [10ms, 10m0s]"},
		{"no skew", store, lease.WithMaxSkew(0), lease.ErrOption, "skew 0s out of range (0, 8760h0m0s]"},
		{"negative patience", store, lease.WithPatience(-1), lease.ErrOption, "patience -1ns is negative"},
		{"no logger", store, lease.WithLogger(nil), lease.ErrOption, "nil Logger"},
		{"workers above the layout's", store, lease.WithWorkers(0, 4), lease.ErrOption, "workers 0 to 4, the layout has 0 to 3"},
		{"workers below 0", store, lease.WithWorkers(-1, 2), lease.ErrOption, "workers -1 to 2, the layout has 0 to 3"},
		{"no workers", store, lease.WithWorkers(3, 2), lease.ErrOption, "workers 3 to 2, the layout has 0 to 3"},
		{"a bad option of the generator", store, lease.WithGenerator(snowflake.WithLead(-1)), snowflake.ErrOption, "lead -1ns"},
		{"no observer", store, lease.WithObserver(nil), lease.ErrOption, "nil observer"},
		{"no option of the generator", store, lease.WithGenerator(nil), lease.ErrOption, "nil Option"},
		{"no clock", store, lease.WithClock(nil), lease.ErrOption, "nil Clock"},
	} {
		t.Run(test.name, func(t *testing.T) {
			wantErr(t, "Open", openErr(t, test.store, test.opt), test.is, test.want)
		})
	}

	if entries, err := store.List(t.Context(), ""); len(entries) != 0 || err != nil {
		t.Errorf("a lease that was refused left %v, %v", entries, err)
	}
}

func TestBadRequestsAndExtensionsAreErrOption(t *testing.T) {
	for what, spoil := range map[string]func(r *leasestore.Request){
		"nothing":                func(*leasestore.Request) {},
		"an empty namespace":     func(r *leasestore.Request) { r.Namespace = "" },
		"a namespace too long":   func(r *leasestore.Request) { r.Namespace = strings.Repeat("x", 101) },
		"a zero byte":            func(r *leasestore.Request) { r.Namespace = "a\x00" },
		"another encoding":       func(r *leasestore.Request) { r.Namespace = "\xff" },
		"a layout too long":      func(r *leasestore.Request) { r.Layout = strings.Repeat("x", 1001) },
		"a negative worker":      func(r *leasestore.Request) { r.First = -1 },
		"Last below First":       func(r *leasestore.Request) { r.First, r.Last = 5, 4 },
		"no TTL":                 func(r *leasestore.Request) { r.TTL = 0 },
		"a TTL below 1 ms":       func(r *leasestore.Request) { r.TTL = time.Millisecond - 1 },
		"a negative TTL":         func(r *leasestore.Request) { r.TTL = -time.Hour },
		"a negative reach":       func(r *leasestore.Request) { r.Reach = -1 },
		"an empty token":         func(r *leasestore.Request) { r.Token = "" },
		"a short token":          func(r *leasestore.Request) { r.Token = r.Token[1:] },
		"a token of other signs": func(r *leasestore.Request) { r.Token = r.Token[1:] + "G" },
	} {
		r := leasestore.Request{Namespace: "n", Last: 9, Token: leasetest.NewToken(), TTL: time.Second}
		spoil(&r)
		if err := r.Validate(); errors.Is(err, leasestore.ErrOption) != (what != "nothing") {
			t.Errorf("a request with %s: %v", what, err)
		}

		claim := leasestore.Claim{Next: r.Token}
		isBad := strings.Contains(what, "token") || strings.Contains(what, "TTL")
		if err := leasestore.ValidateExtension(claim, r.TTL); errors.Is(err, leasestore.ErrOption) != isBad {
			t.Errorf("an extension with %s: %v", what, err)
		}
	}
}
