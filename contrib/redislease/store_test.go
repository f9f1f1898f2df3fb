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
		must(tb, client.HSet(tb.Context(), prefix+"{"+namespace+"}", "protocol", 2).Err())
	}}
}

func TestNewRefusesWhatCannotBe(t *testing.T) {
	var none *redis.Client
	client := newClient(t, redis.Options{Addr: "127.0.0.1:1"})
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
	must(t, err)
	defer listener.Close()
	// The client's own timeout is an hour.
	store := open(t, newClient(t, redis.Options{Addr: listener.Addr().String(), ReadTimeout: time.Hour, MaxRetries: -1}))
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

	must(t, client.Set(t.Context(), prefix+"unrelated", "x", 0).Err())
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
		must(t, client.HSet(t.Context(), key, strings.Repeat("0", 18)+"1", bad).Err())
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

	must(t, client.HSet(t.Context(), key, "protocol", 3).Err()) // of a version whose rows may be others
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
		client = newClient(t, redis.Options{Addr: cmp.Or(value, redisDefault)})
		if err := client.Ping(t.Context()).Err(); err != nil {
			t.Fatalf("redis: not found at %s: %v", client.Options().Addr, err)
		}
	}

	prefix = "test-" + leasetest.NewToken() + ":"
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		keys := client.Scan(ctx, 0, prefix+"*", 1000).Iterator()
		for keys.Next(ctx) {
			client.Del(ctx, keys.Val())
		}
		if err := keys.Err(); err != nil {
			t.Errorf("keys %s* are left behind: %v", prefix, err)
		}
	})

	return client, prefix
}

// newClient returns a client that is closed when the test ends.
func newClient(t *testing.T, options redis.Options) *redis.Client {
	t.Helper()
	client := redis.NewClient(&options)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func open(t *testing.T, client redis.UniversalClient, opts ...redislease.Option) *redislease.Store {
	t.Helper()
	store, err := redislease.New(client, opts...)
	must(t, err)
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

	settings = append([]string{"--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", t.TempDir()}, settings...)
	server := exec.Command(program, settings...)
	must(t, server.Start())
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})

	client := newClient(t, redis.Options{Addr: "127.0.0.1:" + port})
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
	must(t, err)
	grant.Next = grant.Token
	return grant
}

func extend(t *testing.T, store leasestore.Store, c leasestore.Claim, horizon int64) {
	t.Helper()
	_, err := store.Extend(t.Context(), c, horizon, time.Hour)
	must(t, err)
}

func release(t *testing.T, store leasestore.Store, c leasestore.Claim) {
	t.Helper()
	must(t, store.Release(t.Context(), c, math.MaxInt64))
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
	assigned := false
	processtest.Eventually(t, "the cluster is ready", func() bool {
		assigned = assigned || node.ClusterAddSlotsRange(t.Context(), 0, 16383).Err() == nil
		return strings.Contains(node.ClusterInfo(t.Context()).Val(), "cluster_state:ok")
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
	must(t, client.ScriptFlush(t.Context()).Err())
	claim := acquire(t, store, request("orders", 0, 9, 0)).Claim
	must(t, client.ScriptFlush(t.Context()).Err())
	extend(t, store, claim, 5)
}
