package redislease_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/sqlflake/sqlflake/contrib/redislease"
	"github.com/sqlflake/sqlflake/internal/processtest"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

// scripts is a hook that calls before with the number of a script, from 1, that the client is about to run, and after
// with its reply unless that is nil.
type scripts struct {
	count  atomic.Int64
	before func(n int64)
	after  func(n int64, cmd *redis.Cmd)
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
	own := redis.NewClient(&options)
	t.Cleanup(func() { _ = own.Close() })
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
				if err := s.store.Release(t.Context(), s.old, 400); err != nil {
					t.Fatal(err)
				}
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
			h := &scripts{before: func(n int64) {
				if n == 2 {
					test.change(t, s)
				}
			}}
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
	store := hooked(t, client, prefix, &scripts{before: func(n int64) {
		if n == 2 {
			client.HSet(t.Context(), prefix+"{orders}", worker0, "x")
		}
	}})
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
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Error(err)
		}
		reply[1] = strconv.FormatInt(seconds+7200, 10)
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
