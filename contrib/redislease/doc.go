// Package redislease keeps leases of worker numbers in Redis or Valkey, with go-redis:
//
//	client := redis.NewClient(&redis.Options{Addr: "localhost:6379"})
//	store, err := redislease.New(client, redislease.WithGuard(11*time.Second)) // for a Redis that may forget
//	l, err := lease.Open(ctx, store)                                           // takes a worker
//	defer l.Close(ctx)                                                         // gives it back
//	id, err := l.Generator().Next()
//
// Each call is one Lua script on one key, so the store works with a single server, Sentinel, Cluster and Ring. It needs
// Redis 5 or newer. An acquisition is two: one reads the namespace, the other takes a worker if its row and the layout
// are as they were read.
//
// A namespace is one hash, whose key is the prefix and the namespace in braces, with a field for each worker that was
// ever taken and one for the layout. Workers expire by Redis's clock (the command TIME) and not by a time to live of
// the key, since a row holds the horizon and must not vanish. An acquisition reads the whole hash.
//
// # A Redis that forgets
//
// That no ID is issued twice requires a store that keeps what it has confirmed. Redis does so with appendonly yes and
// appendfsync always, as long as no replica is promoted. Otherwise it may forget:
//
//   - appendfsync everysec, the default of an append-only file, loses about a second when the machine crashes;
//     snapshots alone lose minutes; without either, every restart loses all
//     (https://redis.io/docs/latest/operate/oss_and_stack/management/persistence/)
//   - replication is asynchronous: a promoted replica lacks the last answers of the primary, in Sentinel and in Cluster
//     (https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/)
//   - FLUSHALL, and an eviction policy that drops keys without a time to live
//
// The next owner of a worker then starts at a horizon that is too low, or at none, and may issue the IDs of the earlier
// owner again. [WithGuard] prevents that: an owner starts so far ahead of its clock that it is above all that an
// earlier owner can have been granted. An ID is then issued twice only if Redis forgets and, at the same time, a clock
// is wrong by more than the guard allows for. Use a guard, or a Redis that does not forget, or sqllease.
//
// With allkeys-lru and the other eviction policies on all keys Acquire returns an error, if the client may read the
// setting with CONFIG GET or INFO. A store that has seen a safe policy before lends the worker with a warning
// ([leasestore.Grant].Warning). Extensions do not ask. If the client may do neither, set maxmemory-policy to noeviction
// or to one of the volatile policies, which never drop keys without a time to live.
package redislease
