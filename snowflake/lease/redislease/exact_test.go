package redislease_test

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
)

// large numbers are those that a double rounds, and the carries of the script's own arithmetic.
var large = []int64{
	1e9 - 1, 1e9, 1e10 - 1, 1e18 - 1,
	1<<53 - 1, 1 << 53, 1<<53 + 1, 1<<53 + 2,
	1<<62 - 1, 1 << 62, 1<<62 + 1, math.MaxInt64 - 1,
}

// acquire returns the grant with a next token: extensions keep the one of the request.
func acquire(t *testing.T, store lease.Store, r lease.Request) lease.Grant {
	t.Helper()
	grant, err := store.Acquire(t.Context(), r)
	if err != nil {
		t.Fatalf("Acquire: %v", err)
	}
	grant.Next = grant.Token
	return grant
}

func extend(t *testing.T, store lease.Store, c lease.Claim, horizon int64) {
	t.Helper()
	if _, err := store.Extend(t.Context(), c, horizon, time.Hour); err != nil {
		t.Fatalf("Extend to %d: %v", horizon, err)
	}
}

func release(t *testing.T, store lease.Store, c lease.Claim) {
	t.Helper()
	if err := store.Release(t.Context(), c, math.MaxInt64); err != nil {
		t.Fatalf("Release: %v", err)
	}
}

func TestHorizonsAreExactToTheLastDigit(t *testing.T) {
	store, _, _ := newStore(t)
	for _, n := range large {
		t.Run(strconv.FormatInt(n, 10), func(t *testing.T) {
			r := request(t.Name(), 0, 0, n)
			claim := acquire(t, store, r).Claim
			for _, step := range []struct{ to, want int64 }{{n, n}, {n - 1, n}, {n + 1, n + 1}, {n, n + 1}} {
				extend(t, store, claim, step.to)
				entries, err := store.List(t.Context(), r.Namespace)
				if err != nil || len(entries) != 1 || entries[0].Horizon != step.want {
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
}

func TestHorizonsAreComparedWithTheTickToTheLastDigit(t *testing.T) {
	store, _, _ := newStore(t)
	for _, n := range large {
		t.Run(strconv.FormatInt(n, 10), func(t *testing.T) {
			claim := acquire(t, store, request(t.Name(), 0, 1, n)).Claim
			extend(t, store, claim, n)
			release(t, store, claim)
			if grant := acquire(t, store, request(t.Name(), 0, 1, n-1)); grant.Worker != 1 {
				t.Errorf("a tick below the horizon took worker %d, want 1, which was never taken", grant.Worker)
			}
			if grant := acquire(t, store, request(t.Name(), 0, 2, n)); grant.Worker != 0 {
				t.Errorf("a tick at the horizon took worker %d, want 0, which is free", grant.Worker)
			}
		})
	}
}

func TestAHorizonAboveTheTickByOneComesLast(t *testing.T) {
	store, _, _ := newStore(t)
	for _, n := range large {
		for _, ahead := range []int{0, 1} { // whichever the script sees first
			t.Run(fmt.Sprintf("%d, worker %d", n, ahead), func(t *testing.T) {
				var claims [2]lease.Claim
				for i := range claims {
					claims[i] = acquire(t, store, request(t.Name(), 0, 1, n)).Claim
					extend(t, store, claims[i], n)
				}
				extend(t, store, claims[ahead], n+1)
				release(t, store, claims[ahead])
				time.Sleep(2 * time.Millisecond) // the unit of an expiry is 1 ms
				release(t, store, claims[1-ahead])
				for _, want := range []int64{int64(1 - ahead), int64(ahead)} {
					if grant := acquire(t, store, request(t.Name(), 0, 1, n)); grant.Worker != want {
						t.Fatalf("worker %d, want %d", grant.Worker, want)
					}
				}
			})
		}
	}
}

func TestEpochsAreExactToTheLastDigit(t *testing.T) {
	store, client, prefix := newStore(t)
	for _, n := range large {
		t.Run(strconv.FormatInt(n, 10), func(t *testing.T) {
			r := request(t.Name(), 0, 0, 0)
			release(t, store, acquire(t, store, r).Claim)
			row := fmt.Sprintf(`%019d %019d %019d %s {}`, n, 0, 0, r.Token)
			key := prefix + "{" + r.Namespace + "}"
			if err := client.HSet(t.Context(), key, fmt.Sprintf("%019d", 0), row).Err(); err != nil {
				t.Fatal(err)
			}
			claim := acquire(t, store, r).Claim
			if claim.Epoch != n+1 {
				t.Fatalf("epoch %d after %d", claim.Epoch, n)
			}
			for _, epoch := range []int64{n - 1, n} {
				old := claim
				old.Epoch = epoch
				if _, err := store.Extend(t.Context(), old, 5, time.Hour); !errors.Is(err, lease.ErrLost) {
					t.Errorf("Extend with epoch %d of %d: error %v, want ErrLost", epoch, claim.Epoch, err)
				}
			}
			extend(t, store, claim, 5)
		})
	}
}

func TestWorkersAreCountedToTheLastDigit(t *testing.T) {
	store, _, _ := newStore(t)
	for _, n := range large {
		t.Run(strconv.FormatInt(n, 10), func(t *testing.T) {
			for worker := n - 1; ; worker++ {
				if grant := acquire(t, store, request(t.Name(), n-1, n+1, 0)); grant.Worker != worker {
					t.Fatalf("worker %d, want %d", grant.Worker, worker)
				}
				if worker == n+1 {
					break
				}
			}
			if _, err := store.Acquire(t.Context(), request(t.Name(), n-1, n+1, 0)); !errors.Is(err, lease.ErrNoWorker) {
				t.Errorf("error %v, want ErrNoWorker", err)
			}
		})
	}
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
