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
// The reader gets each row once, in the order of the keys. It gets the rows late: by the margin, by the age of the
// oldest transaction that is open, and by up to the layout's Period. A bound may be lower than the one before; then
// the query finds nothing.
//
// A transaction that is never ended holds the bound, and readers stall without an error. So let the server end such
// transactions, with idle_in_transaction_session_timeout on PostgreSQL, idle_transaction_timeout on MariaDB or
// wait_timeout on MySQL, and alert on [Bound].Lag: Reason names the transaction.
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
// The query must take its snapshot after Read. Inside a transaction with the isolation level REPEATABLE READ or
// SERIALIZABLE that has run a statement before, which is the default of MySQL, it sees an older state. Read the rows
// outside of a transaction, or begin the transaction after Read.
//
// The comment of [Read] says what it sees on PostgreSQL, MySQL, MariaDB and SQLite, and which rights it needs; the
// README of the package, what the margin has to cover on each, and what is not covered.
package settled
