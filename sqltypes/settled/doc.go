// Package settled finds a bound for readers that follow a table by its keys: below the bound no more rows appear.
//
// A key is made before its row is committed. If a transaction takes its IDs early and commits late, its rows appear
// below keys that a reader has seen already. A reader that asks again and again for the rows after the last key misses
// them. So it must not read up to the newest row, but up to a bound:
//
//	bound, err := settled.Read(ctx, db, sqldb.Postgres, snowflake.Default()) // first
//	rows, err := db.QueryContext(ctx, "SELECT id, ... FROM events WHERE id > $1 AND id < $2 ORDER BY id",
//		last, bound.Below) // then
//
// The reader gets each row once, in the order of the keys. It gets the rows late: by the margin, and by the age of the
// oldest transaction that is open. A bound may be lower than the one before; then the query finds nothing.
//
// A transaction that somebody forgets to end holds the bound, and readers stand still without an error. So let the
// server end such transactions, with idle_in_transaction_session_timeout on PostgreSQL, idle_transaction_timeout on MariaDB
// or wait_timeout on MySQL, and alert on [Bound].Lag: Reason names the transaction.
//
// # The rule
//
// The bound is the database's time when Read began, or the start of the oldest open transaction if there is one (on
// MySQL and MariaDB also of the oldest statement that runs); then the margin is subtracted, and with WithLeases the lag
// of the slowest clock. Each row with a smaller key that is ever committed is visible to a query that begins after Read
// has returned, provided that
//
//   - each ID is issued after its transaction began, or not long before. GORM begins the transaction first. Without a
//     transaction the ID is older than the statement, which may have waited for a connection of the pool.
//   - the clock of the process that issues the ID is not far behind the database's. Clocks that are ahead do no harm.
//   - the two, "not long" and "not far", add up to no more than the margin.
//
// The proof: a transaction that was open when Read looked has begun at or after the one that Read found; one that was
// not had either ended, and its rows are visible, or begins after the time that Read has taken before. So every other
// ID is issued at most the margin before the bound's time, by the database's clock.
//
// The query must take its snapshot after Read. Inside a transaction with the isolation level REPEATABLE READ or
// SERIALIZABLE that has run a statement before, which is the default of MySQL, it sees an older state. Read the rows
// outside of a transaction, or begin the transaction after Read.
//
// # Clocks and leases
//
// Package lease checks a clock once: Open rejects one that differs from the store's by more than WithMaxSkew, 10 s by
// default, which is also the default margin. A clock that falls behind later shows in the table of leases. An extension
// writes two times: a horizon, one window and the generator's lead above the owner's clock, and an expiry, two windows
// after the database's clock. Their difference is by how much the owner's clock is behind. WithLeases adds the greatest
// lag of all leases that are held to the margin.
//
// That lag is the one of the last extension, up to half a window ago. The rows in doubt have older IDs: those of open
// transactions, and those that wait for one. So for all that time it assumes that the difference of the clocks has not
// become smaller and the lease has not ended. If a clock that was behind is corrected while a transaction is open, the
// lag is gone from the table, and the ID is not; likewise if the process ends. If the database's clock jumps forward, as
// after a failover to a server that is ahead, all others are behind and the table does not show it before the next
// extension. The margin must do for such differences.
//
// The table says nothing of other processes. A lease that has expired counts as free: its generator has stopped at the
// horizon, a window before. The next owner is a new process, or one whose lease was extended late; the margin must do
// for its clock. A virtual machine that was suspended has a clock that is behind by that time until its generator
// compares it with the wall clock, within a second of its first call; no bound covers IDs from that second, unless
// their transaction was open before.
//
// # PostgreSQL
//
// The start of a transaction is pg_stat_activity.xact_start. It is set when the transaction begins and cleared after
// the commit has become visible (CommitTransaction in xact.c: ProcArrayEndTransaction comes first). Only transactions
// of the same database count, and among them also those that only read, since the server does not know what they will
// do: while pg_dump runs, the bound stands still. Transactions of other roles can be seen by members of
// pg_read_all_stats:
//
//	GRANT pg_read_all_stats TO reader;
//
// Without it, Read returns ErrUnknown while there is a session of another role. It does so, too, for a session with
// track_activities = off, for a prepared transaction (PREPARE TRANSACTION), whose start the server does not keep, on a
// standby, which does not know the transactions of the primary, and on servers that show only a part of the
// transactions (CockroachDB, YugabyteDB).
//
// # MySQL and MariaDB
//
// The start of a transaction is information_schema.innodb_trx.trx_started, which needs the privilege PROCESS. It is in
// whole seconds, rounded down. All transactions of the server count. A transaction is listed from its first statement
// on an InnoDB table, not from BEGIN, so the margin must be longer than the time between an ID and that statement; after
// START TRANSACTION WITH CONSISTENT SNAPSHOT it is listed at once.
//
// A statement is listed when it has its metadata locks, which it may wait for: behind LOCK TABLES, ALTER TABLE or a
// backup with FLUSH TABLES WITH READ LOCK. Therefore statements that run count, too, whatever they do, by
// information_schema.PROCESSLIST. But while its transaction stays open after such a statement, its start is that of the
// listing, after the wait; and a statement that waits while it is prepared begins after the wait. So limit the wait in
// the sessions that insert, to less than the margin for the sum of all waits of a transaction before it is listed, such
// as with lock_wait_timeout=3 in the DSN (the default is a day on MariaDB, a year on MySQL), or begin the transaction
// WITH CONSISTENT SNAPSHOT before the ID is issued.
//
// The server keeps the list until nobody has read it for 0.1 s. Read checks that it was made anew, and asks again if it
// was not; if others read it all the time, Read returns ErrUnknown. So do not call Read many times a second. It returns
// ErrUnknown, too, for a transaction that stays without a connection (XA PREPARE), whose start a restart loses, for a
// server that is read_only or innodb_read_only, as replicas are, and for clusters with several writing servers (Galera,
// group replication).
//
// # SQLite
//
// SQLite has one writer and no list of transactions. Read takes the write lock for a moment: at that time no
// transaction is open that has written. It waits for the writer, up to the connection's busy timeout, and then returns
// the driver's error. An ID that is issued before its transaction has the lock is older than the time it waited, so the
// margin must be longer than the time between an ID and the first write of its transaction, with the busy timeout: BEGIN
// alone does not take the lock. With _txlock=immediate (mattn/go-sqlite3) the lock comes first. All processes are on one
// host, with one clock.
//
// The lock is that of the main database, and of those that are attached to the connection that Read gets. A table of an
// attached database needs it attached to each connection of the pool.
//
// # Not covered
//
// Rows that come from another server by replication, since their transactions are not here; tables whose rows are on
// other servers (postgres_fdw, Citus, Spider, FEDERATED); tables of other engines than InnoDB, such as MyRocks; rows
// whose keys are changed or set by hand; and a database that was restored.
package settled
