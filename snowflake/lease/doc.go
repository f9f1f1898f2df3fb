// Package lease gives each process a worker number of its own, so that no ID is issued twice whatever clocks, pauses,
// kills and networks do:
//
//	store, err := sqllease.New(db, sqldb.Postgres) // or MySQL, SQLite
//	err = store.Migrate(ctx)                          // creates the table if it does not exist
//	l, err := lease.Open(ctx, store)                  // takes a worker
//	defer l.Close(ctx)                                // gives it back
//	id, err := l.Generator().Next()
//
// A snowflake generator is only as unique as its worker number. A [Store], in most cases a database, keeps the numbers
// and lends one to each process for as long as the process lives.
//
// # The rule
//
// An ID may be issued only if its tick lies below a horizon that the store has committed before under this owner's
// epoch. A takeover raises the epoch and starts at the old horizon. So the ticks of two owners of one worker never
// overlap. The lease extends the horizon in the background, at half of its window; a call compares one number. Close
// stops the generator and then lowers the horizon to the tick after its last ID, so that the next owner does not have
// to wait. After a crash it may have to wait up to a window, if no other worker is free.
//
// Clocks, pauses and expiry times decide when a worker changes hands. Safety does not depend on them: a process that
// was stopped for an hour while another one took its worker finds all its ticks used up or above its horizon, and
// continues with another worker.
//
// Each extension replaces the token of the owner by a new one. If the process was copied while it ran, as in a cloned
// virtual machine, one of the copies is therefore told at its next extension that it is not the owner. It stops at once
// and continues with another worker.
//
// # What is promised
//
// No ID is issued twice in a namespace, as long as the store keeps what it has committed.
//
// Package sqllease also finds out that a replica was promoted in the place of the primary. The replica may not have had
// the last commits. New owners then start above all that the old primary can have promised, so their first IDs are due
// after the greatest window of the namespace and the accepted skew. Owners that the replica knows keep their worker if
// their lease can't have expired before. This depends on clocks: that of the new primary must agree with those of the
// processes as [WithMaxSkew] says, up to 10 s, and with that of the old primary up to 10 s.
//
// Not covered are: an old primary that lives on after the failover and still extends leases; another store that forgets
// committed writes, or one that is restored in place or from a copy of its files, together with a wrong clock or an
// owner that still runs; a virtual machine that is cloned while it runs, until the next extension, at most up to the
// horizon that it had, or for good if the store was cloned with it; and processes that use a worker of the namespace
// without a lease.
//
// # Stores
//
// Package sqllease keeps leases in PostgreSQL, MySQL, MariaDB or SQLite, and package filelease in files of one host.
// redislease, etcdlease and natslease, modules of their own, keep them in Redis, etcd and NATS. For another engine that
// can compare and swap a key, implement the three methods of kvlease.KV; for anything else, implement [Store]. Test
// either with package leasetest.
package lease
