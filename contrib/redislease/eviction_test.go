package redislease_test

import (
	"errors"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/sqlflake/sqlflake/contrib/redislease"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

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
