package lease_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

// must ends the test after an error that none of its promises is about.
func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// errOf returns the error of a call whose result does not matter.
func errOf[T any](_ T, err error) error { return err }

// wantErr checks that the error is of the kind and names the parts.
func wantErr(tb testing.TB, what string, err, kind error, parts ...string) {
	tb.Helper()
	isMissing := func(part string) bool { return err != nil && !strings.Contains(err.Error(), part) }
	if !errors.Is(err, kind) || slices.ContainsFunc(parts, isMissing) {
		tb.Errorf("%s: %v, want %v with %q", what, err, kind, parts)
	}
}

// wantTime checks how long something took.
func wantTime(tb testing.TB, what string, took, least, most time.Duration) {
	tb.Helper()
	if took < least || took > most {
		tb.Errorf("%s: %v, want %v to %v", what, took, least, most)
	}
}

// wantFree checks that the worker was given back.
func wantFree(tb testing.TB, store leasestore.Store, worker int64) {
	tb.Helper()
	if e := entry(tb, store, worker); e.Held {
		tb.Errorf("worker %d was not given back: %+v", worker, e)
	}
}

// openErr returns the error of Open, whose lease is closed.
func openErr(tb testing.TB, store leasestore.Store, more ...lease.Option) error {
	tb.Helper()
	l, err := lease.Open(tb.Context(), store, options(tb, more...)...)
	if err == nil {
		mustClose(tb, l)
	}
	return err
}

// four has four workers, and an epoch before the time of synctest bubbles.
func four(tb testing.TB) snowflake.Layout {
	tb.Helper()
	l, err := snowflake.ParseLayout("epoch=1999-01-01T00:00:00Z tick=1ms time:41 worker:2 sequence:12")
	must(tb, err)
	return l
}

func options(tb testing.TB, more ...lease.Option) []lease.Option {
	tb.Helper()
	return append([]lease.Option{
		lease.WithGenerator(snowflake.WithLayout(four(tb))), lease.WithLogger(slog.New(slog.DiscardHandler)),
	}, more...)
}

// mustOpen opens a lease that the test closes at its end, if not before.
func mustOpen(tb testing.TB, store leasestore.Store, more ...lease.Option) *lease.Lease {
	tb.Helper()
	l, err := lease.Open(tb.Context(), store, options(tb, more...)...)
	must(tb, err)
	tb.Cleanup(func() { mustClose(tb, l) })
	return l
}

// within returns a context that ends after d.
func within(tb testing.TB, d time.Duration) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), d)
	tb.Cleanup(cancel)
	return ctx
}

// mustClose closes without the test's context, which has ended in cleanups.
func mustClose(tb testing.TB, l *lease.Lease) {
	tb.Helper()
	if err := l.Close(context.Background()); err != nil {
		tb.Error(err)
	}
}

func mustNext(tb testing.TB, l *lease.Lease) snowflake.ID {
	tb.Helper()
	id, err := l.Generator().Next()
	must(tb, err)
	return id
}

func entry(tb testing.TB, store leasestore.Store, worker int64) leasestore.Entry {
	tb.Helper()
	entries, err := store.List(tb.Context(), lease.DefaultNamespace)
	must(tb, err)
	i := slices.IndexFunc(entries, func(e leasestore.Entry) bool { return e.Worker == worker })
	if i < 0 {
		tb.Fatalf("no row of worker %d among %v", worker, entries)
	}
	return entries[i]
}

func TestALeaseIsTakenExtendedAndGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFaulty(lease.NewMemory(time.Now))
		var events recorder
		l := mustOpen(t, store, lease.WithVersion("v1.2.3"), lease.WithObserver(events.hook))
		g := l.Generator()
		last := mustNext(t, l)
		for range 60 { // five minutes, for a window of ten seconds
			time.Sleep(5 * time.Second)
			id := mustNext(t, l)
			if id <= last || time.Since(g.Layout().Time(id)).Abs() > 20*time.Millisecond {
				t.Fatalf("%d after %d", id, last)
			}
			last = id
			if horizon := g.Layout().Start(entry(t, store, 0).Horizon); horizon.Before(time.Now()) || horizon.After(time.Now().Add(11*time.Second)) {
				t.Fatalf("at %v the horizon is %v", time.Now(), horizon)
			}
		}

		if n := store.count("extend"); n < 54 || n > 68 {
			t.Errorf("%d extensions in 60 halves of a window", n)
		}

		status := l.Status()
		if e := entry(t, store, 0); !e.Held || e.Epoch != 1 || e.Holder.Version != "v1.2.3" || e.Holder.PID == 0 ||
			!status.Held || status.Worker != 0 || status.Epoch != 1 {
			t.Errorf("%+v, status %+v", e, status)
		} else if at, ok := e.HorizonTime(); !ok || !at.Equal(status.Horizon) {
			t.Errorf("the horizon of the row is %v, %v, of the status %v", at, ok, status.Horizon)
		} else if at, ok := (leasestore.Entry{Layout: "another one", Horizon: 1}).HorizonTime(); ok || !at.IsZero() {
			t.Errorf("the horizon under an unknown layout is %v", at)
		}

		mustClose(t, l)
		mustClose(t, l) // no second release
		after := g.Layout().Time(last).Add(time.Millisecond)
		if e := entry(t, store, 0); e.Held || !g.Layout().Start(e.Horizon).Equal(after) || store.count("release") != 1 {
			t.Errorf("after Close: %+v, %d releases, the last ID is of the tick before %v", e, store.count("release"), after)
		}

		if got := l.Status(); got.Held || !got.Horizon.Equal(after) {
			t.Errorf("status after Close: %+v", got)
		}

		wantErr(t, "after Close", errOf(g.Next()), lease.ErrClosed)
		events.want(t, lease.Acquired, lease.Released)
	})
}

// The cause may name hosts, and may be a deadline that is not the caller's.
func TestAStallTellsItsCauseToTheServerOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := lease.NewMemory(time.Now)
		store := &altered{Store: memory}
		l := mustOpen(t, store)
		secret := fmt.Errorf("db-7.internal: %w", context.DeadlineExceeded)
		store.extend.set(func(context.Context, leasestore.Claim, int64, time.Duration) (time.Time, error) {
			return time.Time{}, secret
		})
		time.Sleep(2 * lease.DefaultWindow)

		_, err := l.Generator().Next()
		var stalled *snowflake.StalledError
		if !errors.As(err, &stalled) || !errors.Is(stalled.Cause, secret) || !errors.Is(err, snowflake.ErrLeaseStalled) {
			t.Errorf("%v, want a *StalledError with its cause", err)
		}
		if errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "db-7") {
			t.Errorf("the caller sees the cause: %v", err)
		}
		err = errOf(l.Generator().NextContext(within(t, time.Second)))
		wantErr(t, "with a deadline of the caller", err, context.DeadlineExceeded)

		store.extend.set(memory.Extend)
		mustNext(t, l)
		l.Lessee().Withdraw()
		if _, err := l.Generator().Next(); !errors.As(err, &stalled) || stalled.Cause != nil {
			t.Errorf("after an answer of the store: %v, caused by %v", err, stalled.Cause)
		}
	})
}

// The store does not answer for longer than the lease lasts, and lends the worker to another process.
func TestALostWorkerIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := lease.NewMemory(time.Now)
		store := newFaulty(memory)
		var events recorder
		l := mustOpen(t, store, lease.WithObserver(events.hook), lease.WithWorkers(0, 1))
		last := mustNext(t, l)
		thief := store.robbed(t)
		horizon := thief.Generator().Layout().Time(mustNext(t, thief))
		wantErr(t, "beyond the horizon", errOf(l.Generator().Next()), snowflake.ErrLeaseStalled)
		store.setDown(false)
		id, err := l.Generator().NextContext(t.Context())
		if err != nil || id <= last || l.Generator().Worker() != 1 || l.Status().Worker != 1 {
			t.Errorf("after the loss: %d, %v, worker %d", id, err, l.Generator().Worker())
		}

		if at := l.Generator().Layout().Time(last); !at.Before(horizon) {
			t.Errorf("the old owner issued at %v, the new one from %v on", at, horizon)
		}

		synctest.Wait() // the call above returns once there is a worker, which may be before the hook is called
		events.want(t, lease.Acquired, lease.Failed, lease.Lost, lease.Acquired)
		for _, e := range events.events {
			if has := e.Worker >= 0; has != (e.Epoch > 0) || e.Kind == lease.Lost && !has {
				t.Errorf("event %+v", e)
			}
		}
	})
}

