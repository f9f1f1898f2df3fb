// Package partition maintains the partitions of a table whose key is a Snowflake ID. An ID begins with its time, so
// ranges of the key are ranges of time: each partition contains a day, a week, a month or another unit. The package
// creates partitions before they are needed, and drops, detaches or archives those that are older than a retention, on
// PostgreSQL 14 and later, MySQL 8 and later, and MariaDB 10.6 and later.
//
//	CREATE TABLE events (id bigint PRIMARY KEY, body text) PARTITION BY RANGE (id);
//
//	set, err := partition.New(sqldb.Postgres, "events", partition.Month, partition.WithRetain(12))
//	...
//	go set.Run(ctx, db, time.Hour) // or set.Maintain(ctx, db) from cron
//
// [Set.Adopt] turns an ordinary table of PostgreSQL into a partitioned one, and [Set.TableOptions] returns the clause
// for CREATE TABLE, in SQL or GORM.
//
// Any number of processes may call [Set.Maintain] and [Set.Run] for a table, at any time, and may be killed at any
// point. Each step is chosen from the database's catalog, made by one process at a time, and done or not done; the next
// call continues. What a partition contains is read from its bounds, never from its name, so partitions made by hand
// count too.
//
// The README of the package says what is removed, when nothing is, what to do about each problem (an error that matches
// [ErrBlocked]), and which rights each database needs. [Set.Maintain] lists the locks.
//
// The example Partitions of package promsnowflake exports Plan.Covered and Plan.Overdue to Prometheus, with alerts.
// Without a program, let cron run the command "sqlflake partition maintain".
package partition
