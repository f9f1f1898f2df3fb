// Package redislease keeps leases of worker numbers in Redis or Valkey: it is a
// [lease.Store] on go-redis.
//
//	client := redis.NewClient(&redis.Options{Addr: "localhost:6379"})
//	store, err := redislease.New(client, redislease.WithGuard(11*time.Second))
//	...
//	leased, err := lease.Open(ctx, store)
//
// Each call is one Lua script on one key, so the store works with a single server,
// Sentinel, Cluster and Ring alike. A namespace is one hash, whose key is the
// prefix and the namespace in braces; it has a field for each worker that was ever
// taken, and one for the layout. Workers expire by the clock of Redis (the command
// TIME), not by a time to live of the key: a row holds the horizon, and that must
// never vanish. An acquisition reads the whole hash, and Redis does nothing else
// meanwhile. It needs Redis 5 or newer.
//
// # What a Redis that forgets means
//
// That no ID comes twice rests on a store that keeps what it has answered. Redis
// does so with appendonly yes and appendfsync always, as long as no replica is
// promoted. Otherwise it may forget:
//
//   - appendfsync everysec, the default of an append-only file, loses about a
//     second when the machine crashes; snapshots alone lose minutes; without
//     either, every restart loses all
//     (https://redis.io/docs/latest/operate/oss_and_stack/management/persistence/)
//   - replication is asynchronous: a promoted replica lacks what the primary has
//     answered last, in Sentinel and in Cluster
//     (https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/)
//   - FLUSHALL, and an eviction policy that takes keys without a time to live
//
// Whoever takes a worker after that starts at a horizon that is too low, or at
// none, and issues the IDs of the owner before again. [WithGuard] answers it: an
// owner then starts so far ahead of its clock that it is beyond all that an owner
// before can have been granted. So an ID comes twice only if Redis forgets and a
// clock is wrong by more than the guard has to spare, both at the same time. Use a
// guard, or a Redis that does not forget, or one of the stores on SQL.
//
// An eviction policy is found out: with allkeys-lru and the other policies on all
// keys Acquire returns an error, if the client may read the setting with CONFIG GET.
// Where it may not, set maxmemory-policy to noeviction or to one of the volatile
// policies, which leave keys without a time to live alone.
package redislease
