//go:build unix && !race

package enginetest

import (
	"context"
	"encoding/json"
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
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

// TestMain makes the test binary a server, an issuer or the tests.
func TestMain(m *testing.M) {
	if text, ok := os.LookupEnv(memberVariable); ok {
		os.Exit(serve(text))
	}
	processtest.Main(func(text string) (leasestore.Store, error) {
		var p place
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			return nil, err
		}
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
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func (p place) jetStream(t *testing.T) jetstream.JetStream {
	t.Helper()
	js, err := p.nats()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(js.Conn().Close)
	return js
}
