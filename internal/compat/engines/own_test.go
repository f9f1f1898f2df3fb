//go:build unix && !race

package enginetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sqlflake/sqlflake/contrib/etcdlease"
	"github.com/sqlflake/sqlflake/contrib/natslease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
)

const bucketName = "leases" // on servers of the test's own

// ownServer starts a NATS server in this process, for what the members of a cluster do not have.
func ownServer(t *testing.T, o server.Options) *server.Server {
	t.Helper()
	o.Host, o.Port, o.NoSigs, o.NoLog, o.JetStream, o.StoreDir = "127.0.0.1", server.RANDOM_PORT, true, true, true, t.TempDir()
	s, err := server.NewServer(&o)
	must(t, err)
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})

	if !s.ReadyForConnections(singlePatience) {
		t.Fatal("the server does not start")
	}

	return s
}

func connect(t *testing.T, s *server.Server, opts ...nats.Option) *nats.Conn {
	t.Helper()
	conn, err := nats.Connect(s.ClientURL(), append(documented(), opts...)...)
	must(t, err)
	t.Cleanup(conn.Close)
	return conn
}

// onServer returns JetStream and a store of a connection.
func onServer(t *testing.T, conn *nats.Conn) (jetstream.JetStream, leasestore.Store) {
	t.Helper()
	js, err := jetstream.New(conn)
	must(t, err)
	store, err := natslease.New(js, bucketName)
	must(t, err)
	return js, store
}

func makeBucket(t *testing.T, js jetstream.JetStream) {
	t.Helper()
	_, err := js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: bucketName})
	must(t, err)
}

func TestAClosedClientIsFinal(t *testing.T) {
	t.Parallel()
	conn := connect(t, ownServer(t, server.Options{}))
	_, onNATS := onServer(t, conn)
	conn.Close()
	client, err := place{Addrs: []string{"127.0.0.1:1"}}.etcd()
	must(t, err)
	onEtcd, err := etcdlease.New(client)
	must(t, err)
	_ = client.Close() // the error is that of its context
	claim := leasestore.Claim{
		Namespace: "orders", Worker: 1, Epoch: 1, Token: leasetest.NewToken(), Next: leasetest.NewToken(),
	}

	wantAll(t, os.ErrClosed, onNATS, claim)
	wantAll(t, os.ErrClosed, onEtcd, claim)
}

// wantAll requires the error, or none, of each method of the store.
func wantAll(t *testing.T, want error, store leasestore.Store, claim leasestore.Claim) {
	t.Helper()
	for call, err := range callAll(t.Context(), singlePatience, store, claim) {
		if !errors.Is(err, want) || want == nil && err != nil {
			t.Errorf("%T: %s: error %v, want %v", store, call, err, want)
		}
	}
}

// callAll returns what each method of the store returns, in the order of a lease.
func callAll(ctx context.Context, patience time.Duration, store leasestore.Store, claim leasestore.Claim) map[string]error {
	errs := map[string]error{}
	call := func(name string, method func(ctx context.Context) error) {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		errs[name] = method(ctx)
	}
	call("List", func(ctx context.Context) error { _, err := store.List(ctx, ""); return err })
	call("Extend", func(ctx context.Context) error { _, err := store.Extend(ctx, claim, 99, time.Hour); return err })
	call("Release", func(ctx context.Context) error { return store.Release(ctx, claim, 0) })
	call("Acquire", func(ctx context.Context) error { _, err := store.Acquire(ctx, request()); return err })
	return errs
}

// The rights are those that natslease's documentation names. The server bounds what may be under way to a client,
// so only a large namespace needs the right to acknowledge parts of it.
func TestTheDocumentedRightsAreEnough(t *testing.T) {
	t.Parallel()
	permit := func(subjects ...string) *server.Permissions {
		return &server.Permissions{
			Publish:   &server.SubjectPermission{Allow: subjects},
			Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX.>"}},
		}
	}

	s := ownServer(t, server.Options{Users: []*server.User{
		{Username: "admin", Password: "x"},
		{Username: "lessee", Password: "x", Permissions: permit("$KV.leases.>", "$JS.API.STREAM.INFO.KV_leases",
			"$JS.API.STREAM.MSG.GET.KV_leases", "$JS.API.CONSUMER.CREATE.KV_leases.>", "$JS.API.CONSUMER.DELETE.KV_leases.>",
			"$JS.FC.KV_leases.>")},
		{Username: "reader", Password: "x", Permissions: permit("$JS.API.>", "$JS.FC.>")},
	}})

	as := func(user string) (jetstream.JetStream, leasestore.Store) {
		return onServer(t, connect(t, s, nats.UserInfo(user, "x")))
	}

	admin, _ := as("admin")
	makeBucket(t, admin)
	_, store := as("lessee")
	claim := acquire(t, store).Claim
	fill(t, admin, 10_000)
	wantAll(t, nil, store, claim)
	_, store = as("reader")
	endsWith(t, "Permissions Violation for Publish", func(ctx context.Context) error {
		_, err := store.Extend(ctx, claim, 100, time.Hour)
		return err
	})
}

// endsWith requires that the call ends with its context and says why it has waited. The reason may come late, so the
// call gets more and more time.
func endsWith(t *testing.T, reason string, call func(ctx context.Context) error) {
	t.Helper()
	for patience := 250 * time.Millisecond; ; patience *= 2 {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		err := call(ctx)
		cancel()
		switch {
		case !errors.Is(err, context.DeadlineExceeded):
			t.Fatalf("error %v, want context.DeadlineExceeded", err)
		case strings.Contains(err.Error(), reason):
			t.Log(err)
			return
		case patience > singlePatience:
			t.Fatalf("error %v, want one with %q", err, reason)
		}
	}
}

// fill writes so many copies of a namespace's row.
func fill(t *testing.T, js jetstream.JetStream, rows int) {
	t.Helper()
	bucket, err := js.KeyValue(t.Context(), bucketName)
	must(t, err)
	entry, err := bucket.Get(t.Context(), "orders.0000000000000000000")
	must(t, err)
	text := string(entry.Value()[:bytes.LastIndex(entry.Value(), []byte(`,"checksum"`))])
	for i := 100; i < 100+rows; i++ {
		row := strings.Replace(text, `"worker":0,`, fmt.Sprintf(`"worker":%d,`, i), 1)
		row += fmt.Sprintf(`,"checksum":"%08x"}`, crc32.Checksum([]byte(row), crc32.MakeTable(crc32.Castagnoli)))
		subject := fmt.Sprintf("$KV.%s.orders.%019d", bucketName, i)
		_, err := js.PublishAsync(subject, []byte(row), jetstream.WithStallWait(singlePatience))
		must(t, err)
	}

	<-js.PublishAsyncComplete()
}

// A call whose context ends while a large namespace arrives leaves nothing behind.
func TestReadsThatEndEarlyLeaveNoGoroutine(t *testing.T) {
	js, store := onServer(t, connect(t, ownServer(t, server.Options{})))
	makeBucket(t, js)
	acquire(t, store)
	fill(t, js, 3000)
	ended := 0
	for i := range 150 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*200*time.Microsecond)
		if _, err := store.List(ctx, ""); err != nil {
			ended++
		}
		cancel()
	}

	t.Logf("%d of 150 have ended early", ended)
	eventually(t, "the end of all watchers", func() error {
		var stacks strings.Builder
		if err := pprof.Lookup("goroutine").WriteTo(&stacks, 1); err != nil {
			return err
		}
		if strings.Contains(stacks.String(), "WatchFiltered") {
			return errors.New(stacks.String())
		}
		return nil
	})
}
