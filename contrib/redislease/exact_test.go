package redislease_test

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
)

// large numbers are those that a double rounds, and some with carries.
var large = []int64{
	1e9 - 1, 1e9, 1e10 - 1, 1e18 - 1,
	1<<53 - 1, 1 << 53, 1<<53 + 1, 1<<53 + 2,
	1<<62 - 1, 1 << 62, 1<<62 + 1, math.MaxInt64 - 1,
}

// each calls test for each of the numbers, which is also the namespace of request.
func each(t *testing.T, test func(t *testing.T, n int64, request func(first, last, tick int64) leasestore.Request)) {
	t.Helper()
	for _, n := range large {
		t.Run(strconv.FormatInt(n, 10), func(t *testing.T) {
			test(t, n, func(first, last, tick int64) leasestore.Request { return request(t.Name(), first, last, tick) })
		})
	}
}

func TestHorizonsAreExactToTheLastDigit(t *testing.T) {
	store, _, _ := newStore(t)
	each(t, func(t *testing.T, n int64, request func(first, last, tick int64) leasestore.Request) {
		r := request(0, 0, n)
		claim := acquire(t, store, r).Claim
		for _, step := range []struct{ to, want int64 }{{n, n}, {n - 1, n}, {n + 1, n + 1}, {n, n + 1}} {
			extend(t, store, claim, step.to)
			if entries, err := store.List(t.Context(), r.Namespace); err != nil || len(entries) != 1 || entries[0].Horizon != step.want {
				t.Fatalf("after an extension to %d: %+v, %v; want the horizon %d", step.to, entries, err, step.want)
			}
		}
		release(t, store, claim)
		r.Token = leasetest.NewToken()
		if grant := acquire(t, store, r); grant.Horizon != n+1 {
			t.Errorf("the next owner starts at %d, want %d", grant.Horizon, n+1)
		}
	})
}

func TestHorizonsAreComparedWithTheTickAndEachOtherToTheLastDigit(t *testing.T) {
	store, _, _ := newStore(t)
	each(t, func(t *testing.T, n int64, request func(first, last, tick int64) leasestore.Request) {
		for _, ahead := range []int{0, 1} { // whichever the script sees first
			var claims [2]leasestore.Claim
			r := request(0, 1, n)
			r.Namespace += strconv.Itoa(ahead)
			for i := range claims {
				r.Token = leasetest.NewToken()
				claims[i] = acquire(t, store, r).Claim
				extend(t, store, claims[i], n)
			}
			extend(t, store, claims[ahead], n+1)
			release(t, store, claims[ahead])
			time.Sleep(2 * time.Millisecond) // the unit of an expiry is 1 ms
			release(t, store, claims[1-ahead])
			for _, step := range []struct{ last, tick, want int64 }{
				{2, n - 1, 2}, // both are ahead, 2 was never taken
				{1, n - 1, int64(1 - ahead)},
				{1, n, int64(1 - ahead)},
				{1, n, int64(ahead)},
			} {
				r.Last, r.Tick, r.Token = step.last, step.tick, leasetest.NewToken()
				grant := acquire(t, store, r)
				if grant.Worker != step.want {
					t.Fatalf("worker %d at %d is ahead: got worker %d at tick %d, want %d", ahead, n+1, grant.Worker, step.tick, step.want)
				}
				if step.tick < n {
					release(t, store, grant.Claim)
				}
			}
		}
	})
}

func TestEpochsAreExactToTheLastDigit(t *testing.T) {
	store, client, prefix := newStore(t)
	each(t, func(t *testing.T, n int64, request func(first, last, tick int64) leasestore.Request) {
		r := request(0, 0, 0)
		release(t, store, acquire(t, store, r).Claim)
		row := fmt.Sprintf(`%019d %019d %019d %s {}`, n, 0, 0, r.Token)
		if err := client.HSet(t.Context(), prefix+"{"+r.Namespace+"}", fmt.Sprintf("%019d", 0), row).Err(); err != nil {
			t.Fatal(err)
		}
		claim := acquire(t, store, r).Claim
		if claim.Epoch != n+1 {
			t.Fatalf("epoch %d after %d", claim.Epoch, n)
		}
		old := claim
		old.Epoch = n
		if _, err := store.Extend(t.Context(), old, 5, time.Hour); !errors.Is(err, lease.ErrLost) {
			t.Errorf("Extend with epoch %d of %d: error %v, want ErrLost", n, claim.Epoch, err)
		}
		extend(t, store, claim, 5)
		release(t, store, claim)
		r.Token = leasetest.NewToken()
		if grant, err := store.Acquire(t.Context(), r); (err == nil) != (claim.Epoch < math.MaxInt64) {
			t.Errorf("after epoch %d: %+v, %v", claim.Epoch, grant.Claim, err)
		}
	})
}

func TestWorkersAreCountedToTheLastDigit(t *testing.T) {
	store, _, _ := newStore(t)
	each(t, func(t *testing.T, n int64, request func(first, last, tick int64) leasestore.Request) {
		for i := range int64(3) {
			if grant := acquire(t, store, request(n-1, n+1, 0)); grant.Worker != n-1+i {
				t.Fatalf("worker %d, want %d", grant.Worker, n-1+i)
			}
		}
		if _, err := store.Acquire(t.Context(), request(n-1, n+1, 0)); !errors.Is(err, lease.ErrNoWorker) {
			t.Errorf("error %v, want ErrNoWorker", err)
		}
	})
}

func TestAClockBeforeTheEpochIsBelowEveryHorizon(t *testing.T) {
	store, _, _ := newStore(t)
	release(t, store, acquire(t, store, request("orders", 0, 1, 0)).Claim) // with the horizon 0
	for _, test := range []struct{ tick, want int64 }{{-1, 1}, {math.MinInt64, 0}} {
		if grant := acquire(t, store, request("orders", 0, 1, test.tick)); grant.Worker != test.want {
			t.Errorf("tick %d took worker %d, want %d", test.tick, grant.Worker, test.want)
		}
	}
}
