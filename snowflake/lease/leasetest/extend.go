package leasetest

import (
	"errors"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

var extendTests = []test{
	{promise: "the horizon is raised, visible to all, and never lowered", run: func(f *fixture) {
		claim := f.take(7, 7).Claim
		highest := int64(0)
		for _, horizon := range []int64{1, 1000, 999, 0, -5, 1<<62 + 1, 1 << 62} {
			f.extend(claim, horizon, long)
			highest = max(highest, horizon)
			f.wantRow(7, highest, true)
		}
	}},
	{promise: "the same extension many times in a row is never lost", run: func(f *fixture) {
		// A database may report that nothing was changed if even the millisecond is the same.
		claim := f.take(7, 7).Claim
		for range 40 {
			f.extend(claim, 1000, long)
		}
	}},
	{promise: "the expiry is ttl from now by the store's clock, as in Acquire", expiry: true, run: func(f *fixture) {
		grant := f.take(7, 7)
		claim, ttl, now := grant.Claim, long, grant.Now
		for _, next := range []time.Duration{3 * long, long, brief} {
			if now.IsZero() != grant.Now.IsZero() {
				f.Errorf("Acquire returned the time %v and Extend %v, want both or none", grant.Now, now)
			}
			if now.IsZero() {
				now = time.Now()
			}
			if got := f.entry(7).Expires.Sub(now); (got - ttl).Abs() > long/2 {
				f.Errorf("the worker expires after %v, want about %v", got, ttl)
			}
			now, ttl = f.extend(claim, 0, next), next
		}
		f.waitFree(7)
		f.take(7, 7)
	}},
	{promise: "it still succeeds after the expiry, before a takeover", expiry: true, run: func(f *fixture) {
		claim := f.take(7, 7).Claim
		f.extend(claim, 1000, brief)
		f.waitFree(7)
		f.extend(claim, 2000, long)
		f.wantRow(7, 2000, true)
		f.wantNone(7, 7)
	}},
	{promise: "after a takeover it is always ErrLost, as Release is, and changes nothing", run: func(f *fixture) {
		before := f.take(7, 7).Claim
		f.extend(before, 1000, long)
		after := f.takeOver(before).Claim
		f.wantLost(before, "the owner before")
		f.wantNone(7, 7)
		f.extend(after, 2000, long)
		f.release(after)
		f.wantLost(before, "the owner before, while the worker is free")
		f.wantGrant(7, 3, 2000)
		f.wantLost(before, "the owner before last")
		f.wantLost(after, "an owner that has released")
	}},
	{promise: "another token or epoch is ErrLost, as for Release, and changes nothing", run: func(f *fixture) {
		claim := f.takeOver(f.take(7, 7).Claim).Claim
		f.extend(claim, 1000, long)
		name, epoch, token, other := claim.Namespace, claim.Epoch, claim.Token, NewToken()
		for what, wrong := range map[string]leasestore.Claim{
			"another token":                   {Namespace: name, Worker: 7, Epoch: epoch, Token: other, Next: NewToken()},
			"the epoch before":                {Namespace: name, Worker: 7, Epoch: epoch - 1, Token: token, Next: claim.Next},
			"the next epoch":                  {Namespace: name, Worker: 7, Epoch: epoch + 1, Token: token, Next: claim.Next},
			"a worker that was never taken":   {Namespace: name, Worker: 8, Epoch: epoch, Token: token, Next: claim.Next},
			"a namespace that was never used": {Namespace: name + "x", Worker: 7, Epoch: epoch, Token: token, Next: claim.Next},
			"no claim":                        {Next: other},
		} {
			f.wantLost(wrong, what)
		}
		f.extend(claim, 1000, long)
	}},
	{promise: "the next token takes the place of the token, which is ErrLost from then on", run: func(f *fixture) {
		claim := f.take(7, 7).Claim
		for round := range 3 {
			copied := claim
			copied.Next = NewToken()
			f.extend(claim, 1000, long)
			f.wantLost(copied, "a copy of the claim")
			if f.Failed() {
				f.Fatalf("in extension %d", round+1)
			}
			claim.Token, claim.Next = claim.Next, NewToken()
		}
		f.release(claim)
	}},
	{promise: "other workers keep their horizon and expiry, also after a Release", run: func(f *fixture) {
		first, second := f.take(0, 1).Claim, f.take(0, 1).Claim
		f.extend(second, 500, long)
		before := f.entry(second.Worker)
		f.extend(first, 1000, 3*long)
		f.giveBack(first, 10)
		if after := f.entry(second.Worker); !sameEntry(before, after) {
			f.Errorf("the row of another worker was\n%+v\nand is now\n%+v", before, after)
		}
	}},
}

// unnamed reports whether the error is none of those that the interface names, so that the caller must ask again.
func unnamed(err error) bool {
	return err != nil && !errors.Is(err, lease.ErrNoWorker) && !errors.Is(err, lease.ErrLost) &&
		!errors.Is(err, lease.ErrLayout) && !errors.Is(err, lease.ErrOption)
}
