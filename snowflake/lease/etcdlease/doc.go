// Package etcdlease keeps leases of worker numbers in etcd 3.5.6 or newer:
//
//	client, err := clientv3.New(clientv3.Config{
//		Endpoints:            []string{"https://etcd-0:2379", "https://etcd-1:2379", "https://etcd-2:2379"},
//		TLS:                  tlsConfig,
//		DialKeepAliveTime:    10 * time.Second, // notices a member that is gone without a word after 12 s
//		DialKeepAliveTimeout: 2 * time.Second,
//	})
//	store, err := etcdlease.New(client)
//	l, err := lease.Open(ctx, store) // takes a worker
//	defer l.Close(ctx)               // gives it back
//	id, err := l.Generator().Next()
//
// Package kvlease describes the keys, the values and what a wrong clock of a process does. The store does not use the
// clocks of the members, nor leases of etcd.
//
// # Consistency
//
// A change is one transaction that compares the revision of a key. It is confirmed when a majority of the members has it
// on disk, and reads are linearizable (https://etcd.io/docs/v3.6/learning/api_guarantees/). So the loss of a minority,
// with its disks, loses nothing. Versions before 3.5.6 may keep different values on different members after a crash
// (https://github.com/etcd-io/etcd/blob/main/CHANGELOG/README.md). The store never asks for serializable reads, which a
// member answers from what it has. Without a majority each call fails when its context ends, and nothing is lent.
//
// These break the promise that no ID is issued twice:
//
//   - the flag --unsafe-no-fsync, if a majority loses its power at the same time
//   - a cluster that is restored from a snapshot or made anew from one member (--force-new-cluster): it has forgotten what
//     came after. Stop all processes that issue IDs before, and start them when their clocks are past their last IDs by
//     a window of the lease.
//   - a member whose data directory was removed or restored while it keeps its place in the cluster
//   - a row that is deleted by hand, and a namespace that is deleted while processes use it. That is noticed only if
//     all keys of the namespace are gone and etcd still has an old revision with one: if etcd has not compacted it, and
//     the namespace has existed for more revisions than it has been gone for. Owners then start above a floor, as package
//     kvlease describes.
//
// # Operation
//
// gRPC does not allow a DialKeepAliveTime below 10 s, so the window of a lease may end before a member that is gone is
// noticed. Calls go to all members in turn, so others may succeed meanwhile. A client that was closed is final: calls
// return an error that matches os.ErrClosed, and a lease ends.
//
// Each extension is a read and a write of some 400 bytes, every 5 s with the default window. etcd keeps all old values
// until it is told to forget them: set --auto-compaction-retention, for example to 1h, or its space is used up. Its users
// need the right to read and write the keys with the prefix.
package etcdlease
