package leasetest

import (
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

var orderTests = []test{
	{promise: "numbers that were never taken come lowest first", run: func(f *fixture) {
		f.take(5, 5) // leaves a gap
		for _, want := range []int64{3, 4, 6} {
			f.wantWorker(3, 6, want)
		}
		f.wantNone(3, 6)
	}},
	{promise: "the longest free comes first", run: func(f *fixture) {
		var claims [4]lease.Claim
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
	{promise: "the expiry says since when a worker is free, whoever was taken first", expiry: true, run: func(f *fixture) {
		first, second := f.take(0, 1).Claim, f.take(0, 1).Claim
		f.extend(second, 0, f.settings.TTL)
		f.waitFree(second.Worker)
		time.Sleep(pause)
		f.extend(first, 0, f.settings.TTL)
		f.waitFree(first.Worker)
		f.wantWorker(0, 1, second.Worker)
		f.wantWorker(0, 1, first.Worker)
	}},
	{promise: "never taken numbers come after free ones", run: func(f *fixture) {
		f.take(0, 3)
		f.free(f.wantWorker(0, 3, 1).Claim)
		f.wantWorker(0, 3, 1)
		f.wantWorker(0, 3, 2)
	}},
	{promise: "never taken numbers come before a horizon above the tick", run: func(f *fixture) {
		claim := f.take(0, 1).Claim
		f.extend(claim, tick+1, long)
		f.free(claim)
		f.wantWorker(0, 1, 1)
		if grant := f.wantWorker(0, 1, 0); grant.Horizon != tick+1 {
			f.Errorf("horizon %d, want %d", grant.Horizon, tick+1)
		}
	}},
	{promise: "a horizon at the tick is not above it", run: func(f *fixture) {
		claim := f.take(0, 1).Claim
		f.extend(claim, tick, long)
		f.free(claim)
		f.wantWorker(0, 1, 0)
	}},
	{promise: "a horizon above the tick comes last, however long it has been free", run: func(f *fixture) {
		ahead, behind := f.take(0, 1).Claim, f.take(0, 1).Claim
		f.extend(ahead, tick+1000, long)
		f.extend(behind, tick-1000, long)
		f.release(ahead)
		time.Sleep(pause)
		f.release(behind)
		f.wantWorker(0, 1, behind.Worker)
		f.wantWorker(0, 1, ahead.Worker)
	}},
	{promise: "only workers from First to Last are taken", run: func(f *fixture) {
		var claims [5]lease.Claim
		for i := range claims {
			claims[i] = f.take(0, 4).Claim
		}
		for _, claim := range claims {
			f.release(claim)
		}
		f.wantWorker(2, 3, 2)
		f.wantWorker(2, 3, 3)
		f.wantNone(2, 3)
		f.wantWorker(8, 9, 8)
		f.wantWorker(8, 9, 9)
		f.wantNone(8, 9)
	}},
}