func TestWithoutTheStoreItServesUntilTheHorizonAndRecovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFaulty(lease.NewMemory(time.Now))
		l := mustOpen(t, store, lease.WithPatience(time.Second))
		left := func(want time.Duration) {
			t.Helper()
			if got := l.Status().Left; got != want {
				t.Errorf("Left is %v, want %v", got, want)
			}
		}

		store.setDown(true)
		horizon := l.Status().Left
		if horizon < 10*time.Second || horizon > 10*time.Second+20*time.Millisecond {
			t.Errorf("at the start: %v, want the window and the lead", horizon)
		}

		for range 4 {
			mustNext(t, l)
			time.Sleep(time.Second)
		}

		left(horizon - 4*time.Second)
		time.Sleep(horizon - 4*time.Second - time.Millisecond)
		left(time.Millisecond)
		wantErr(t, "in the last tick", l.Ready(), nil)
		mustNext(t, l)
		time.Sleep(time.Millisecond)
		wantErr(t, "at the horizon", l.Ready(), snowflake.ErrLeaseStalled)
		start := time.Now()
		wantErr(t, "Next", errOf(l.Generator().Next()), snowflake.ErrLeaseStalled)
		wantTime(t, "the patience of Next", time.Since(start), time.Second, time.Second)
		left(-time.Second)
		if s := l.Status(); s.Failures == 0 || !s.Held {
			t.Errorf("%+v", s)
		}

		time.AfterFunc(30*time.Second, func() { store.setDown(false) })
		must(t, errOf(l.Generator().NextContext(within(t, time.Hour))))
		wantTime(t, "NextContext", time.Since(start), 30*time.Second, 45*time.Second)
		if s := l.Status(); s.Failures != 0 || s.Epoch != 1 || s.Left < time.Second {
			t.Errorf("%+v", s)
		}

		mustClose(t, l)
		left(0)
	})
}

// 300 ms of IDs at the greatest rate, six windows: the horizon rises with the clock, and calls that wait for it do not
// flood the store.
func TestABurstBeyondTheHorizonWaitsForTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFaulty(lease.NewMemory(time.Now))
		l := mustOpen(t, store, lease.WithWindow(50*time.Millisecond))
		start := time.Now()
		for range 20 {
			must(t, l.Generator().Fill(t.Context(), make([]snowflake.ID, 4096*15)))
		}
		if took, n := time.Since(start), store.count("extend"); took > 400*time.Millisecond || n > 80 {
			t.Errorf("it took %v and %d extensions", took, n)
		}
	})
}

func TestALeadLongerThanTheWindowDoesNotStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFaulty(lease.NewMemory(time.Now))
		l := mustOpen(t, store, lease.WithWindow(50*time.Millisecond), lease.WithGenerator(snowflake.WithLead(10*time.Second)))
		mustNext(t, l)
		start := time.Now()
		must(t, l.Generator().Fill(t.Context(), make([]snowflake.ID, 4096*9_000)))
		wantTime(t, "a burst within the lead", time.Since(start), 0, 0)
	})
}

func TestLostRepliesLoseNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := lease.NewMemory(time.Now)
		store := newFaulty(memory)
		store.loseNext("acquire", 2)
		store.loseNext("extend", 2)
		start := time.Now()
		l := mustOpen(t, store)
		if entries, err := memory.List(t.Context(), ""); err != nil || len(entries) != 1 || entries[0].Epoch != 1 {
			t.Errorf("%+v, %v: an acquisition was repeated", entries, err)
		}

		mustNext(t, l)
		// It does not wait for the horizon of its own extension.
		wantTime(t, "the wait for the first ID", time.Since(start), 0, 8*time.Second)
	})
}

// late is a store to which another process comes after List.
type late struct {
	altered
	blind bool
}

func (l *late) List(ctx context.Context, namespace string) ([]leasestore.Entry, error) {
	if l.blind {
		return nil, nil
	}
	return l.altered.List(ctx, namespace)
}

// Reserve may find that the worker was used after it has taken it. ErrNoWorker says that it has given it back.
func TestReserveGivesAUsedWorkerBackOrSaysThatItDidNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := lease.NewMemory(time.Now)
		store := &late{altered: altered{Store: memory}}
		l, used := mustOpen(t, store), mustOpen(t, store)
		worker := used.Generator().Worker()
		mustClose(t, used)
		ctx, cancel := context.WithCancel(t.Context())
		before := entry(t, memory, worker)
		wantErr(t, "a used worker", l.Reserve(ctx, worker, "orders"), lease.ErrNoWorker)
		if after := entry(t, memory, worker); after != before {
			t.Errorf("a used worker was %+v and is %+v", before, after)
		}

		isFree := func(what string, err error) {
			t.Helper()
			wantErr(t, what, err, lease.ErrNoWorker)
			wantFree(t, memory, worker)
		}

		store.blind = true
		store.granting(func(leasestore.Request, *leasestore.Grant) { cancel() })
		store.release.set(func(ctx context.Context, c leasestore.Claim, horizon int64) error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return store.Store.Release(ctx, c, horizon)
		})

		isFree("a context that ends after the acquisition", l.Reserve(ctx, worker, "orders"))
		store.release.set(func(context.Context, leasestore.Claim, int64) error { return errDown })
		if err := l.Reserve(t.Context(), worker, "orders"); !errors.Is(err, errDown) || errors.Is(err, lease.ErrNoWorker) {
			t.Errorf("a release that fails: %v, want that error alone", err)
		}

		store.release.set(store.Store.Release)
		isFree("once more", l.Reserve(t.Context(), worker, "orders"))
	})
}

