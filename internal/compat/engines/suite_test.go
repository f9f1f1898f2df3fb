//go:build unix && !race

package enginetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/sqlflake/sqlflake/internal/checksummed"
	"github.com/sqlflake/sqlflake/internal/processtest"
	"github.com/sqlflake/sqlflake/internal/skip"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
)

const (
	callPatience   = 5 * time.Second      // of a call that is repeated if it fails
	singlePatience = processtest.Patience // of one that is not
)

// TestOnThreeMembers shares a cluster between the tests of an engine, since NATS takes seconds to start one.
func TestOnThreeMembers(t *testing.T) {
	for kind, start := range map[string]func(t *testing.T, size int) engine{"etcd": newEtcd, "nats": newNATS} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			e := start(t, 3)
			t.Run("the store keeps the contract", func(t *testing.T) { runSuite(t, e.newPlace(t)) })
			t.Run("processes that start at once have different workers", func(t *testing.T) { startTogether(t, e) })
			t.Run("values of other programs are refused", func(t *testing.T) { refuseOthers(t, e) })
			t.Run("a namespace that was deleted is noticed", func(t *testing.T) { noticeDeletion(t, e) })
			// The last ones: they stop members.
			t.Run("kills and changes of the leader repeat no ID and cost no error", func(t *testing.T) { disturb(t, e) })
			t.Run("without a quorum nothing is lent", func(t *testing.T) { loseQuorum(t, e) })
		})
	}
}

func TestOnOneNATSServer(t *testing.T) {
	t.Parallel()
	e := newNATS(t, 1)
	t.Run("the store keeps the contract", func(t *testing.T) { runSuite(t, e.newPlace(t)) })
	t.Run("buckets that would lose rows are refused", func(t *testing.T) { refuseBuckets(t, e) })
	t.Run("no read is direct", func(t *testing.T) { readNothingDirectly(t, e) })
	t.Run("keys that were deleted or purged are named", func(t *testing.T) { nameDeletedKeys(t, e) })
}

// The server that runs may be one that is too old: then it is refused, and nothing written.
func TestStoreOnTheNATSServerThatRunsKeepsTheContractOrIsRefused(t *testing.T) {
	t.Parallel()
	addr := natsServer(t)
	p := newBucket(t, addr)
	_, err := p.store(t).Acquire(t.Context(), request())
	if !errors.Is(err, lease.ErrOption) {
		runSuite(t, newBucket(t, addr)) // without that row
		return
	}

	js := p.jetStream(t)
	if version := js.Conn().ConnectedServerVersion(); !strings.Contains(err.Error(), "nats-server "+version+",") {
		t.Errorf("error %v, want one that names the version %s", err, version)
	}

	stream, err := js.Stream(t.Context(), "KV_"+p.Name)
	must(t, err)
	if n := stream.CachedInfo().State.Msgs; n > 0 {
		t.Errorf("the bucket has %d messages, want 0", n)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func runSuite(t *testing.T, p place) {
	store := p.store(t)
	leasetest.Run(t, func(*testing.T) leasestore.Store { return store }, leasetest.Settings{
		Require: func(_ testing.TB, _ leasestore.Store, namespace string) {
			if p.Kind == "etcd" {
				p.require2InEtcd(t, namespace)
			} else {
				p.require2InNATS(t, namespace)
			}
		},
	})
}

// natsServer returns the address of the server at SNOWFLAKE_TEST_NATS or of the installed one, which may be an older one.
func natsServer(t *testing.T) (addr string) {
	t.Helper()
	const variable = "SNOWFLAKE_TEST_NATS"
	skip.Off(t, variable)
	if addr = os.Getenv(variable); addr != "" {
		return addr
	}

	addr = "127.0.0.1:4222"
	if answers(addr) {
		return addr
	}

	program, err := exec.LookPath("nats-server")
	if err != nil {
		skip.Missing(t, variable, "nats: not found at %s, and %v (set %s)", addr, err, variable)
	}

	port := strconv.Itoa(processtest.FreePort(t))
	server := exec.Command(program, "-js", "-sd", t.TempDir(), "-a", "127.0.0.1", "-p", port)
	must(t, server.Start())
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})

	addr = "127.0.0.1:" + port
	processtest.Eventually(t, "an answer of the server", func() bool { return answers(addr) })
	return addr
}

func answers(addr string) bool {
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

// newBucket returns a bucket of the test's own on the server.
func newBucket(t *testing.T, addr string) place {
	t.Helper()
	p := place{Kind: "nats", Addrs: []string{addr}, Name: "sqlflake_" + leasetest.NewToken()}
	js := p.jetStream(t)
	createBucket(t, js, p, 1)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), singlePatience)
		defer cancel()
		if err := js.DeleteKeyValue(ctx, p.Name); err != nil {
			t.Errorf("delete the bucket: %v", err)
		}
	})
	return p
}

func startTogether(t *testing.T, e engine) {
	p := e.newPlace(t)
	processtest.ProcessesStartedTogether(t, p.String(), func() leasestore.Store { return p.store(t) })
}

