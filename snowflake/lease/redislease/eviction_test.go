package redislease_test

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/redislease"
)

// config answers CONFIG GET instead of the server, which other tests use, too.
type config struct {
	policy string
	err    error
	asked  int
}

func (c *config) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *config) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (c *config) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		get, ok := cmd.(*redis.MapStringStringCmd)
		if !ok || cmd.Name() != "config" {
			return next(ctx, cmd)
		}
		c.asked++
		if c.err != nil {
			cmd.SetErr(c.err)
			return c.err
		}
		get.SetVal(map[string]string{"maxmemory-policy": c.policy})
		return nil
	}
}

// refusal is an error reply of a server.
type refusal string

func (r refusal) Error() string { return string(r) }
func (refusal) RedisError()     {}

func TestRedisThatWouldEvictTheHorizonsIsRefused(t *testing.T) {
	unreachable := &net.OpError{Op: "read", Err: errors.New("connection reset by peer")}
	for _, test := range []struct {
		name   string
		config config
		want   error // nil: a worker is granted
		asked  int   // by two calls
	}{
		{"noeviction", config{policy: "noeviction"}, nil, 1},
		{"volatile-lru", config{policy: "volatile-lru"}, nil, 1},
		{"volatile-ttl", config{policy: "volatile-ttl"}, nil, 1},
		{"allkeys-lru", config{policy: "allkeys-lru"}, lease.ErrOption, 2},
		{"allkeys-lfu", config{policy: "allkeys-lfu"}, lease.ErrOption, 2},
		{"allkeys-random", config{policy: "allkeys-random"}, lease.ErrOption, 2},
		{"no right to read it", config{err: refusal("NOPERM no permissions")}, nil, 1},
		{"no such command", config{err: refusal("ERR unknown command 'CONFIG'")}, nil, 1},
		{"no connection", config{err: unreachable}, unreachable, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			client, prefix := connect(t)
			client.AddHook(&test.config)
			store := open(t, client, redislease.WithPrefix(prefix))
			for range 2 {
				if _, err := store.Acquire(t.Context(), request("orders", 0, 9, 0)); !errors.Is(err, test.want) {
					t.Errorf("error %v, want %v", err, test.want)
				}
			}
			if test.config.asked != test.asked {
				t.Errorf("CONFIG GET was asked %d times, want %d", test.config.asked, test.asked)
			}
			if n := client.Exists(t.Context(), prefix+"{orders}").Val(); (n == 1) != (test.want == nil) {
				t.Errorf("%d keys were made", n)
			}
		})
	}
}
