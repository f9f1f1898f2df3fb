// Package natslease keeps leases of worker numbers in a key-value bucket of NATS JetStream:
//
//	conn, err := nats.Connect("nats://nats-0,nats://nats-1,nats://nats-2",
//		nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), // it gives up for good after 2 minutes by default
//		nats.PingInterval(2*time.Second), nats.MaxPingsOutstanding(2)) // notices a server that is gone without a word
//	js, err := jetstream.New(conn)
//	_, err = js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: "leases", Replicas: 3}) // once
//	store, err := natslease.New(js, "leases")
//	l, err := lease.Open(ctx, store) // takes a worker
//	defer l.Close(ctx)               // gives it back
//	id, err := l.Generator().Next()
//
// Package kvlease describes the keys, the values and what a wrong clock of a process does. The store does not use the
// clocks of the servers.
//
// # Consistency
//
// A change is one message that names the sequence number of the last one of its subject. With several replicas it is
// confirmed when a majority has it. Without a majority each call fails when its context ends, and nothing is lent.
//
// Buckets allow direct reads by default, which any replica and any mirror answers from what it has. The store does not use
// them: it asks the leader of the stream. To read a whole namespace it watches it, on any replica, until the newest row
// that the leader knows has come. A leader that was cut off from the others may still answer with an old row. Its answer
// does no harm, because a write must succeed before a worker is called lost or is lent.
//
// Acquire and List return lease.ErrOption for a bucket that would lose horizons: one with a TTL, in memory, that discards
// old messages when it is full, that is a mirror, has sources or transforms subjects. So they do for one that would refuse
// extensions: with DiscardNewPerSubject, or with a limit on its size and a history above 1. A history of any length is fine
// otherwise, since it has the newest row in any case.
//
// Servers must be nats-server 2.10.23 or newer, since 2.10.20 to 2.10.22 may lose a stream when they are killed
// (https://github.com/nats-io/nats-server/issues/6888). For a bucket with several replicas they must be 2.11 or newer: older
// ones may accept two messages for one sequence number (https://github.com/nats-io/nats-server/pull/6194). Acquire and List
// return lease.ErrOption if the server of the connection is older; they do not see the other servers.
//
// These break the promise that no ID is issued twice, and a client can't see them:
//
//   - the server's sync_interval, 2 minutes by default. What was confirmed since then is lost when the machine of a bucket
//     with one replica crashes. With several replicas the crash of one machine is enough if others are slow or paused at
//     that time (https://jepsen.io/analyses/nats-2.12.1, https://github.com/nats-io/nats-server/issues/7567). Set it to
//     always: then neither a crash nor a killed process loses anything.
//   - files that were damaged or set back on one server: a server that has lost messages can become the leader (the same
//     analysis)
//   - servers that are removed from a cluster while others fail (https://github.com/nats-io/nats-server/issues/7545)
//   - a server of the cluster that is older than the one of the connection
//   - a bucket that is restored from a backup, or deleted and created again, and messages that are removed from its
//     stream while processes use them. If all messages of a namespace are removed this is noticed by a store that has used
//     it before, and by all others if the first message of the bucket is among them, as after a purge of the whole stream.
//     Owners then start above a floor, as package kvlease describes.
//
// A key that is deleted or purged as one of the bucket (nats kv del, nats kv purge) leaves a marker, and is lease.ErrDamaged
// for its namespace until its last value is written again. If that is not known, stop every process of the namespace,
// check the clocks, wait for a window and 10 s, and purge the subjects of the namespace from the stream.
//
// Use etcdlease or sqllease if these can't be excluded.
//
// # Operation
//
// Each extension is a read and a write of some 400 bytes, every 5 s with the default window. Each acquisition creates a
// consumer for a moment, which costs a cluster far more than the rows that it delivers: if hundreds of processes start at
// the same instant, some wait for many seconds.
//
// A connection that was closed is final: calls return an error that matches os.ErrClosed, and a lease ends. The client
// closes it by itself after MaxReconnects, or when a server refuses its credentials twice (nats.IgnoreAuthErrorAbort).
//
// When the leader of a stream fails, NATS needs some seconds to elect another one. A window of 30 s
// ([lease.WithWindow]) is longer than that; with the default of 10 s calls may have to wait.
//
// Users need the right to publish to $KV.leases.> (with a domain to $JS.hub.API.$KV.leases.>) and, below $JS.API, to
// STREAM.INFO.KV_leases, STREAM.MSG.GET.KV_leases, CONSUMER.CREATE.KV_leases.> and CONSUMER.DELETE.KV_leases.>, to publish
// to $JS.FC.KV_leases.>, which acknowledges parts of a large namespace, and to subscribe to _INBOX.>. Of a right that is
// missing an error tells only as the last error of the connection.
package natslease
