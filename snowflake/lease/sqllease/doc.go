// Package sqllease keeps leases of worker numbers in a table of PostgreSQL, MySQL, MariaDB or SQLite, through
// database/sql:
//
//	store, err := sqllease.New(db, sqllease.Postgres) // or MySQL, SQLite
//	err = store.Migrate(ctx)                          // creates the table if it does not exist
//	l, err := lease.Open(ctx, store)                  // takes a worker
//	defer l.Close(ctx)                                // gives it back
//	id, err := l.Generator().Next()
//
// Workers expire by the database's clock alone, in milliseconds. A SQLite file has the clock of its host, so only
// processes of that host may use it. An extension is one statement; an acquisition is two or three, five for the first
// one of a namespace, if no other process asks at the same time. No call needs a transaction, a second connection, or
// the connection of an earlier call, so the pool may be small, shared, and behind a pooler.
//
// A horizon is as durable as a commit of the database. With synchronous_commit = off (PostgreSQL),
// innodb_flush_log_at_trx_commit other than 1 (MySQL), synchronous = OFF, or NORMAL with a write-ahead log (SQLite), or
// a failover to a replica that lags behind, a crash can undo what was answered. The pool must lead to the primary,
// since a replica can't be changed, and its connections must commit each statement.
package sqllease
