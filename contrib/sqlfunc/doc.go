// Package sqlfunc generates SQL functions that read and issue the IDs of a layout in the database, for rows that are
// inserted without Go: by hand, by another language, by INSERT ... SELECT.
//
//	functions, err := sqlfunc.New(snowflake.Default(), sqlfunc.WithWorker(1023)) // the worker of the server
//	err = functions.Install(ctx, db, sqldb.Postgres)                              // or Script, for a migration
//
//	-- then, in SQL:
//	CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_next(), note text);
//	SELECT * FROM orders WHERE id >= snowflake_min(now() - interval '1 day');
//
// The functions agree with package snowflake on every number:
//
//	snowflake_time(id)    the start of the ID's tick, as Layout.Time
//	snowflake_parts(id)   all fields, as Layout.Decompose
//	snowflake_min(time)   the smallest ID of the time's tick, or Period, as Layout.MinAt
//	snowflake_next()      a new ID, for a column's DEFAULT
//	snowflake_layout()    the layout's text, as Layout.String
//
// snowflake_min exists only if the time is the layout's highest field, and snowflake_next only with [WithWorker]. If
// the time has two parts, as in snowflake.Clustered, add a condition on snowflake_time for the exact time: a bound is
// up to a Layout.Period before its time.
//
// The worker belongs to the server: no generator in Go may ever have it. Keep leases away from it with
// lease.WithWorkers, or reserve its row with [WithLeaseTables]. Each database that issues IDs needs its own worker,
// including a copy that is restored next to its original. A standby has the worker of its primary, since it issues
// nothing.
//
// No ID is issued twice, however many sessions insert, roll back, are cancelled or killed, and this does not depend on
// the clock. No insert waits for the end of another transaction.
//
// PostgreSQL 14 or later takes snowflake_next as a DEFAULT. MariaDB 10.6 or later reads IDs, and issues none. MySQL
// and SQLite are not supported. [WithWorker] has the promises for issued IDs, including after crashes. The README of
// the package has the rest.
package sqlfunc
