//go:build unix && !race

package enginetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/namespace"
	"go.uber.org/zap"

	"github.com/sqlflake/sqlflake/contrib/etcdlease"
	"github.com/sqlflake/sqlflake/contrib/natslease"
	"github.com/sqlflake/sqlflake/internal/processtest"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

// TestMain makes the test binary a server, an issuer or the tests.
func TestMain(m *testing.M) {
	if text, ok := os.LookupEnv(memberVariable); ok {
		os.Exit(serve(text))
	}
	processtest.Main(func(text string) (leasestore.Store, error) {
		var p place
		_ = json.Unmarshal([]byte(text), &p) // the zero place can't be opened
		store, _, err := p.open()
		return store, err
	})
	os.Exit(m.Run())
}

// place is where a store keeps its leases.
type place struct {
	Kind  string   // "etcd" or "nats"
	Addrs []string // host:port
	Name  string   // the prefix or the bucket
}

// String is for processtest.Order.
func (p place) String() string {
	text, _ := json.Marshal(p) // strings never fail
	return string(text)
}

func (p place) open() (store leasestore.Store, closeClient func(), err error) {
	if p.Kind == "etcd" {
		client, err := p.etcd()
		if err != nil {
			return nil, nil, err
		}
		client.KV = namespace.NewKV(client.KV, p.Name)
		store, err = etcdlease.New(client)
		return store, func() { _ = client.Close() }, err
	}

	js, err := p.nats()
	if err != nil {
		return nil, nil, err
	}

	store, err = natslease.New(js, p.Name)
	return store, js.Conn().Close, err
}

// etcd returns a client that logs nothing: the standard error of issuers is for notes.
func (p place) etcd() (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{
		Endpoints: p.Addrs, DialTimeout: 2 * time.Second, Logger: zap.NewNop(),
		DialKeepAliveTime: 10 * time.Second, DialKeepAliveTimeout: 2 * time.Second, // as in etcdlease's documentation
	})
}

// documented returns the options in natslease's documentation, and logs nothing.
func documented() []nats.Option {
	return []nats.Option{
		nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1),
		nats.PingInterval(2 * time.Second), nats.MaxPingsOutstanding(2),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}),
	}
}

func (p place) nats() (jetstream.JetStream, error) {
	conn, err := nats.Connect("nats://"+strings.Join(p.Addrs, ",nats://"), append(documented(),
		nats.ReconnectWait(50*time.Millisecond), nats.ReconnectJitter(50*time.Millisecond, 0), nats.Timeout(time.Second),
		nats.IgnoreDiscoveredServers())...)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return jetstream.New(conn)
}

// store opens the store for the test itself. It repeats calls.
func (p place) store(t *testing.T) leasestore.Store {
	t.Helper()
	store, closeClient, err := p.open()
	must(t, err)
	t.Cleanup(closeClient)
	return patient{store}
}

// patient repeats a call without an answer, as a lease does: on a busy machine members lose their leader.
type patient struct{ leasestore.Store }

func (p patient) Acquire(ctx context.Context, r leasestore.Request) (grant leasestore.Grant, err error) {
	repeat(ctx, func(ctx context.Context) error { grant, err = p.Store.Acquire(ctx, r); return err })
	return grant, err
}

func (p patient) Extend(ctx context.Context, c leasestore.Claim, horizon int64, ttl time.Duration) (at time.Time, err error) {
	repeat(ctx, func(ctx context.Context) error { at, err = p.Store.Extend(ctx, c, horizon, ttl); return err })
	return at, err
}

func (p patient) Release(ctx context.Context, c leasestore.Claim, horizon int64) (err error) {
	repeat(ctx, func(ctx context.Context) error { err = p.Store.Release(ctx, c, horizon); return err })
	return err
}

func (p patient) List(ctx context.Context, namespace string) (entries []leasestore.Entry, err error) {
	repeat(ctx, func(ctx context.Context) error { entries, err = p.Store.List(ctx, namespace); return err })
	return entries, err
}

func repeat(ctx context.Context, call func(ctx context.Context) error) {
	for begin := time.Now(); ; {
		one, cancel := context.WithTimeout(ctx, callPatience)
		err := call(one)
		late := one.Err() != nil && ctx.Err() == nil
		cancel()
		if err == nil || !late || time.Since(begin) > singlePatience {
			return
		}
	}
}

