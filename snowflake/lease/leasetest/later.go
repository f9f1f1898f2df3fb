package leasetest

import (
	"cmp"
	"errors"
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

func (f *fixture) acquireError(worker int64) error {
	_, err := f.store.Acquire(f.Context(), f.request(worker, worker))
	return err
}

func (f *fixture) extendError(c leasestore.Claim) error {
	_, err := f.store.Extend(f.Context(), c, 2000, long)
	return err
}
