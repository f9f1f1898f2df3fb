// Package lease gives each process a worker number of its own, so that no ID is issued twice whatever clocks, pauses,
// kills and networks do:
//
//	store, err := sqllease.New(db, sqllease.Postgres) // or MySQL, SQLite
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
// # What is promised
//
// No ID is issued twice in a namespace, as long as the store keeps what it has committed. Not covered are: a store that
// forgets committed writes, after a failover to a replica that lagged behind or a restore from a backup, together with
// a wrong clock or an owner that still runs; a virtual machine that is cloned while it runs, since both copies are one
// owner to the store; and processes that use a worker of the namespace without a lease.
//
// # Stores
//
// Package sqllease keeps leases in PostgreSQL, MySQL, MariaDB or SQLite, package filelease in files of one host, and
// redislease, a module of its own, in Redis. For other stores, implement [Store] and test it with package leasetest.
package lease
