package leasetest

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

var inputTests = []test{
	{promise: "bad requests are ErrOption and change nothing", run: func(f *fixture) {
		// Request.Validate finds them, and ValidateExtension: one of each method shows that it is called.
		r := f.request(0, 9)
		r.Token = r.Token[1:]
		f.wantErr("Acquire with a short token", errOf(f.store.Acquire(f.Context(), r)), lease.ErrOption)
		f.wantRows("Acquire with a short token", nil)

		claim := f.take(0, 9).Claim
		before := f.list(f.namespace)
		f.wantErr("Extend without a TTL", errOf(f.store.Extend(f.Context(), claim, 1000, 0)), lease.ErrOption)
		claim.Next = claim.Next[1:]
		f.wantErr("Extend with a short token", errOf(f.store.Extend(f.Context(), claim, 1000, long)), lease.ErrOption)
		f.wantRows("bad extensions", before)
	}},
	{promise: "values at the limits are accepted", run: func(f *fixture) {
		f.namespace += strings.Repeat("ä", (100-len(f.namespace))/2)
		r := f.request(1<<62, 1<<63-1)
		r.TTL = time.Millisecond
		r.Tick = -1 << 63 // a clock before the epoch
		r.Layout = strings.Repeat("x", 1000)
		f.acquire(r)
		r.First, r.Last, r.Token, r.TTL = 1<<63-1, 1<<63-1, NewToken(), 100*365*24*time.Hour
		f.extend(f.acquire(r).Claim, 1<<63-1, r.TTL)
		r.Token = NewToken()
		f.wantErr("Acquire of a held worker", errOf(f.store.Acquire(f.Context(), r)), lease.ErrNoWorker)
	}},
	{promise: "a cancelled context is returned", run: func(f *fixture) {
		claim := f.take(0, 9).Claim
		ctx, cancel := context.WithCancel(f.Context())
		cancel()
		for call, err := range map[string]error{
			"Acquire": errOf(f.store.Acquire(ctx, f.request(0, 9))),
			"Extend":  errOf(f.store.Extend(ctx, claim, 1000, long)),
			"Release": f.store.Release(ctx, claim, 0),
			"List":    errOf(f.store.List(ctx, f.namespace)),
		} {
			if !errors.Is(err, context.Canceled) || errors.Is(err, lease.ErrLost) {
				f.Errorf("%s: error %v, want context.Canceled", call, err)
			}
		}

		f.extend(claim, 1000, long) // nothing was lost by it
	}},
}

// laterTests check what a later version of the module may do with the store while this one uses it.
var laterTests = []test{
	{promise: "a namespace of a later version refuses Acquire and Extend, which is no loss", run: func(f *fixture) {
		if f.settings.Require == nil {
			f.Skip("Settings.Require is nil: it is not tested that calls of a namespace of a later version are refused")
		}
		f.release(f.take(0, 0).Claim) // a takeover is refused as a new worker is
		claim := f.take(1, 1).Claim
		f.extend(claim, 1000, long)
		f.settings.Require(f.TB, f.store, f.namespace)
		claim.Token, claim.Next = claim.Next, NewToken()
		for call, err := range map[string]error{
			"Acquire of a new worker":  errOf(f.store.Acquire(f.Context(), f.request(2, 2))),
			"Acquire of a free worker": errOf(f.store.Acquire(f.Context(), f.request(0, 0))),
			"Extend":                   errOf(f.store.Extend(f.Context(), claim, 2000, long)),
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
		r.TTL, r.Holder = 250*365*24*time.Hour, leasestore.ReservedHolder("orders")
		now := cmp.Or(f.acquire(r).Now, time.Now())
		before := f.entry(reserved)
		isForLong := before.Expires.IsZero() || before.Expires.Sub(now) > 200*365*24*time.Hour
		if !before.Reserved() || !isForLong {
			f.Errorf("List says %+v of the reserved worker", before)
		}

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
		if after := f.entry(reserved); !sameEntry(before, after) {
			f.Errorf("the row was\n%+v\nand is now\n%+v", before, after)
		}
		if again := f.acquire(r); again.Epoch != 1 {
			f.Errorf("the purpose finds %+v, want its own worker", again)
		}
	}},
}
