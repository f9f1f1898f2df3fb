package leasetest

import (
	"errors"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

var acquireTests = []test{
	{promise: "a takeover raises the epoch by one and starts at the earlier owner's horizon", run: func(f *fixture) {
		// Below the tick and above it, with digits that no float32 holds.
		grant := f.take(7, 7)
		for i, horizon := range []int64{tick - 100, tick + 1000, 1<<53 + 1} {
			f.extend(grant.Claim, horizon, long)
			f.free(grant.Claim)
			grant = f.wantGrant(7, int64(i)+2, horizon)
			f.wantRow(7, horizon, true)
		}
	}},
	{promise: "a held worker is lent to nobody else", run: func(f *fixture) {
		grant := f.take(7, 7)
		f.wantNone(7, 7)
		f.extend(grant.Claim, 1, long) // is the owner still
		f.wantNone(7, 7)
	}},
	{promise: "if all are held it is a NoWorkerError with the wait until the first expiry", run: func(f *fixture) {
		for _, ttl := range []time.Duration{3 * long, long, 2 * long} {
			r := f.request(4, 6)
			r.TTL = ttl
			f.acquire(r)
		}
		none := f.wantNone(4, 6)
		if !f.settings.NoExpiry && (none.Wait-long).Abs() > long/2 {
			f.Errorf("the wait is %v, want about %v", none.Wait, long)
		}

		none.Wait = 0
		if want := (lease.NoWorkerError{Namespace: f.namespace, First: 4, Last: 6}); none != want {
			f.Errorf("the error is %+v, want %+v", none, want)
		}
	}},
	{promise: "the same token returns the same grant: the reply was lost", run: func(f *fixture) {
		r := f.request(4, 9)
		before := f.take(4, 9)
		f.extend(before.Claim, 77, long)
		f.giveBack(before.Claim, 77)
		first := f.acquire(r)
		f.take(4, 9) // another one is no obstacle
		again := f.acquire(r)
		again.Next = first.Next
		if again.Claim != first.Claim || again.Horizon != 77 {
			f.Errorf("the claims are %+v and %+v, the horizon is %d, want one claim and 77",
				first.Claim, again.Claim, again.Horizon)
		}
		if n := len(f.list(f.namespace)); n != 2 {
			f.Errorf("%d workers were taken by two tokens", n)
		}
		f.extend(again.Claim, 78, long)
	}},
	{promise: "the token of an expired row is not returned", run: func(f *fixture) {
		r := f.request(7, 7)
		first := f.acquire(r)
		first.Next = first.Token // which the row keeps
		f.free(first.Claim)
		second := f.acquire(r)
		second.Next = second.Token
		if second.Epoch != first.Epoch+1 {
			f.Errorf("epoch %d after %d, want the next", second.Epoch, first.Epoch)
		}
		// The token is the same, but not the owner: it forgot what it had.
		f.wantLost(first.Claim, "the token of now and the epoch of then")
		f.free(second.Claim)
		r.First, r.Last = 8, 9
		if third := f.acquire(r); third.Worker != 8 || third.Epoch != 1 {
			f.Errorf("worker %d, epoch %d, want 8, 1: those asked for come first", third.Worker, third.Epoch)
		}
	}},
	{promise: "another layout is refused without a change", run: func(f *fixture) {
		f.release(f.take(0, 9).Claim) // the first use counts, not who holds what
		before := f.list(f.namespace)
		r := f.request(0, 9)
		r.Layout += "+"
		if _, err := f.store.Acquire(f.Context(), r); !errors.Is(err, lease.ErrLayout) {
			f.Errorf("error %v, want ErrLayout", err)
		}
		f.wantRows("Acquire with another layout", before)
		f.take(0, 9) // the right one still is
	}},
	{promise: "namespaces do not see each other", run: func(f *fixture) {
		r := f.request(0, 0)
		name := r.Namespace
		// Collations take some of these for one, and LIKE others.
		for _, variant := range []string{"", "A", "a", "a ", " a", "%", "_", "ä", "/", "../x"} {
			r.Namespace = name + variant
			r.Layout = layout + variant
			grant := f.acquire(r) // the token too is another's in another namespace
			f.extend(grant.Claim, 1000, long)
			entries := f.list(r.Namespace)
			isAlone := len(entries) == 1 && entries[0].Namespace == r.Namespace
			if !isAlone || grant.Epoch != 1 || grant.Horizon != 0 {
				f.Errorf("%q has %+v and lent %+v, want one row with epoch 1, from horizon 0", r.Namespace, entries, grant)
			}
		}
	}},
}

// orderTests check which worker Acquire takes.
var orderTests = []test{
	{promise: "numbers that were never taken come lowest first", run: func(f *fixture) {
		f.take(5, 5) // leaves a gap
		for _, want := range []int64{3, 4, 6} {
			f.wantWorker(3, 6, want)
		}
		f.wantNone(3, 6)
	}},
	{promise: "the worker that has been free for the longest time comes first", run: func(f *fixture) {
		var claims [4]leasestore.Claim
		for i := range claims {
			claims[i] = f.take(0, 3).Claim
		}
		order := []int64{2, 0, 3, 1}
		for _, worker := range order {
			f.release(claims[worker])
			time.Sleep(pause)
		}
		for _, want := range order {
			f.wantWorker(0, 3, want)
		}
	}},
	{promise: "how long a worker has been free counts from its expiry", expiry: true, run: func(f *fixture) {
		first, second := f.take(0, 1).Claim, f.take(0, 1).Claim
		f.extend(second, 0, brief)
		f.waitFree(second.Worker)
		time.Sleep(pause)
		f.extend(first, 0, brief)
		f.waitFree(first.Worker)
		f.wantWorker(0, 1, second.Worker)
		f.wantWorker(0, 1, first.Worker)
	}},
	{promise: "numbers never taken come after free ones with a horizon up to the tick", run: func(f *fixture) {
		f.take(0, 3)
		claim := f.wantWorker(0, 3, 1).Claim
		f.extend(claim, tick, long)
		f.free(claim)
		f.wantWorker(0, 3, 1)
		f.wantWorker(0, 3, 2)
	}},
	{promise: "a horizon above the tick comes last, after numbers that were never taken", run: func(f *fixture) {
		ahead, behind := f.take(0, 2).Claim, f.take(0, 2).Claim
		f.extend(ahead, tick+1, long)
		f.extend(behind, tick-1000, long)
		f.release(ahead)
		time.Sleep(pause)
		f.release(behind)
		f.wantWorker(0, 2, behind.Worker)
		f.wantWorker(0, 2, 2)
		f.wantWorker(0, 2, ahead.Worker)
	}},
	{promise: "only workers from First to Last are taken", run: func(f *fixture) {
		for worker := range int64(5) {
			f.release(f.take(worker, worker).Claim)
		}
		for _, first := range []int64{2, 8} { // taken before, and never
			f.wantWorker(first, first+1, first)
			f.wantWorker(first, first+1, first+1)
			f.wantNone(first, first+1)
		}
	}},
}
