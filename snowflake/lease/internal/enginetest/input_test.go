//go:build unix && !race

package enginetest

import (
	"context"
	"crypto/tls"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/etcdlease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
)

func onOneNATSServer(t *testing.T, e engine) {
	for _, test := range []struct {
		promise string
		run     func(t *testing.T, e engine)
	}{
		{"the store keeps the contract", func(t *testing.T, e engine) { runSuite(t, e.newPlace(t)) }},
		{"buckets that would lose rows are refused", refuseBuckets},
		{"no read is direct", readNothingDirectly},
		{"keys that were deleted or purged are named", nameDeletedKeys},
	} {
		t.Run(test.promise, func(t *testing.T) { test.run(t, e) })
	}
}

func refuseBuckets(t *testing.T, e engine) {
	origin := e.newPlace(t)
	js := origin.jetStream(t)
	for _, test := range []struct {
		name string
		edit func(c *jetstream.StreamConfig)
		why  string // "" means that it is accepted
	}{
		{"as made by CreateKeyValue", func(*jetstream.StreamConfig) {}, ""},
		{"a history", func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = 64 }, ""},
		{"a limit that refuses new rows", func(c *jetstream.StreamConfig) { c.MaxBytes = 1 << 20 }, ""},
		{"a TTL", func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour }, "has a TTL of 1h0m0s"},
		{"in memory", func(c *jetstream.StreamConfig) { c.Storage = jetstream.MemoryStorage }, "in memory only"},
		{"a limit that discards old rows", func(c *jetstream.StreamConfig) {
			c.Discard, c.MaxBytes = jetstream.DiscardOld, 1<<20
		}, "discards old horizons"},
		{"a limit and a history", func(c *jetstream.StreamConfig) {
			c.MaxBytes, c.MaxMsgsPerSubject = 1<<20, 64
		}, "keeps old values and has a limit"},
		{"no new values", func(c *jetstream.StreamConfig) { c.DiscardNewPerSubject = true }, "DiscardNewPerSubject"},
		{"no acknowledgements", func(c *jetstream.StreamConfig) { c.NoAck = true }, "does not confirm"},
		{"writes later", func(c *jetstream.StreamConfig) { c.PersistMode = jetstream.AsyncPersistMode }, "has not written"},
		{"a queue", func(c *jetstream.StreamConfig) { c.Retention = jetstream.WorkQueuePolicy }, "has the retention"},
		{"interest", func(c *jetstream.StreamConfig) { c.Retention = jetstream.InterestPolicy }, "has the retention"},
		{"a mirror", func(c *jetstream.StreamConfig) {
			c.Subjects, c.Mirror = nil, &jetstream.StreamSource{Name: "KV_" + origin.Name}
		}, "is a mirror"},
		{"sources", func(c *jetstream.StreamConfig) {
			c.Sources = []*jetstream.StreamSource{{Name: "KV_" + origin.Name}}
		}, "has sources"},
		{"transformed subjects", func(c *jetstream.StreamConfig) {
			c.SubjectTransform = &jetstream.SubjectTransformConfig{Source: c.Subjects[0], Destination: "x.>"}
		}, "transforms subjects"},
		{"sealed", func(c *jetstream.StreamConfig) { c.Sealed = true }, "is sealed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := origin
			p.Name = "b" + leasetest.NewToken()
			c := jetstream.StreamConfig{
				Name: "KV_" + p.Name, Subjects: []string{"$KV." + p.Name + ".>"}, MaxMsgsPerSubject: 1,
				Discard: jetstream.DiscardNew, AllowDirect: true, AllowRollup: true,
			}
			test.edit(&c)
			stream, err := js.CreateStream(t.Context(), c)
			if err != nil && c.Sealed { // only an update can seal
				c.Sealed = false
				if _, err = js.CreateStream(t.Context(), c); err == nil {
					c.Sealed, c.Discard = true, jetstream.DiscardOld
					stream, err = js.UpdateStream(t.Context(), c)
				}
			}
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), singlePatience)
			defer cancel()
			_, err = p.store(t).Acquire(ctx, request())
			if test.why == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.Is(err, lease.ErrOption) || !strings.Contains(err.Error(), test.why) {
				t.Errorf("error %v, want ErrOption with %q", err, test.why)
			}
			if info, err := stream.Info(t.Context()); err != nil || info.State.Msgs > 0 {
				t.Errorf("%+v, %v; want no messages", info, err)
			}
		})
	}
	t.Run("missing", func(t *testing.T) {
		p := origin
		p.Name = "missing"
		if _, err := p.store(t).Acquire(t.Context(), request()); !errors.Is(err, jetstream.ErrBucketNotFound) {
			t.Errorf("error %v, want ErrBucketNotFound", err)
		}
	})
}

// readNothingDirectly listens to the requests of direct reads, which any replica answers.
func readNothingDirectly(t *testing.T, e engine) {
	p := e.newPlace(t)
	js := p.jetStream(t)
	direct, err := js.Conn().SubscribeSync("$JS.API.DIRECT.GET.>")
	if err != nil {
		t.Fatal(err)
	}
	store := p.store(t)
	claim := acquire(t, store).Claim
	if _, err := store.Extend(t.Context(), claim, 5, time.Hour); err != nil {
		t.Error(err)
	}
	if _, err := store.List(t.Context(), ""); err != nil {
		t.Error(err)
	}
	if err := store.Release(t.Context(), claim, 5); err != nil {
		t.Error(err)
	}
	// The reads of the usual client are direct and do come.
	bucket, err := js.KeyValue(t.Context(), p.Name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bucket.Get(t.Context(), "marker"); !errors.Is(err, jetstream.ErrKeyNotFound) {
		t.Fatalf("error %v, want ErrKeyNotFound", err)
	}
	request, err := direct.NextMsg(singlePatience)
	if err != nil {
		t.Fatal(err)
	}
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
		if err != nil {
			t.Fatal(err)
		}
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
		if err != nil {
			t.Fatal(err)
		}
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
	if err != nil {
		t.Fatal(err)
	}
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
			e.put(t, p, key, "5432")
			store := p.store(t)
			if _, err := store.List(t.Context(), ""); !errors.Is(err, lease.ErrDamaged) {
				t.Errorf("List: error %v, want ErrDamaged", err)
			}
			if strings.HasPrefix(key, "orders/") {
				_, err := store.Acquire(t.Context(), request())
				if !errors.Is(err, lease.ErrDamaged) {
					t.Errorf("Acquire: error %v, want ErrDamaged", err)
				}
				t.Log(err)
			}
		})
	}
}

// put writes a value as another program does.
func (e engine) put(t *testing.T, p place, key, value string) {
	t.Helper()
	var err error
	if e.kind == "etcd" {
		_, err = p.etcdClient(t).Put(t.Context(), p.Name+key, value)
	} else {
		_, err = p.jetStream(t).Publish(t.Context(), "$KV."+p.Name+"."+strings.ReplaceAll(key, "/", "."), []byte(value))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// failWithoutTrust connects with TLS to servers that have none.
func failWithoutTrust(t *testing.T, e engine) {
	if e.kind == "nats" {
		t.Skip("the caller makes the connection, and sees the error")
	}
	p := e.newPlace(t)
	client, err := clientv3.New(clientv3.Config{Endpoints: p.Addrs, TLS: &tls.Config{}, Logger: zap.NewNop()}) //nolint:gosec // no bytes flow
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	store, err := etcdlease.New(client)
	if err != nil {
		t.Fatal(err)
	}
	endsWith(t, "connection transient failure", func(ctx context.Context) error {
		_, err := store.Acquire(ctx, request())
		return err
	})
}
