package leasetest

import (
	"errors"
	"math"
	"slices"
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
			grant = f.wantGrant(int64(i)+2, horizon)
			f.wantRow(horizon, true)
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
		f.wantErr("Acquire with another layout", errOf(f.store.Acquire(f.Context(), r)), lease.ErrLayout)
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
			isNew := grant.Epoch == 1 && grant.Horizon == 0
			if !isAlone || !isNew {
				f.Errorf("%q has %+v and lent %+v, want one row with epoch 1 from horizon 0",
					r.Namespace, entries, grant)
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
	{promise: "a horizon above the tick comes last, after numbers that were never taken", run: func(f *fixture) {
		ahead, behind := f.take(0, 2).Claim, f.take(0, 2).Claim
		f.extend(ahead, tick+1, long)
		f.extend(behind, tick, long)
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

var extendTests = []test{
	{promise: "the horizon is raised, visible to all, and never lowered", run: func(f *fixture) {
		claim := f.take(7, 7).Claim
		highest := int64(0)
		for _, horizon := range []int64{1, 1000, 999, 0, -5, 1<<62 + 1, 1 << 62} {
			f.extend(claim, horizon, long)
			highest = max(highest, horizon)
			f.wantRow(highest, true)
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
		f.wantRow(2000, true)
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
		f.wantGrant(3, 2000)
		f.wantLost(before, "the owner before last")
		f.wantLost(after, "an owner that has released")
	}},
	{promise: "another token or epoch is ErrLost, as for Release, and changes nothing", run: func(f *fixture) {
		claim := f.takeOver(f.take(7, 7).Claim).Claim
		f.extend(claim, 1000, long)
		name, epoch, token, next := claim.Namespace, claim.Epoch, claim.Token, claim.Next
		other := NewToken()
		for what, wrong := range map[string]leasestore.Claim{
			"another token":                 {Namespace: name, Worker: 7, Epoch: epoch, Token: other, Next: NewToken()},
			"the epoch before":              {Namespace: name, Worker: 7, Epoch: epoch - 1, Token: token, Next: next},
			"the next epoch":                {Namespace: name, Worker: 7, Epoch: epoch + 1, Token: token, Next: next},
			"a worker that was never taken": {Namespace: name, Worker: 8, Epoch: epoch, Token: token, Next: next},
			"a new namespace":               {Namespace: name + "x", Worker: 7, Epoch: epoch, Token: token, Next: next},
			"no claim":                      {Next: NewToken()},
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
	named := []error{lease.ErrNoWorker, lease.ErrLost, lease.ErrLayout, lease.ErrOption}
	isNamed := slices.ContainsFunc(named, func(known error) bool { return errors.Is(err, known) })
	return err != nil && !isNamed
}

var releaseTests = []test{
	{promise: "the worker is free at once, and the next owner starts at the lowered horizon", run: func(f *fixture) {
		for _, step := range []struct{ from, to, want int64 }{
			{1000, 1000, 1000},
			{1000, 999, 999},
			{tick + 1000, tick + 1, tick + 1},
			{1<<62 + 3, 1<<62 + 2, 1<<62 + 2},
			{2 * tick, tick, tick},
			{tick, 0, 0},
			{1000, math.MinInt64, 0},
			{0, 1, 0}, // never raised
			{1000, 1001, 1000},
			{tick, math.MaxInt64, tick},
		} {
			claim := f.take(7, 7).Claim
			f.extend(claim, step.from, long)
			for range 3 { // the reply was lost
				f.giveBack(claim, step.to)
				f.wantRow(step.want, false)
			}
			f.giveBack(f.wantGrant(claim.Epoch+1, step.want).Claim, 0)
		}
	}},
	{promise: "an owner whose extension got no reply, or never came, releases, also repeatedly", run: func(f *fixture) {
		for _, arrived := range []bool{true, false} {
			claim := f.take(7, 7).Claim
			if arrived {
				f.extend(claim, 1000, long)
			}
			f.giveBack(claim, 500)
			before := f.list(f.namespace)
			f.giveBack(claim, 500)
			f.wantRows("Release once more", before)
			f.wantRow(500, false)
		}
	}},
	{promise: "a later extension raises the horizon again", run: func(f *fixture) {
		claim := f.take(7, 7).Claim
		f.extend(claim, 1000, long)
		f.giveBack(claim, 500)
		f.extend(claim, 400, long)
		f.wantRow(500, true)
		f.extend(claim, 700, long)
		f.wantRow(700, true)
		f.giveBack(claim, 500) // once more
		f.wantGrant(2, 500)
	}},
	{promise: "it still succeeds after the expiry, before a takeover", expiry: true, run: func(f *fixture) {
		claim := f.take(7, 7).Claim
		f.extend(claim, 1000, brief)
		f.waitFree(7)
		f.giveBack(claim, 600)
		f.wantGrant(2, 600)
	}},
}

var listTests = []test{
	{promise: "each row shows all but the token, in the order of the workers", run: func(f *fixture) {
		r := f.request(9, 9)
		r.Holder = leasestore.Holder{Host: "ä.example.com", PID: 1, Version: ""}
		f.acquire(r)
		claim := f.take(2, 2).Claim
		f.extend(claim, 1000, long)
		f.free(claim)
		f.free(f.take(3, 3).Claim)
		last := f.request(3, 3)
		last.Holder = leasestore.Holder{Host: "b", PID: 2, Version: "v3"} // not of the owner before
		f.extend(f.acquire(last).Claim, 2000, long)
		want := []leasestore.Entry{
			{Claim: leasestore.Claim{Worker: 2, Epoch: 1}, Horizon: 1000, Held: false, Holder: holder},
			{Claim: leasestore.Claim{Worker: 3, Epoch: 2}, Horizon: 2000, Held: true, Holder: last.Holder},
			{Claim: leasestore.Claim{Worker: 9, Epoch: 1}, Horizon: 0, Held: true, Holder: r.Holder},
		}
		got := f.list(f.namespace)
		if len(got) != len(want) {
			f.Fatalf("%d rows, want %d: %+v", len(got), len(want), got)
		}
		for i := range want {
			want[i].Namespace, want[i].Layout, want[i].Expires = f.namespace, layout, got[i].Expires
			if got[i] != want[i] {
				f.Errorf("row %d is\n%+v\nwant\n%+v", i, got[i], want[i])
			}
			if got[i].Expires.IsZero() != f.settings.NoExpiry {
				f.Errorf("row %d expires at %v", i, got[i].Expires)
			}
		}
	}},
	{promise: "a long host or version is no error", run: func(f *fixture) {
		r := f.request(7, 7)
		for len(r.Holder.Host) < 5000 {
			r.Holder.Host += "äöü."
		}
		r.Holder.Version = r.Holder.Host[1:] + "\xff\x00" // it may be any bytes
		f.acquire(r)
		f.list(f.namespace)
	}},
	{promise: "no namespace means all of them, one after another", run: func(f *fixture) {
		if entries := f.list(f.namespace); len(entries) != 0 {
			f.Errorf("a namespace that was never used has %+v", entries)
		}
		first, second := f.namespace, f.namespace+"-2"
		for _, namespace := range []string{second, first, second, first} {
			f.namespace = namespace
			f.take(0, 9)
		}
		var groups []string
		workers := map[string][]int64{}
		for _, e := range f.list("") {
			groups = append(groups, e.Namespace)
			workers[e.Namespace] = append(workers[e.Namespace], e.Worker)
			if e.Token != "" || e.Next != "" {
				f.Errorf("a token of worker %d in %q is shown", e.Worker, e.Namespace)
			}
		}

		if groups = slices.Compact(groups); len(groups) != len(workers) {
			f.Errorf("the rows of a namespace are not together: %q", groups)
		}
		if len(workers[first]) != 2 || len(workers[second]) != 2 {
			f.Errorf("the workers are %v of the first namespace and %v of the second, want two each",
				workers[first], workers[second])
		}
		for namespace, found := range workers {
			if !slices.IsSorted(found) {
				f.Errorf("the workers of %q are %v, want them in order", namespace, found)
			}
		}
	}},
}
