package leasetest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

// laterTests check what a later version of the module may do with the store while this one uses it.
var laterTests = []test{
	{promise: "a namespace of a later version refuses Acquire and Extend, which is no loss", run: func(f *fixture) {
		if f.settings.Require == nil {
			f.Skip("Settings.Require is nil")
		}
		f.release(f.take(0, 0).Claim) // a takeover is refused as a new worker is
		claim := f.take(1, 1).Claim
		f.extend(claim, 1000, long)
		f.settings.Require(f.TB, f.store, f.namespace)
		claim.Token, claim.Next = claim.Next, NewToken()
		for call, err := range map[string]error{
			"Acquire of a new worker":  f.acquireError(2),
			"Acquire of a free worker": f.acquireError(0),
			"Extend":                   f.extendError(claim),
			"Extend once more":         f.extendError(claim),
		} {
			var later *lease.VersionError
			if !errors.As(err, &later) || !unnamed(err) {
				f.Errorf("%s: error %v, want a *VersionError", call, err)
				continue
			}
			isRequired := later.Version == "2" || later.Version == "3"
			if later.Namespace != f.namespace || !isRequired {
				f.Errorf("%s: error %v, want the namespace %q and the version that is required", call, err, f.namespace)
			}
		}
	}},
	{promise: "a reserved worker is lent to nobody", run: func(f *fixture) {
		const workers, reserved = 8, 3
		r := f.request(reserved, reserved)
		r.TTL = 100 * 365 * 24 * time.Hour
		f.acquire(r)
		before := f.entry(reserved)
		for i := range int64(11*workers - 1) {
			grant := f.take(0, workers-1)
			if grant.Worker == reserved {
				f.Fatalf("acquisition %d got the reserved worker", i)
			}
			if i < 10*workers { // the others stay, so that all are held in the end
				f.extend(grant.Claim, i*tick/20, long) // up to above the tick: such workers come last
				f.release(grant.Claim)
			}
		}
		f.wantNone(0, workers-1)
		f.wantNone(reserved, reserved)
		f.wantEntry("acquisitions of others", before)
		if !before.Held {
			f.Errorf("List says that the reserved worker is free: %+v", before)
		}
	}},
	{promise: "a worker is reserved once, for a purpose, and only if it was never taken", run: func(f *fixture) {
		open := func() *lease.Lease {
			l, err := lease.Open(f.Context(), f.store, lease.WithNamespace(f.namespace), lease.WithVersion("v1"),
				lease.WithLogger(slog.New(slog.DiscardHandler)))
			if errors.Is(err, lease.ErrClockSkew) {
				f.Skip("does not apply: leases refuse a store whose clock is not theirs")
			} else if err != nil {
				f.Fatal(err)
			}
			f.Cleanup(func() { _ = l.Close(context.Background()) })
			return l
		}
		a, b, used := open(), open(), open()
		free := used.Generator().Worker()
		if err := used.Close(f.Context()); err != nil {
			f.Fatal(err)
		}
		before := f.entry(free)
		ended, cancel := context.WithCancel(f.Context())
		cancel()
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
			{a, free, "items", lease.ErrNoWorker},
			{a, 1024, "items", lease.ErrOption},
			{a, -1, "items", lease.ErrOption},
			{a, 1021, "", lease.ErrOption},
		} {
			err := call.by.Reserve(f.Context(), call.worker, call.purpose)
			isNamed := err == nil || strings.Contains(err.Error(), fmt.Sprintf("worker %d of ", call.worker))
			if !errors.Is(err, call.want) || !isNamed {
				f.Errorf("Reserve(%d, %.5q): error %v, want %v with the worker",
					call.worker, call.purpose, err, call.want)
			}
		}
		if err := a.Reserve(ended, 1021, "items"); !errors.Is(err, context.Canceled) {
			f.Errorf("Reserve with a context that has ended: %v", err)
		}
		if after := f.entry(free); after.Held || after.Horizon != before.Horizon {
			f.Errorf("a worker that was used before was %+v and is %+v", before, after)
		}
		reserved := map[int64]string{}
		for _, e := range f.list(f.namespace) {
			isForLong := e.Expires.IsZero() || time.Until(e.Expires) > 200*365*24*time.Hour
			if e.Reserved() && isForLong {
				reserved[e.Worker] = e.Holder.Host
			}
		}
		want := map[int64]string{1022: "reserved for lines", 1023: "reserved for orders"}
		if !maps.Equal(reserved, want) {
			f.Errorf("the workers %v are reserved, want %v", reserved, want)
		}
		if held, _, err := a.Workers(f.Context()); held != 4 || err != nil {
			f.Errorf("%d workers are not available, error %v, want 4", held, err)
		}
	}},
}

func (f *fixture) acquireError(worker int64) error {
	_, err := f.store.Acquire(f.Context(), f.request(worker, worker))
	return err
}

func (f *fixture) extendError(c leasestore.Claim) error {
	_, err := f.store.Extend(f.Context(), c, 2000, long)
	return err
}
