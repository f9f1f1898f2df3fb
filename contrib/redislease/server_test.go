package redislease_test

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/sqlflake/sqlflake/internal/processtest"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
)

// cluster starts a server that is a cluster of one node, for settings that a shared server can't have.
func cluster(t *testing.T) *redis.ClusterClient {
	t.Helper()
	// Redis adds 10000 to the port for its second one.
	node := startServer(t, freePort(t), "--cluster-enabled", "yes", "--appendonly", "no")
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
	leasetest.Run(t, func(t *testing.T) leasestore.Store {
		t.Helper()
		return open(t, client)
	}, settings(client, "snowflake:lease:"))
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
}
