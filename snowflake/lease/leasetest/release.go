package leasetest

import "math"

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
				f.wantRow(7, step.want, false)
			}
			f.giveBack(f.wantGrant(7, claim.Epoch+1, step.want).Claim, 0)
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
			f.wantRow(7, 500, false)
		}
	}},
	{promise: "a later extension raises the horizon again", run: func(f *fixture) {
		claim := f.take(7, 7).Claim
		f.extend(claim, 1000, long)
		f.giveBack(claim, 500)
		f.extend(claim, 400, long)
		f.wantRow(7, 500, true)
		f.extend(claim, 700, long)
		f.wantRow(7, 700, true)
		f.giveBack(claim, 500) // once more
		f.wantGrant(7, 2, 500)
	}},
	{promise: "it still succeeds after the expiry, before a takeover", expiry: true, run: func(f *fixture) {
		claim := f.take(7, 7).Claim
		f.extend(claim, 1000, brief)
		f.waitFree(7)
		f.giveBack(claim, 600)
		f.wantGrant(7, 2, 600)
	}},
}
