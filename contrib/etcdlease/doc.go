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
