package redislease_test

import (
	"cmp"
	"context"
	"math"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sqlflake/sqlflake/contrib/redislease"
	"github.com/sqlflake/sqlflake/internal/processtest"
	"github.com/sqlflake/sqlflake/internal/skip"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
)

// silent keeps what go-redis logs about connections off the standard error, which is for notes in issuers.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

func TestMain(m *testing.M) {
	redis.SetLogger(silent{})
	processtest.Main(func(place string) (leasestore.Store, error) {
		addr, prefix, _ := strings.Cut(place, " ")
		return redislease.New(redis.NewClient(&redis.Options{Addr: addr}), redislease.WithPrefix(prefix))
	})
	os.Exit(m.Run())
}

const (
	redisVariable = "SNOWFLAKE_TEST_REDIS" // host:port of the server, "off" for none
	redisDefault  = "127.0.0.1:6379"
)

// connect returns a client of the shared server, or of one of the test's own if there is none, and a prefix whose keys are
// deleted when the test ends.
func connect(t *testing.T) (client *redis.Client, prefix string) {
	t.Helper()
	skip.Off(t, redisVariable)
	value := os.Getenv(redisVariable)
	if value == "" && !answers(redisDefault) {
		client = startServer(t, freePort(t))
	} else {
		client = redis.NewClient(&redis.Options{Addr: cmp.Or(value, redisDefault)})
		t.Cleanup(func() { _ = client.Close() })
		if err := client.Ping(t.Context()).Err(); err != nil {
			t.Fatalf("redis: not found at %s: %v", client.Options().Addr, err)
		}
	}
	prefix = "test-" + leasetest.NewToken() + ":"
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		for keys := client.Scan(ctx, 0, prefix+"*", 1000).Iterator(); ; {
			if !keys.Next(ctx) {
				if err := keys.Err(); err != nil {
					t.Errorf("keys %s* are left behind: %v", prefix, err)
				}
				return
			}
			client.Del(ctx, keys.Val())
		}
	})
	return client, prefix
}

func open(t *testing.T, client redis.UniversalClient, opts ...redislease.Option) *redislease.Store {
	t.Helper()
	store, err := redislease.New(client, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// newStore returns a store on the shared server, with its client and its prefix.
func newStore(t *testing.T, opts ...redislease.Option) (store *redislease.Store, client *redis.Client, prefix string) {
	t.Helper()
	client, prefix = connect(t)
	return open(t, client, append(opts, redislease.WithPrefix(prefix))...), client, prefix
}

// newPlace returns a place of the test's own for issuers, and its store.
func newPlace(t *testing.T) (place string, store *redislease.Store) {
	t.Helper()
	store, client, prefix := newStore(t)
	return client.Options().Addr + " " + prefix, store
}

// startServer starts a server of the test's own, for settings that a shared server can't have. It returns when the server
// answers.
func startServer(t *testing.T, port string, settings ...string) *redis.Client {
	t.Helper()
	program, err := exec.LookPath("redis-server")
	if err != nil {
		skip.Missing(t, redisVariable, "redis-server is not installed (set %s for what may share a server)", redisVariable)
	}
	server := exec.Command(program, append([]string{"--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", t.TempDir()}, settings...)...)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + port})
	t.Cleanup(func() { _ = client.Close() })
	processtest.Eventually(t, "an answer of the server", func() bool { return answers(client.Options().Addr) })
	return client
}

func answers(addr string) bool { // at once, where a client would try again
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

func freePort(t *testing.T) string { return strconv.Itoa(processtest.FreePort(t)) }

// acquire returns the grant with a next token: extensions keep the one of the request.
func acquire(t *testing.T, store leasestore.Store, r leasestore.Request) leasestore.Grant {
	t.Helper()
	grant, err := store.Acquire(t.Context(), r)
	if err != nil {
		t.Fatalf("Acquire: %v", err)
	}
	grant.Next = grant.Token
	return grant
}

func extend(t *testing.T, store leasestore.Store, c leasestore.Claim, horizon int64) {
	t.Helper()
	if _, err := store.Extend(t.Context(), c, horizon, time.Hour); err != nil {
		t.Fatalf("Extend to %d: %v", horizon, err)
	}
}

func release(t *testing.T, store leasestore.Store, c leasestore.Claim) {
	t.Helper()
	if err := store.Release(t.Context(), c, math.MaxInt64); err != nil {
		t.Fatalf("Release: %v", err)
	}
}

func request(namespace string, first, last, tick int64) leasestore.Request {
	return leasestore.Request{
		Namespace: namespace, Layout: snowflake.Default().String(), First: first, Last: last,
		Token: leasetest.NewToken(), TTL: time.Hour, Tick: tick, Holder: leasestore.Holder{Host: "a.example.com", PID: 1},
	}
}

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
