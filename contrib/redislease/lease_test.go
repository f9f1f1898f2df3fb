package redislease_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sqlflake/sqlflake/contrib/redislease"
	"github.com/sqlflake/sqlflake/internal/processtest"
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
	must(t, err)
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

// The numbers are those that a double rounds, and some with carries. Package leasetest has such horizons.
func TestEpochsAreExactToTheLastDigit(t *testing.T) {
	store, client, prefix := newStore(t)
	for _, n := range []int64{
		1e9 - 1, 1e9, 1e10 - 1, 1e18 - 1,
		1<<53 - 1, 1 << 53, 1<<53 + 1, 1<<53 + 2,
		1<<62 - 1, 1 << 62, 1<<62 + 1, math.MaxInt64 - 1,
	} {
		r := request(strconv.FormatInt(n, 10), 0, 0, 0)
		release(t, store, acquire(t, store, r).Claim)
		row := fmt.Sprintf(`%019d %019d %019d %s {}`, n, 0, 0, r.Token)
		must(t, client.HSet(t.Context(), prefix+"{"+r.Namespace+"}", fmt.Sprintf("%019d", 0), row).Err())
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
	}
}

func TestRedisThatWouldEvictTheHorizonsIsRefused(t *testing.T) {
	admin := startServer(t, freePort(t))
	as := func(user string, rights ...string) *redislease.Store {
		must(t, admin.ACLSetUser(t.Context(), user, append([]string{"on", "nopass", "~*", "+@all"}, rights...)...).Err())
		return open(t, newClient(t, redis.Options{Addr: admin.Options().Addr, Username: user, Password: "any"}))
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
		must(t, admin.ConfigSet(t.Context(), "maxmemory-policy", step.policy).Err())
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

// scripts is a hook that calls before with the number of a script, from 1, that the client is about to run, and after
// with its reply unless that is nil.
type scripts struct {
	count  atomic.Int64
	before func(n int64)
	after  func(n int64, cmd *redis.Cmd)
}

// beforeTake calls change between the read and the script that takes a worker.
func beforeTake(change func()) *scripts {
	return &scripts{before: func(n int64) {
		if n == 2 {
			change()
		}
	}}
}

func (*scripts) DialHook(next redis.DialHook) redis.DialHook { return next }

func (*scripts) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h *scripts) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		script, ok := cmd.(*redis.Cmd)
		if !ok || cmd.Name() != "evalsha" {
			return next(ctx, cmd)
		}

		n := h.count.Add(1)
		h.before(n)
		err := next(ctx, cmd)
		if h.after != nil {
			h.after(n, script)
		}
		return err
	}
}

// hooked returns another store on the same keys, with a client of its own that has the hook.
func hooked(t *testing.T, client *redis.Client, prefix string, h *scripts) *redislease.Store {
	t.Helper()
	options := *client.Options()
	options.PoolSize = 300
	own := newClient(t, options)
	own.AddHook(h)
	return open(t, own, redislease.WithPrefix(prefix))
}

var worker0 = strings.Repeat("0", 19)

