package redislease_test

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sqlflake/sqlflake/contrib/redislease"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
)

// The leases of these tests extend to a window and a lead ahead of their clock.
const (
	window = lease.DefaultWindow
	reach  = window + 10*time.Millisecond
)

func TestAfterRedisForgotAnOwnerWithAGuardStartsAboveAllThatWasGranted(t *testing.T) {
	const start = 1_000_000 // of the old owner, in ticks of 1 ms
	for _, test := range []struct {
		guard, late time.Duration // by which the new owner's clock is behind the old one's
		overlap     bool
	}{
		{0, 0, true},
		{window - time.Millisecond, 0, true},
		{reach, 0, false},
		{reach + time.Second, time.Second, false},
		{reach + time.Second, 1001 * time.Millisecond, true},
	} {
		store, client, prefix := newStore(t, redislease.WithGuard(test.guard))
		first := acquire(t, store, request("orders", 7, 7, start))
		now := start + time.Minute.Milliseconds()
		committed := now + reach.Milliseconds() // as lease.Lease does: by its clock
		extend(t, store, first.Claim, committed)
		if n, err := client.Del(t.Context(), prefix+"{orders}").Result(); err != nil || n != 1 { // like FLUSHALL
			t.Fatalf("deleted %d keys, %v; want the 1 of the namespace", n, err)
		}
		r := request("orders", 7, 7, now-test.late.Milliseconds())
		second := acquire(t, store, r)
		if overlap := max(second.Horizon, r.Tick) < committed; overlap != test.overlap || second.Epoch != 1 {
			t.Errorf("%+v: the old owner issues below %d, the new one has %+v", test, committed, second)
		}
		if _, err := store.Extend(t.Context(), first.Claim, committed+1, time.Hour); !errors.Is(err, lease.ErrLost) {
			t.Errorf("Extend by the old owner: error %v, want ErrLost", err)
		}
	}
}

func TestGuardIsAddedToTheTickAndRoundedUp(t *testing.T) {
	client, prefix := connect(t)
	seconds, err := snowflake.Preset("seconds")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		guard         time.Duration
		layout        snowflake.Layout
		tick, horizon int64 // of the request, of the row
		want          int64
	}{
		{0, snowflake.Default(), 1000, 5000, 5000},
		{time.Second, snowflake.Default(), 1000, 0, 2000},
		{time.Second, snowflake.Default(), 1000, 2001, 2001},
		{time.Nanosecond, snowflake.Default(), 1000, 0, 1001},
		{time.Second + 1, snowflake.Default(), 1000, 0, 2001},
		{time.Second, seconds, 1000, 0, 1001},
		{time.Second, snowflake.Default(), -5000, 0, 0},
		{time.Second, snowflake.Default(), math.MaxInt64 - 999, 0, math.MaxInt64},
		{time.Second, snowflake.Default(), math.MaxInt64 - 1000, 0, math.MaxInt64},
		{math.MaxInt64, snowflake.Default(), math.MaxInt64, 0, math.MaxInt64},
	} {
		name := fmt.Sprintf("%v at %d with the horizon %d and ticks of %v", test.guard, test.tick, test.horizon, test.layout.Tick())
		t.Run(name, func(t *testing.T) {
			store := open(t, client, redislease.WithPrefix(prefix), redislease.WithGuard(test.guard))
			r := request(leasetest.NewToken(), 0, 0, test.tick)
			r.Layout = test.layout.String()
			claim := acquire(t, store, r).Claim
			extend(t, store, claim, test.horizon)
			for _, token := range []string{r.Token, leasetest.NewToken()} {
				r.Token = token
				grant := acquire(t, store, r)
				if grant.Horizon != test.want {
					t.Errorf("horizon %d, want %d", grant.Horizon, test.want)
				}
				release(t, store, grant.Claim)
			}
			entries, err := store.List(t.Context(), r.Namespace)
			if err != nil || len(entries) != 1 || entries[0].Horizon != test.horizon {
				t.Errorf("List: %+v, %v; want the horizon that was committed, %d", entries, err, test.horizon)
			}
		})
	}
}

func TestWithAGuardAnExpiredClaimIsLostAndALayoutNeedsATick(t *testing.T) {
	client, prefix := connect(t)
	for _, guard := range []time.Duration{0, time.Second} {
		store := open(t, client, redislease.WithPrefix(prefix), redislease.WithGuard(guard))
		r := request("no layout "+fmt.Sprint(guard), 0, 0, 0)
		r.Layout = "anything"
		if _, err := store.Acquire(t.Context(), r); errors.Is(err, lease.ErrOption) != (guard > 0) {
			t.Errorf("guard %v: error %v", guard, err)
		}
		claim := acquire(t, store, request(fmt.Sprint(guard), 0, 0, 0)).Claim
		extend(t, store, claim, 10)
		release(t, store, claim) // expires it now
		_, err := store.Extend(t.Context(), claim, 20, time.Hour)
		if lost := errors.Is(err, lease.ErrLost); lost != (guard > 0) {
			t.Errorf("guard %v: error %v", guard, err)
		}
	}
}

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

func TestRedisThatWouldEvictTheHorizonsIsRefused(t *testing.T) {
	admin := startServer(t, freePort(t))
	as := func(user string, rights ...string) *redislease.Store {
		if err := admin.ACLSetUser(t.Context(), user, append([]string{"on", "nopass", "~*", "+@all"}, rights...)...).Err(); err != nil {
			t.Fatal(err)
		}
		client := redis.NewClient(&redis.Options{Addr: admin.Options().Addr, Username: user, Password: "any"})
		t.Cleanup(func() { _ = client.Close() })
		return open(t, client)
	}
	all, info, neither, later := as("all"), as("info", "-config"), as("neither", "-config", "-info"), as("later")
	for i, step := range []struct {
		policy        string
		store         *redislease.Store
		want, warning error
	}{
		{"allkeys-lru", all, lease.ErrOption, nil},
		{"allkeys-lru", info, lease.ErrOption, nil},
		{"allkeys-lru", neither, nil, nil}, // it can't be known
		{"volatile-lru", all, nil, nil},
		{"noeviction", info, nil, nil},
		{"allkeys-lfu", all, nil, lease.ErrOption}, // it was safe once, and processes that run keep running
		{"allkeys-random", later, lease.ErrOption, nil},
	} {
		if err := admin.ConfigSet(t.Context(), "maxmemory-policy", step.policy).Err(); err != nil {
			t.Fatal(err)
		}
		before := admin.HLen(t.Context(), "snowflake:lease:{orders}").Val()
		grant, err := step.store.Acquire(t.Context(), request("orders", 0, 9, 0))
		if !errors.Is(err, step.want) || !errors.Is(grant.Warning, step.warning) {
			t.Errorf("%d, %s: warning %v, error %v; want %v, %v", i, step.policy, grant.Warning, err, step.warning, step.want)
		}
		if after := admin.HLen(t.Context(), "snowflake:lease:{orders}").Val(); (after > before) != (err == nil) {
			t.Errorf("%d, %s: %d fields after %d", i, step.policy, after, before)
		}
	}
}