func (p place) etcdClient(t *testing.T) *clientv3.Client {
	t.Helper()
	client, err := p.etcd()
	must(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func (p place) jetStream(t *testing.T) jetstream.JetStream {
	t.Helper()
	js, err := p.nats()
	must(t, err)
	t.Cleanup(js.Conn().Close)
	return js
}

// refuseBuckets: package natslease tests each setting.
func refuseBuckets(t *testing.T, e engine) {
	p := e.newPlace(t)
	js := p.jetStream(t)
	stream, err := js.Stream(t.Context(), "KV_"+p.Name)
	must(t, err)
	c := stream.CachedInfo().Config
	c.MaxAge = time.Hour
	stream, err = js.UpdateStream(t.Context(), c)
	must(t, err)
	if _, err := p.store(t).Acquire(t.Context(), request()); !errors.Is(err, lease.ErrOption) || !strings.Contains(err.Error(), "has a TTL of 1h0m0s") {
		t.Errorf("error %v, want ErrOption with the TTL", err)
	}

	if info, err := stream.Info(t.Context()); err != nil || info.State.Msgs > 0 {
		t.Errorf("%+v, %v; want no messages", info, err)
	}

	c.MaxAge, c.MaxMsgsPerSubject = 0, 64
	_, err = js.UpdateStream(t.Context(), c)
	must(t, err)
	acquire(t, p.store(t))
	p.Name = "missing"
	if _, err := p.store(t).Acquire(t.Context(), request()); !errors.Is(err, jetstream.ErrBucketNotFound) {
		t.Errorf("error %v, want ErrBucketNotFound", err)
	}
}

// readNothingDirectly listens to the requests of direct reads, which any replica answers.
func readNothingDirectly(t *testing.T, e engine) {
	p := e.newPlace(t)
	js := p.jetStream(t)
	direct, err := js.Conn().SubscribeSync("$JS.API.DIRECT.GET.>")
	must(t, err)
	store := p.store(t)
	wantAll(t, nil, store, acquire(t, store).Claim)
	// The reads of the usual client are direct and do come.
	bucket, err := js.KeyValue(t.Context(), p.Name)
	must(t, err)
	if _, err := bucket.Get(t.Context(), "marker"); !errors.Is(err, jetstream.ErrKeyNotFound) {
		t.Fatalf("error %v, want ErrKeyNotFound", err)
	}

	request, err := direct.NextMsg(singlePatience)
	must(t, err)
	if !strings.HasSuffix(request.Subject, ".marker") {
		t.Errorf("the store has asked %s", request.Subject)
	}
}

// nameDeletedKeys: NATS keeps a marker in the place of a key.
func nameDeletedKeys(t *testing.T, e engine) {
	for name, remove := range map[string]func(jetstream.KeyValue) error{
		"deleted": func(b jetstream.KeyValue) error { return b.Delete(t.Context(), "orders.0000000000000000000") },
		"purged":  func(b jetstream.KeyValue) error { return b.Purge(t.Context(), "orders.0000000000000000000") },
	} {
		p := e.newPlace(t)
		store := p.store(t)
		claim := acquire(t, store).Claim
		bucket, err := p.jetStream(t).KeyValue(t.Context(), p.Name)
		if err == nil {
			err = remove(bucket)
		}

		must(t, err)
		for call, err := range callAll(t.Context(), singlePatience, store, claim) {
			if want := `"orders/0000000000000000000" was deleted or purged`; !errors.Is(err, lease.ErrDamaged) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s, %s: error %v, want ErrDamaged with %s", name, call, err, want)
			}
		}
	}
}

// noticeDeletion deletes all that the engine has of a namespace. A store that has never known it notices.
func noticeDeletion(t *testing.T, e engine) {
	p := e.newPlace(t)
	floor := func(namespace string) time.Time {
		t.Helper()
		r := request()
		r.Namespace, r.Reach = namespace, time.Minute
		grant, err := p.store(t).Acquire(t.Context(), r)
		must(t, err)
		return grant.Floor
	}

	for _, namespace := range []string{"orders", "orders", "bills"} {
		if at := floor(namespace); !at.IsZero() {
			t.Errorf("%s has the floor %v", namespace, at)
		}
	}

	var err error
	if e.kind == "etcd" {
		_, err = p.etcdClient(t).Delete(t.Context(), p.Name, clientv3.WithPrefix())
	} else {
		var stream jetstream.Stream
		if stream, err = p.jetStream(t).Stream(t.Context(), "KV_"+p.Name); err == nil {
			err = stream.Purge(t.Context())
		}
	}

	must(t, err)
	for _, namespace := range []string{"orders", "orders", "bills"} {
		if wait := time.Until(floor(namespace)); wait < 0 || wait > time.Minute {
			t.Errorf("after the deletion the floor of %s is %v ahead, want up to a minute", namespace, wait)
		}
	}
}

// refuseOthers puts what another program may write where the store looks.
func refuseOthers(t *testing.T, e engine) {
	for name, key := range map[string]string{"below the namespace": "orders/port", "beside it": "port"} {
		t.Run(name, func(t *testing.T) {
			p := e.newPlace(t)
			store := p.store(t)
			var err error
			if e.kind == "etcd" {
				_, err = p.etcdClient(t).Put(t.Context(), p.Name+"snowflake/lease/"+key, "5432")
			} else {
				_, err = p.jetStream(t).Publish(t.Context(), "$KV."+p.Name+"."+strings.ReplaceAll(key, "/", "."), []byte("5432"))
			}

			must(t, err)
			if _, err := store.List(t.Context(), ""); !errors.Is(err, lease.ErrDamaged) {
				t.Errorf("List: error %v, want ErrDamaged", err)
			}

			if strings.HasPrefix(key, "orders/") {
				if _, err := store.Acquire(t.Context(), request()); !errors.Is(err, lease.ErrDamaged) {
					t.Errorf("Acquire: error %v, want ErrDamaged", err)
				}
			}
		})
	}
}
