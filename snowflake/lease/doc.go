// Package lease lends worker numbers to processes, so that no ID comes twice
// whatever clocks, pauses, kills and networks do.
//
// A snowflake generator is only as unique as its worker number. This package
// keeps the numbers in a store, a database for most, and gives each process one
// for as long as it lives:
//
//	store, err := sqllease.New(db, sqllease.Postgres)
//	err = store.Migrate(ctx)
//	l, err := lease.Open(ctx, store)
//	defer l.Close(ctx)
//	id, err := l.Generator().Next()
//
// # The rule
//
// An ID may be issued only if its tick lies below a horizon that the store has
// committed before under this owner's epoch. A takeover raises the epoch and
// starts at the old horizon. So the ticks of two owners of one worker never meet.
// Close stops the generator and then lowers the horizon to the tick after its last
// ID, so that the next owner need not wait; after a crash it may have to, up to a
// window, if no other worker is free. The lease extends the horizon in the background, at half of its window; a call
// compares one number.
//
// Clocks, pauses and expiry times decide when a worker changes hands. They do not
// decide whether that is safe: a process that was stopped for an hour while
// another took its worker finds all its ticks used up or above its horizon, and
// goes on under another worker.
//
// # What is promised
//
// No ID comes twice in a namespace, as long as the store keeps what it has
// committed. Not covered: a store that forgets committed writes, after a failover
// to a replica that lagged behind or a restore from a backup, together with a
// clock that is wrong or an owner that was forgotten and still runs; a virtual
// machine that is cloned while it runs, whose two copies are one owner to the store;
// and processes that use a worker of the namespace without a lease.
//
// # Stores
//
// Package sqllease keeps leases in PostgreSQL, MySQL, MariaDB or SQLite, package filelease in a
// folder for the processes of one host, and redislease, a module of its own, in
// Redis. Others can be written against [Store] and tested with package leasetest.
package lease