// Between the read and the script that takes the worker anything may happen.
func TestWhatChangesAfterTheReadIsSeen(t *testing.T) {
	type state struct {
		store  *redislease.Store
		client *redis.Client
		key    string
		old    leasestore.Claim // of the last owner, who has released the worker with the horizon 500
	}
	for name, test := range map[string]struct {
		change         func(t *testing.T, s state)
		epoch, horizon int64
		want           string // in the error
		scripts        int64
	}{
		"nothing": {
			change: func(*testing.T, state) {},
			epoch:  2, horizon: 500, scripts: 2,
		},
		"another takes the worker": {
			change: func(t *testing.T, s state) {
				acquire(t, s.store, request("orders", 0, 0, 1000))
			},
			want: "no free worker", scripts: 3,
		},
		"another takes it and gives it back": {
			change: func(t *testing.T, s state) {
				claim := acquire(t, s.store, request("orders", 0, 0, 1000)).Claim
				extend(t, s.store, claim, 700)
				release(t, s.store, claim)
			},
			epoch: 3, horizon: 700, scripts: 4,
		},
		"its owner extends late": {
			change: func(t *testing.T, s state) {
				extend(t, s.store, s.old, 600)
			},
			want: "no free worker", scripts: 3,
		},
		"its owner lowers the horizon": {
			change: func(t *testing.T, s state) {
				must(t, s.store.Release(t.Context(), s.old, 400))
			},
			epoch: 2, horizon: 400, scripts: 2,
		},
		"only the epoch": {
			change: func(t *testing.T, s state) {
				row := s.client.HGet(t.Context(), s.key, worker0).Val()
				s.client.HSet(t.Context(), s.key, worker0, "0000000000000000007"+row[19:])
			},
			epoch: 8, horizon: 500, scripts: 4,
		},
		"only the expiry": {
			change: func(t *testing.T, s state) {
				row := s.client.HGet(t.Context(), s.key, worker0).Val()
				s.client.HSet(t.Context(), s.key, worker0, row[:40]+"0000000000000000007"+row[59:])
			},
			epoch: 2, horizon: 500, scripts: 4,
		},
		"all is forgotten": {
			change: func(t *testing.T, s state) {
				s.client.Del(t.Context(), s.key)
			},
			epoch: 1, scripts: 4,
		},
		"another layout comes": {
			change: func(t *testing.T, s state) {
				s.client.HSet(t.Context(), s.key, "layout", "another")
			},
			want: "another", scripts: 3,
		},
		"a later version takes over": {
			change: func(t *testing.T, s state) {
				s.client.HSet(t.Context(), s.key, "protocol", "2")
			},
			want: "version 2", scripts: 2,
		},
		"the row is damaged": {
			change: func(t *testing.T, s state) {
				s.client.HSet(t.Context(), s.key, worker0, "x")
			},
			want: "not a row", scripts: 3,
		},
	} {
		t.Run(name, func(t *testing.T) {
			store, client, prefix := newStore(t)
			old := acquire(t, store, request("orders", 0, 0, 1000)).Claim
			extend(t, store, old, 500)
			release(t, store, old)

			s := state{store, client, prefix + "{orders}", old}
			h := beforeTake(func() { test.change(t, s) })
			second := hooked(t, client, prefix, h)
			grant, err := second.Acquire(t.Context(), request("orders", 0, 0, 1000))
			if grant.Epoch != test.epoch || grant.Horizon != test.horizon {
				t.Errorf("epoch %d and horizon %d, want %d and %d", grant.Epoch, grant.Horizon, test.epoch, test.horizon)
			}
			if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
			if n := h.count.Load(); n != test.scripts {
				t.Errorf("%d scripts, want %d", n, test.scripts)
			}
		})
	}
}

func TestARowThatCameAfterTheReadIsNotOverwritten(t *testing.T) {
	_, client, prefix := newStore(t)
	store := hooked(t, client, prefix, beforeTake(func() { client.HSet(t.Context(), prefix+"{orders}", worker0, "x") }))
	if grant, err := store.Acquire(t.Context(), request("orders", 0, 0, 0)); err == nil {
		t.Errorf("got %+v, want an error", grant)
	}
	if row := client.HGet(t.Context(), prefix+"{orders}", worker0).Val(); row != "x" {
		t.Errorf("the row is now %q", row)
	}
}

// A server whose clock is ahead may answer the read, and another one the script that takes the worker.
func TestAWorkerIsFreeByTheClockOfTheServerThatLendsIt(t *testing.T) {
	store, client, prefix := newStore(t)
	acquire(t, store, request("orders", 0, 0, 0))
	h := &scripts{before: func(int64) {}, after: func(n int64, cmd *redis.Cmd) {
		reply, _ := cmd.Slice()
		if n != 1 || len(reply) < 3 {
			return
		}
		text, _ := reply[1].(string)
		microseconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Error(err)
		}
		reply[1] = strconv.FormatInt(microseconds+7200*1e6, 10)
	}}

	store = hooked(t, client, prefix, h)
	grant, err := store.Acquire(t.Context(), request("orders", 0, 0, 0))
	if !errors.Is(err, lease.ErrNoWorker) || h.count.Load() != 3 {
		t.Errorf("got %+v, %v after %d scripts, want ErrNoWorker after 3", grant, err, h.count.Load())
	}
}

// 250 callers begin at the same time. Without a choice at random each one would meet a conflict at each worker.
func TestACrowdMeetsFewConflicts(t *testing.T) {
	const callers = 250
	store, client, prefix := newStore(t)
	acquire(t, store, request("orders", 1000, 1000, 0)) // writes the layout

	begun := make(chan struct{})
	h := &scripts{before: func(n int64) {
		if n == callers {
			close(begun)
		}
		if n <= callers {
			<-begun
		}
	}}
	store = hooked(t, client, prefix, h)
	var workers sync.Map
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			grant, err := store.Acquire(t.Context(), request("orders", 0, 1023, 0))
			if _, taken := workers.LoadOrStore(grant.Worker, true); err != nil || taken {
				t.Errorf("worker %d, taken before: %t, error %v", grant.Worker, taken, err)
			}
		})
	}
	wg.Wait()
	if n := h.count.Load(); n > 8*callers {
		t.Errorf("%d callers have run %d scripts", callers, n)
	}
}

func TestKilledProcessesNeverRepeatAnID(t *testing.T) {
	t.Parallel()
	place, store := newPlace(t)
	processtest.KilledProcesses(t, place, store, processtest.NothingElse)
}

func TestProcessesThatStartAtOnceHaveDifferentWorkers(t *testing.T) {
	place, store := newPlace(t)
	processtest.ProcessesStartedTogether(t, place, func() leasestore.Store { return store })
}
