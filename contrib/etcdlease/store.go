// Package etcdlease keeps leases of worker numbers in etcd 3.5.6 or newer:
//
//	client, err := clientv3.New(clientv3.Config{
//		Endpoints:            []string{"https://etcd-0:2379", "https://etcd-1:2379", "https://etcd-2:2379"},
//		TLS:                  tlsConfig,
//		DialKeepAliveTime:    10 * time.Second, // notices a member that vanished after 12 s
//		DialKeepAliveTimeout: 2 * time.Second,
//	})
//	store, err := etcdlease.New(client)
//	l, err := lease.Open(ctx, store) // takes a worker
//	defer l.Close(ctx)               // gives it back
//	id, err := l.Generator().Next()
//
// Package kvlease describes keys, values and clocks; the clocks of the members, and etcd's own leases, are not used. A
// change is one transaction that compares the revision of a key. It is confirmed when a majority of the members has it
// on disk, and reads are linearizable (https://etcd.io/docs/v3.6/learning/api_guarantees/). So the loss of a minority,
// with its disks, loses nothing. Versions before 3.5.6 may keep different values on different members after a crash
// (https://github.com/etcd-io/etcd/blob/main/CHANGELOG/README.md). Without a majority each call fails when its context
// ends, and nothing is lent.
//
// IDs may repeat after:
//
//   - a power cut of a majority with the flag --unsafe-no-fsync
//   - a cluster that is restored from a snapshot or made anew from one member (--force-new-cluster). Stop all processes
//     that issue IDs before, and start them when their clocks are past their last IDs by a window of the lease.
//   - a member whose data directory was removed or restored while it keeps its place in the cluster
//   - a row or a namespace that is deleted while processes use it. Stores notice it if all keys of the namespace are
//     deleted, etcd has not compacted its last revision, and it existed for more revisions than it has been gone for.
//     Owners then start above a floor (package kvlease).
//
// gRPC does not allow a DialKeepAliveTime below 10 s, so the window of a lease may end before a vanished member is
// noticed. Calls go to all members in turn, so others may succeed meanwhile. A closed client is final: calls return an
// error that matches os.ErrClosed, and a lease ends.
//
// An extension is a read and a write of some 400 bytes, every 5 s with the default window. etcd keeps old values until
// it compacts them: set --auto-compaction-retention, for example to 1h, or its space is used up. Users need the right
// to read and write the keys below "snowflake/lease/".
package etcdlease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/sqlflake/sqlflake/contrib/kvlease"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

const root = "snowflake/lease/" // what the keys begin with

// New returns a store that uses the client, which the caller closes. It does not talk to etcd. It returns
// lease.ErrOption for a nil client. The keys begin with "snowflake/lease/", and no other program may use that place.
// Package go.etcd.io/etcd/client/v3/namespace puts another prefix before it.
func New(client *clientv3.Client) (*kvlease.Store, error) {
	if client == nil {
		return nil, fmt.Errorf("%w: the etcd client is nil", lease.ErrOption)
	}
	return kvlease.New(&engine{client})
}

// engine is etcd as a [kvlease.KV]. No read is serializable, so each one is linearizable.
type engine struct{ client *clientv3.Client }

func (e *engine) Get(ctx context.Context, key string) (kvlease.Pair, error) {
	reply, err := e.client.Get(ctx, root+key)
	if err != nil || len(reply.Kvs) == 0 {
		return kvlease.Pair{}, e.explain(err)
	}
	return pairOf(reply.Kvs[0]), nil
}

func (e *engine) List(ctx context.Context, prefix string) ([]kvlease.Pair, error) {
	reply, err := e.client.Get(ctx, root+prefix, clientv3.WithPrefix())
	if err != nil {
		return nil, e.explain(err)
	}
	pairs := make([]kvlease.Pair, len(reply.Kvs))
	for i, kv := range reply.Kvs {
		pairs[i] = pairOf(kv)
	}
	return pairs, nil
}

func pairOf(kv *mvccpb.KeyValue) kvlease.Pair {
	return kvlease.Pair{
		Key:      strings.TrimPrefix(string(kv.Key), root),
		Value:    kv.Value,
		Revision: strconv.FormatInt(kv.ModRevision, 10),
	}
}

func (e *engine) Swap(ctx context.Context, key string, value []byte, revision string) (bool, error) {
	key = root + key
	modified, err := strconv.ParseInt(cmp.Or(revision, "0"), 10, 64) // 0: there is no such key
	if err != nil {
		return false, err
	}

	reply, err := e.client.Txn(ctx).
		If(clientv3.Compare(clientv3.ModRevision(key), "=", modified)).
		Then(clientv3.OpPut(key, string(value))).
		Commit()
	if err != nil {
		return false, e.explain(err)
	}

	return reply.Succeeded, nil
}

// Existed looks 1, 2, 4, 8 ... revisions back. So it finds keys that have been gone for fewer revisions than they had
// been there for, and whose last revision was not compacted.
func (e *engine) Existed(ctx context.Context, prefix string) (bool, error) {
	count := func(opts ...clientv3.OpOption) (*clientv3.GetResponse, error) {
		return e.client.Get(ctx, root+prefix, append(opts, clientv3.WithPrefix(), clientv3.WithCountOnly())...)
	}

	reply, err := count()
	for back := int64(1); err == nil && reply.Count == 0; back *= 2 {
		if reply.Header.Revision <= back {
			return false, nil
		}
		reply, err = count(clientv3.WithRev(reply.Header.Revision - back))
	}

	if errors.Is(err, rpctypes.ErrCompacted) {
		return false, nil
	}

	return err == nil, e.explain(err)
}

// explain adds the state of the connection, because the client drops the reason when a context ends: "transient
// failure" means that no member can be reached or that TLS fails, "ready" that a member does not answer. A client that
// was closed is final.
func (e *engine) explain(err error) error {
	if err == nil {
		return nil
	}
	state := strings.ToLower(strings.ReplaceAll(e.client.ActiveConnection().GetState().String(), "_", " "))
	if e.client.Ctx().Err() != nil {
		err = fmt.Errorf("%w%.0w", err, os.ErrClosed) // without the text of the latter, which is about a file
	}
	return fmt.Errorf("etcd at %q, connection %s: %w", e.client.Endpoints(), state, err)
}
