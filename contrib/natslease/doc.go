// Package natslease keeps leases of worker numbers in a key-value bucket of NATS JetStream:
//
//	conn, err := nats.Connect("nats://nats-0,nats://nats-1,nats://nats-2",
//		nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), // by default it gives up for good after 2 minutes
//		nats.PingInterval(2*time.Second), nats.MaxPingsOutstanding(2)) // notices a server that vanished
//	js, err := jetstream.New(conn)
//	_, err = js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: "leases", Replicas: 3}) // once
//	store, err := natslease.New(js, "leases")
//	l, err := lease.Open(ctx, store) // takes a worker
//	defer l.Close(ctx)               // gives it back
//	id, err := l.Generator().Next()
//
// Package kvlease describes keys, values and clocks; the servers' clocks are not used. A change is one message that
// names the sequence number of the last one of its subject. With several replicas it is confirmed when a majority has
// it. Without a majority each call fails when its context ends, and nothing is lent. A row is read from the leader of
// the stream, never directly; a namespace from any replica, until the newest row that the leader knows has come.
//
// Acquire and List return lease.ErrOption for a bucket that could lose rows or refuse extensions, and for an old server
// at the connection; they do not see the other servers. Needed are nats-server 2.10.23, as 2.10.20 to 2.10.22 may lose
// a stream when they are killed (https://github.com/nats-io/nats-server/issues/6888), and 2.11 for several replicas:
// older ones may accept two messages for one sequence number (https://github.com/nats-io/nats-server/pull/6194).
//
// IDs may repeat, and a client can't see it, after:
//
//   - a crash with a sync_interval other than always. The default is 2 minutes. With several replicas one crashed
//     machine is enough if others are slow (https://jepsen.io/analyses/nats-2.12.1).
//   - damaged or restored files on one server, which can become the leader
//   - the removal of servers while others fail (https://github.com/nats-io/nats-server/issues/7545)
//   - a server of the cluster that is older than the one of the connection
//   - a bucket that is restored from a backup or deleted, and messages that are removed while processes use them.
//     Stores notice it if all messages of a namespace are deleted and they have used it before, or the first message of
//     the bucket was removed as well. Owners then start above a floor (package kvlease).
//
// A key that was deleted or purged (nats kv del, nats kv purge) is lease.ErrDamaged for its namespace until its last
// value is written again. If that is unknown, stop every process of the namespace, check the clocks, wait for a window
// and 10 s, and purge the subjects of the namespace from the stream.
//
// README.md is about operation: load, elections, closed connections, rights.
package natslease
