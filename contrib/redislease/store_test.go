package redislease_test

import (
	"cmp"
	"context"
	"errors"
	"math"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sqlflake/sqlflake/contrib/redislease"
	"github.com/sqlflake/sqlflake/internal/processtest"
	"github.com/sqlflake/sqlflake/internal/skip"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
)

func TestStoreKeepsTheContract(t *testing.T) {
	client, prefix := connect(t)
	leasetest.Run(t, func(t *testing.T) leasestore.Store {
		t.Helper()
		return open(t, client, redislease.WithPrefix(prefix))
	}, settings(client, prefix))
}

func settings(client redis.UniversalClient, prefix string) leasetest.Settings {
	return leasetest.Settings{Require: func(tb testing.TB, _ leasestore.Store, namespace string) {
		tb.Helper()
		if err := client.HSet(tb.Context(), prefix+"{"+namespace+"}", "protocol", 2).Err(); err != nil {
			tb.Fatal(err)
		}
	}}
}

func TestNewRefusesWhatCannotBe(t *testing.T) {
	var none *redis.Client
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer func() { _ = client.Close() }()
	for name, bad := range map[string]struct {
		client redis.UniversalClient
		option redislease.Option
	}{
		"nil":              {nil, redislease.WithPrefix("")},
		"a nil pointer":    {none, redislease.WithPrefix("")},
		"a nil option":     {client, nil},
		"a negative guard": {client, redislease.WithGuard(-1)},
	} {
		if store, err := redislease.New(bad.client, bad.option); !errors.Is(err, lease.ErrOption) || store != nil {
			t.Errorf("New with %s: %v, %v; want ErrOption", name, store, err)
		}
	}
}

func TestAServerThatSaysNothingDoesNotOutlastTheContext(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	// The client's own timeout is an hour.
	client := redis.NewClient(&redis.Options{Addr: listener.Addr().String(), ReadTimeout: time.Hour, MaxRetries: -1})
	defer func() { _ = client.Close() }()
	store := open(t, client)
	for name, call := range map[string]func(ctx context.Context) error{
		"a setting": func(ctx context.Context) error { _, err := store.Acquire(ctx, request("orders", 0, 0, 0)); return err },
		"a script":  func(ctx context.Context) error { return store.Release(ctx, leasestore.Claim{Namespace: "orders"}, 0) },
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		if err := call(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: error %v, want context.DeadlineExceeded", name, err)
		}
		cancel()
	}
}

func TestListFindsExactlyTheNamespacesOfThePrefix(t *testing.T) {
	client, base := connect(t)
	prefix := base + `a[b]*?\{c}`
	for _, other := range []string{base + `ab**\{c}`, base, prefix + "x"} {
		acquire(t, open(t, client, redislease.WithPrefix(other)), request("other", 0, 0, 0))
	}
	if err := client.Set(t.Context(), prefix+"unrelated", "x", 0).Err(); err != nil {
		t.Fatal(err)
	}
	store := open(t, client, redislease.WithPrefix(prefix))
	want := []string{"*", "a b", "{x}", "}", "ä\n"}
	for _, namespace := range want {
		acquire(t, store, request(namespace, 0, 0, 0))
	}
	entries, err := store.List(t.Context(), "")
	var got []string
	for _, e := range entries {
		got = append(got, e.Namespace)
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("namespaces %q, %v, want %q", got, err, want)
	}
}

func TestWhatIsNoRowIsAnErrorAndStaysAsItIs(t *testing.T) {
	store, client, prefix := newStore(t)
	claim := acquire(t, store, request("orders", 0, 9, 0)).Claim
	key := prefix + "{orders}"
	row := client.HGet(t.Context(), key, strings.Repeat("0", 19)).Val()
	for _, bad := range []string{"", "x", row[1:], row[:len(row)-1], row[:92], strings.Replace(row, " ", "", 1)} {
		if err := client.HSet(t.Context(), key, strings.Repeat("0", 18)+"1", bad).Err(); err != nil {
			t.Fatal(err)
		}
		if _, err := store.List(t.Context(), "orders"); err == nil {
			t.Errorf("List with the row %q: no error", bad)
		}
		if bad == row[:len(row)-1] { // only the holder is broken, which is for people
			continue
		}
		if grant, err := store.Acquire(t.Context(), request("orders", 0, 9, 0)); err == nil || errors.Is(err, lease.ErrNoWorker) {
			t.Errorf("Acquire with the row %q: %+v, %v; want an error", bad, grant, err)
		}
		if got := client.HGet(t.Context(), key, strings.Repeat("0", 18)+"1").Val(); got != bad {
			t.Errorf("the row %q is now %q", bad, got)
		}
	}
	extend(t, store, claim, 1) // the other workers continue

	if err := client.HSet(t.Context(), key, "protocol", 3).Err(); err != nil { // of a version whose rows may be others
		t.Fatal(err)
	}
	later := (*lease.VersionError)(nil)
	if _, err := store.Acquire(t.Context(), request("orders", 0, 9, 0)); !errors.As(err, &later) {
		t.Errorf("Acquire: error %v, want a *VersionError", err)
	}
	client.HDel(t.Context(), key, strings.Repeat("0", 18)+"1")
	if entries, err := store.List(t.Context(), "orders"); err != nil || len(entries) != 1 {
		t.Errorf("List of what requires a later version: %+v, %v", entries, err)
	}
}

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
