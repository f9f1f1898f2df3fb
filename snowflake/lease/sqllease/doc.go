// Package sqllease lends processes worker numbers from two tables of PostgreSQL, MySQL, MariaDB or SQLite, by
// database/sql:
//
//	l, err := sqllease.Open(ctx, db, sqldb.Postgres) // or MySQL, SQLite; creates the tables, takes a worker
//	defer l.Close(ctx)                               // gives it back
//	id, err := l.Generator().Next()
//
// All processes must reach the same tables. On PostgreSQL name them with their schema ([WithTables]), since other names
// depend on the search_path and on the rights of the role.
//
// A lease expires by the database's clock alone. Only processes of one host may use a SQLite file. An extension is one
// statement. An acquisition is two or three, five for the first one of a namespace. No call needs a transaction or the
// connection of an earlier call, so the pool may be small, shared, and behind a pooler. It must lead to the primary,
// and its connections must commit each statement.
//
// A horizon is no more durable than a commit of the database. If a crash of the server can undo commits, IDs may repeat
// after it. A lease then logs a warning when it takes a worker, except on SQLite, where a crash of the host ends all
// owners. The store checks the server with its first call, and again after an error. README.md has the settings.
//
// # Failover
//
// An asynchronous replica that is promoted may lack the last acquisitions and extensions. So each statement that
// changes a lease checks that it runs on the server that served the namespace last. If not, the store records the new
// server and the time. From then on:
//
//   - New owners start above all that the old primary can have granted: after the greatest window that the namespace
//     has ever had, the lead and the accepted skew, 20 s with the defaults of [lease.Open]. Until then only workers
//     that were never taken are given out.
//   - An owner keeps its worker without a wait if its lease can't have expired before the failover. The row shows that
//     if its expiry is more than 10 s ([lease.DefaultMaxSkew]) later, as clocks of two servers may differ by that. Else
//     the owner decides, by the time since its last confirmed extension: 7/8 of two windows, less the accepted skew,
//     since both of its clocks may have stood still for that long. Other owners lose the worker and acquire another.
//   - A window longer than all before counts an hour after it was written to the row of the namespace, so that replicas
//     know it; until then its lease uses a shorter one. So a rolling deployment may change the window.
//
// Without a failover this costs no statement and no wait. README.md says what identifies a server, and what is not
// covered. Connections to a MySQL or MariaDB with a binary log and binlog_format = STATEMENT are refused, with
// [lease.ErrOption]: a replica would take itself for the server that has served the namespace. Use ROW or MIXED.
package sqllease
