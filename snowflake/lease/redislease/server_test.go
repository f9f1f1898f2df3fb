package redislease_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/internal/processtest"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
	"github.com/sqlflake/sqlflake/snowflake/lease/redislease"
)

// cluster starts a server that is a cluster of one node, for settings that a shared server can't have.
func cluster(t *testing.T) *redis.ClusterClient {
	t.Helper()
	// Redis adds 10000 to the port for its second one.
	_, node := startServer(t, freePort(t), "--cluster-enabled", "yes", "--appendonly", "no", "--dir", t.TempDir())
	ready := func() bool { return strings.Contains(node.ClusterInfo(t.Context()).Val(), "cluster_state:ok") }
	assigned := false
	processtest.Eventually(t, "the cluster is ready", func() bool {
		if !assigned {
			assigned = node.ClusterAddSlotsRange(t.Context(), 0, 16383).Err() == nil
		}
		return ready()
	})
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{node.Options().Addr}})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func TestStoreOnAClusterKeepsTheContract(t *testing.T) {
	client := cluster(t)
	leasetest.Run(t, func(t *testing.T) lease.Store {
		t.Helper()
		return open(t, client)
	}, leasetest.Settings{})
}

func TestAServerThatHasLostTheScriptsGetsThemAgain(t *testing.T) {
	client := cluster(t)
	store := open(t, client)
	flush := func() {
		t.Helper()
		if err := client.ScriptFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	}
	flush()
	claim := acquire(t, store, request("orders", 0, 9, 0)).Claim
	flush()
	extend(t, store, claim, 5)
	flush()
	if entries, err := store.List(t.Context(), ""); err != nil || len(entries) != 1 || entries[0].Horizon != 5 {
		t.Errorf("List: %+v, %v; want the row with the horizon 5", entries, err)
	}
	flush()
	release(t, store, claim)
}

func TestAfterFlushAllOnlyAGuardKeepsOwnersApart(t *testing.T) {
	client := cluster(t)
	for _, guard := range []time.Duration{0, reach} {
		store := open(t, client, redislease.WithGuard(guard))
		const now = 1_000_000
		old := acquire(t, store, request("orders", 0, 0, now)).Claim
		committed := now + 2*reach.Milliseconds() // when the old owner's clock is a window and a lead beyond now
		extend(t, store, old, committed)
		if err := client.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		r := request("orders", 0, 0, now+reach.Milliseconds())
		start := max(acquire(t, store, r).Horizon, r.Tick)
		if overlap := start < committed; overlap != (guard == 0) {
			t.Errorf("guard %v: the old owner issues below %d, the new one from %d on", guard, committed, start)
		}
		if err := client.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheServersOwnPolicyIsRead(t *testing.T) {
	client := cluster(t)
	store := open(t, client)
	for _, step := range []struct {
		policy        string
		want, warning error // once it was safe, processes that run keep running
	}{{"allkeys-lru", lease.ErrOption, nil}, {"volatile-lru", nil, nil}, {"allkeys-lfu", nil, lease.ErrOption}} {
		if err := client.ConfigSet(t.Context(), "maxmemory-policy", step.policy).Err(); err != nil {
			t.Fatal(err)
		}
		grant, err := store.Acquire(t.Context(), request("orders", 0, 9, 0))
		if !errors.Is(err, step.want) || !errors.Is(grant.Warning, step.warning) {
			t.Errorf("%s: warning %v, error %v; want %v, %v", step.policy, grant.Warning, err, step.warning, step.want)
		}
	}
}
