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
	info   string // the answer to INFO, if it isn't the server's
}

func (c *config) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *config) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (c *config) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if info, ok := cmd.(*redis.StringCmd); ok && cmd.Name() == "info" && c.info != "" {
			info.SetVal(c.info)
			return nil
		}
		get, ok := cmd.(*redis.MapStringStringCmd)
		if !ok || cmd.Name() != "config" {
			return next(ctx, cmd)
		}
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
	}{
		{"noeviction", config{policy: "noeviction"}, nil},
		{"volatile-ttl", config{policy: "volatile-ttl"}, nil},
		{"allkeys-random", config{policy: "allkeys-random"}, lease.ErrOption},
		{"no right to read it", config{err: refusal("NOPERM no permissions")}, nil},
		{"no right to read it, and INFO has it", config{
			err: refusal("NOPERM no permissions"), info: "# Memory\r\nmaxmemory_policy:allkeys-lfu\r\n",
		}, lease.ErrOption},
		{"no connection", config{err: unreachable}, unreachable},
	} {
		t.Run(test.name, func(t *testing.T) {
			client, prefix := connect(t)
			client.AddHook(&test.config)
			store := open(t, client, redislease.WithPrefix(prefix))
			if grant, err := store.Acquire(t.Context(), request("orders", 0, 9, 0)); !errors.Is(err, test.want) || grant.Warning != nil {
				t.Errorf("warning %v, error %v; want %v", grant.Warning, err, test.want)
			}
			if n := client.Exists(t.Context(), prefix+"{orders}").Val(); (n == 1) != (test.want == nil) {
				t.Errorf("%d keys were made", n)
			}
		})
	}
}