func TestAWorkerIsReservedOnceForAPurposeAndOnlyIfItWasNeverTaken(t *testing.T) {
	store := lease.NewMemory(nil)
	wide := lease.WithGenerator(snowflake.WithLayout(snowflake.Default()))
	a, b, used := mustOpen(t, store, wide, lease.WithVersion("v1")), mustOpen(t, store, wide), mustOpen(t, store, wide)
	mustClose(t, used)
	before := entry(t, store, used.Generator().Worker())
	for _, call := range []struct {
		by      *lease.Lease
		worker  int64
		purpose string
		want    error
	}{
		{a, 1023, "orders", nil},
		{a, 1023, "orders", nil},
		{b, 1023, "orders", nil}, // as from another process
		{b, 1022, "lines", nil},
		{b, 1023, "items", lease.ErrNoWorker},
		{b, 1021, "orders", lease.ErrOption}, // which has another worker
		{a, a.Generator().Worker(), "items", lease.ErrNoWorker},
		{a, b.Generator().Worker(), "items", lease.ErrNoWorker},
		{a, before.Worker, "items", lease.ErrNoWorker},
		{a, 1024, "items", lease.ErrOption},
		{a, -1, "items", lease.ErrOption},
		{a, 1021, "", lease.ErrOption},
	} {
		err := call.by.Reserve(t.Context(), call.worker, call.purpose)
		isNamed := err == nil || strings.Contains(err.Error(), fmt.Sprintf("worker %d of ", call.worker))
		if !errors.Is(err, call.want) || !isNamed {
			t.Errorf("Reserve(%d, %q): error %v, want %v with the worker", call.worker, call.purpose, err, call.want)
		}
	}

	if after := entry(t, store, before.Worker); after.Held || after.Horizon != before.Horizon {
		t.Errorf("a worker that was used before was %+v and is %+v", before, after)
	}
	for worker, purpose := range map[int64]string{1023: "orders", 1022: "lines"} {
		if e := entry(t, store, worker); !e.Reserved() || e.Holder.ReservedFor() != purpose {
			t.Errorf("worker %d is %+v, want it reserved for %s", worker, e, purpose)
		}
	}
}

func TestANamespaceHasOneLayout(t *testing.T) {
	store := newFaulty(lease.NewMemory(nil))
	mustOpen(t, store)
	wide := lease.WithGenerator(snowflake.WithLayout(snowflake.MustPreset("wide")))
	wantErr(t, "Open with another layout", openErr(t, store, wide), lease.ErrLayout)
	if n := store.count("acquire"); n != 2 { // it has an answer, and need not ask again
		t.Errorf("two Opens have made %d calls of Acquire", n)
	}
	mustOpen(t, store, wide, lease.WithNamespace("orders"))
}

func TestALeaseWithALongWindowIsSoonBackAfterAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFaulty(lease.NewMemory(time.Now))
		l := mustOpen(t, store, lease.WithWindow(lease.MaxWindow))
		store.setDown(true)
		time.Sleep(3 * lease.MaxWindow) // far beyond the horizon
		store.setDown(false)
		start := time.Now()
		must(t, errOf(l.Generator().NextContext(t.Context())))
		wantTime(t, "from the store's return to the first ID", time.Since(start), 0, 3*time.Second)
	})
}

func TestAWorkerWithALongWindowIsSoonTakenWhenItIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := lease.NewMemory(time.Now)
		only := []lease.Option{lease.WithWindow(lease.MaxWindow), lease.WithWorkers(0, 0)}
		first := mustOpen(t, store, only...)
		var closed time.Time
		time.AfterFunc(time.Minute, func() {
			closed = time.Now()
			mustClose(t, first)
		})
		mustOpen(t, store, only...)
		wantTime(t, "from Close to the next owner", time.Since(closed), 0, lease.DefaultWindow)
	})
}
