package leasetest

var releaseTests = []test{
	{promise: "the worker is free at once, and the next owner starts at the lowered horizon", run: func(f *fixture) {
		for _, step := range []struct{ from, to int64 }{
			{1000, 1000},
			{1000, 999},
			{tick + 1000, tick + 1},
			{1<<62 + 3, 1<<62 + 2},
			{2 * tick, tick},
			{tick, 0},
			{1000, -1 << 63},
		} {
			claim, want := f.take(7, 7).Claim, max(0, step.to)
			f.extend(claim, step.from, long)
			f.giveBack(claim, step.to)
			if got := f.entry(7); got.Horizon != want || got.Held {
				f.Errorf("from %d to %d: horizon %d, held: %t", step.from, step.to, got.Horizon, got.Held)
			}
			next := f.take(7, 7)
			if next.Horizon != want || next.Epoch != claim.Epoch+1 {
				f.Errorf("from %d to %d: the next one has horizon %d, epoch %d",
					step.from, step.to, next.Horizon, next.Epoch)
			}
			f.giveBack(next.Claim, 0)
		}
	}},
	{promise: "the horizon is never raised", run: func(f *fixture) {
		claim := f.take(7, 7).Claim
		for _, horizon := range []int64{0, 1000, tick + 1000} {
			f.extend(claim, horizon, long)
			for _, asked := range []int64{horizon, horizon + 1, horizon + tick, 1<<63 - 1} {
				f.giveBack(claim, asked)
				if got := f.entry(7).Horizon; got != horizon {
					f.Fatalf("horizon %d after a release of %d to %d", got, horizon, asked)
				}
			}
		}
		if grant := f.take(7, 7); grant.Horizon != tick+1000 {
			f.Errorf("horizon %d, want %d", grant.Horizon, tick+1000)
		}
	}},
	{promise: "an owner whose extension got no reply, or never came, releases, also repeatedly", run: func(f *fixture) {
		for _, arrived := range []bool{true, false} {
			claim := f.take(7, 7).Claim
			if arrived {
				f.extend(claim, 1000, long)
			}
			f.giveBack(claim, 500)
			before := f.entry(7)
			if before.Held || before.Horizon != 500 {
				f.Errorf("the extension arrived: %t; held: %t, horizon %d; want false, 500",
					arrived, before.Held, before.Horizon)
			}
			for range 3 { // the reply was lost
				f.giveBack(claim, 500)
				f.wantEntry("Release once more", before)
			}
		}
	}},
	{promise: "a later extension raises the horizon again", run: func(f *fixture) {
		claim := f.take(7, 7).Claim
		f.extend(claim, 1000, long)
		f.giveBack(claim, 500)
		for _, step := range []struct{ to, want int64 }{{400, 500}, {700, 700}} {
			f.extend(claim, step.to, long)
			if e := f.entry(7); !e.Held || e.Horizon != step.want {
				f.Errorf("extended to %d; held: %t, horizon %d; want true, %d", step.to, e.Held, e.Horizon, step.want)
			}
		}
		f.giveBack(claim, 500) // once more
		if grant := f.take(7, 7); grant.Horizon != 500 || grant.Epoch != 2 {
			f.Errorf("the next one has horizon %d, epoch %d; want 500, 2", grant.Horizon, grant.Epoch)
		}
	}},
	{promise: "it still succeeds after the expiry, before a takeover", expiry: true, run: func(f *fixture) {
		claim := f.take(7, 7).Claim
		f.extend(claim, 1000, brief)
		f.waitFree(7)
		f.giveBack(claim, 600)
		if grant := f.take(7, 7); grant.Horizon != 600 || grant.Epoch != 2 {
			f.Errorf("the next one has horizon %d, epoch %d; want 600, 2", grant.Horizon, grant.Epoch)
		}
	}},
}
