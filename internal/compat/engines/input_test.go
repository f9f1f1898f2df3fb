//go:build unix && !race

package enginetest

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// refuseBuckets: package natslease tests each setting.
func refuseBuckets(t *testing.T, e engine) {
	p := e.newPlace(t)
	js := p.jetStream(t)
	stream, err := js.Stream(t.Context(), "KV_"+p.Name)
	if err != nil {
		t.Fatal(err)
	}
	c := stream.CachedInfo().Config
	c.MaxAge = time.Hour
	if stream, err = js.UpdateStream(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if _, err := p.store(t).Acquire(t.Context(), request()); !errors.Is(err, lease.ErrOption) || !strings.Contains(err.Error(), "has a TTL of 1h0m0s") {
		t.Errorf("error %v, want ErrOption with the TTL", err)
	}
	if info, err := stream.Info(t.Context()); err != nil || info.State.Msgs > 0 {
		t.Errorf("%+v, %v; want no messages", info, err)
	}
	c.MaxAge, c.MaxMsgsPerSubject = 0, 64
	if _, err = js.UpdateStream(t.Context(), c); err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
	store := p.store(t)
	wantAll(t, nil, store, acquire(t, store).Claim)
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
			store := p.store(t)
			var err error
			if e.kind == "etcd" {
				_, err = p.etcdClient(t).Put(t.Context(), p.Name+"snowflake/lease/"+key, "5432")
			} else {
				_, err = p.jetStream(t).Publish(t.Context(), "$KV."+p.Name+"."+strings.ReplaceAll(key, "/", "."), []byte("5432"))
			}
			if err != nil {
				t.Fatal(err)
			}
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