func request() leasestore.Request {
	return leasestore.Request{
		Namespace: "orders", Layout: snowflake.Default().String(), First: 0, Last: 9,
		Token: leasetest.NewToken(), TTL: time.Hour, Tick: 1_000_000,
	}
}

// acquire returns a grant with a next token.
func acquire(t *testing.T, store leasestore.Store) leasestore.Grant {
	t.Helper()
	grant, err := store.Acquire(t.Context(), request())
	if err != nil {
		t.Fatalf("Acquire: %v", err)
	}
	grant.Next = leasetest.NewToken()
	return grant
}

// engine is a cluster and what differs between etcd and NATS.
type engine struct {
	cluster
	kind string
	// newPlace returns a place of the test's own.
	newPlace func(t *testing.T) place
	// leader returns the member that confirms the writes of the place.
	leader func(ctx context.Context, p place) (*member, error)
}

func newEtcd(t *testing.T, size int) engine {
	t.Helper()
	e := engine{kind: "etcd", cluster: startCluster(t, "etcd", size)}
	client := e.place("").etcdClient(t)
	eventually(t, "the first write", func() error {
		ctx, cancel := context.WithTimeout(t.Context(), callPatience)
		defer cancel()
		_, err := client.Put(ctx, "ready", "")
		return err
	})

	// status returns what a member knows of itself and of the leader. A member that was killed never answers, one on a
	// busy machine late.
	patience := 300 * time.Millisecond
	status := func(ctx context.Context, m *member) (*clientv3.StatusResponse, error) {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		return client.Status(ctx, m.Client[m.Number])
	}

	e.newPlace = func(t *testing.T) place {
		t.Helper()
		return e.place(leasetest.NewToken() + "/")
	}

	e.leader = func(ctx context.Context, _ place) (*member, error) {
		for _, m := range e.cluster {
			if s, err := status(ctx, m); err == nil && s.Leader == s.Header.MemberId {
				return m, nil
			}
		}
		patience = min(2*patience, callPatience)
		return nil, errors.New("no leader")
	}

	return e
}

// newNATS starts servers. Buckets have as many replicas.
func newNATS(t *testing.T, size int) engine {
	t.Helper()
	e := engine{kind: "nats", cluster: startCluster(t, "nats", size)}
	js := e.place("").jetStream(t)
	e.newPlace = func(t *testing.T) place {
		t.Helper()
		p := e.place("b" + leasetest.NewToken())
		createBucket(t, js, p, size)
		return p
	}

	e.leader = func(ctx context.Context, p place) (*member, error) {
		stream, err := js.Stream(ctx, "KV_"+p.Name)
		if err != nil {
			return nil, err
		}
		for _, m := range e.cluster {
			if cluster := stream.CachedInfo().Cluster; cluster != nil && cluster.Leader == m.name() {
				return m, nil
			}
		}
		return nil, errors.New("no leader")
	}

	return e
}

// createBucket waits until the cluster is ready for it.
func createBucket(t *testing.T, js jetstream.JetStream, p place, replicas int) {
	t.Helper()
	eventually(t, "the bucket", func() error {
		ctx, cancel := context.WithTimeout(t.Context(), callPatience)
		defer cancel()
		_, err := js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: p.Name, Replicas: replicas})
		return err
	})
}

// require2InEtcd does what a later version would do that needs to keep this one out.
func (p place) require2InEtcd(t *testing.T, namespace string) {
	t.Helper()
	client := p.etcdClient(t)
	reply, err := client.Get(t.Context(), p.Name+"snowflake/lease/"+namespace+"/", clientv3.WithPrefix())
	if err != nil || len(reply.Kvs) != 3 { // the layout, and two workers
		t.Fatalf("%v, %v; want three keys", reply, err)
	}
	for _, kv := range reply.Kvs {
		_, err := client.Put(t.Context(), string(kv.Key), string(later(t, kv.Value)))
		must(t, err)
	}
}

// require2InNATS is the same for a bucket, whose replicas may be behind.
func (p place) require2InNATS(t *testing.T, namespace string) {
	t.Helper()
	bucket, err := p.jetStream(t).KeyValue(t.Context(), p.Name)
	must(t, err)
	for _, key := range []string{"layout", fmt.Sprintf("%019d", 0), fmt.Sprintf("%019d", 1)} {
		eventually(t, "the row "+key, func() error {
			entry, err := bucket.Get(t.Context(), namespace+"."+key)
			if err == nil {
				_, err = bucket.Update(t.Context(), namespace+"."+key, later(t, entry.Value()), entry.Revision())
			}
			return err
		})
	}
}

// later returns the value in the format of the next version.
func later(t *testing.T, value []byte) []byte {
	t.Helper()
	content := append(bytes.Clone(value[:bytes.LastIndex(value, []byte(`,"checksum"`))]), '}')
	text, err := checksummed.Marshal(json.RawMessage(bytes.Replace(content, []byte("lease 1"), []byte("lease 2"), 1)))
	must(t, err)
	return text
}
