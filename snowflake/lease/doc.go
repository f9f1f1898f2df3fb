// Package lease gives each process its own worker number, a part of its IDs. So no ID is issued twice, whatever clocks,
// pauses, kills and networks do:
//
//	l, err := sqllease.Open(ctx, db, sqldb.Postgres) // or MySQL, SQLite; creates tables, takes a worker
//	defer l.Close(ctx)                               // gives it back
//	id, err := l.Generator().Next()
//
// A store, in most cases a database, keeps the numbers and lends one to each process while it runs.
//
// # The rule
//
// The store has a horizon per worker. Its owner issues only IDs with a time below it, once the store has committed it.
// A new owner starts at the old horizon with the next epoch, in which the former one can't raise it. So the IDs of two
// owners of one worker never overlap. Clocks, pauses and expiry decide when a worker changes hands, but not what its
// owners may issue. The lease raises the horizon at half of its window ([WithWindow]). Close lowers the horizon to the
// tick after the last ID, so the next owner does not wait. After a crash it may have to, up to a window, if no other
// worker is free.
//
// Each extension also replaces the owner's token. If the process was copied while it ran, as in a cloned virtual
// machine, the second copy to extend learns that it has lost the worker. It stops at once and takes another one.
//
// No ID is issued twice in a namespace, as long as the store keeps what it has committed. Package sqllease also covers
// the promotion of a replica without the last commits, if clocks agree within [WithMaxSkew]. README.md lists what
// happens at each event and what is not covered, PRODUCTION.md what an operator does.
//
// # Stores
//
// Package sqllease keeps leases in PostgreSQL, MySQL, MariaDB or SQLite, package filelease in files of one host. The
// modules redislease, etcdlease and natslease keep them in Redis, etcd and NATS. For another engine that can compare
// and swap a key implement kvlease.KV, for anything else [leasestore.Store]; test either with package leasetest.
package lease
