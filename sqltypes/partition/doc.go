// Package partition maintains the partitions of a table whose key is a Snowflake ID. An ID begins with its time, so
// ranges of the key are ranges of time: each partition contains a day, a week, a month or another unit. The package
// creates partitions before they are needed, and drops, renames or archives those that are older than a retention, on
// PostgreSQL 14 and later, MySQL 8 and later, and MariaDB 10.6 and later.
//
//	CREATE TABLE events (id bigint PRIMARY KEY, body text) PARTITION BY RANGE (id);
//
//	set, err := partition.New(sqldb.Postgres, "events", partition.Month, partition.WithRetain(12))
//	...
//	go set.Run(ctx, db, time.Hour) // or set.Maintain(ctx, db) from cron
//
// [Set.Plan] returns what there is and what [Set.Maintain] would do, as values and as text. [Set.Adopt] turns a table
// without partitions into one with partitions, and [Set.TableOptions] returns the clause for CREATE TABLE and GORM's
// AutoMigrate.
//
// # Many processes
//
// Any number of processes may call [Set.Maintain] and [Set.Run] for a table, at any time, and may be killed at any point.
// What has to be done is read from the catalog of the database before each step, and one process at a time makes a
// step. A step is done or not done; the next call goes on after it. What a partition contains is read from its bounds,
// never from its name, so partitions that were made by hand count too.
//
// No wait for a lock is longer than WithLockTimeout, because the statements of others wait behind it. A step that did
// not get its locks is repeated for the time of WithPatience, after pauses in which the others proceed, and then
// returned as [ErrLocked]. After one more pause, Maintain does the steps that do not need the same lock of the table, and
// leaves the others to the next call. A transaction that has used the table and stays open for hours delays only drops
// on PostgreSQL, and every step on MySQL and MariaDB. With a default partition, and after writes to a table that a
// foreign key refers to, it delays new partitions on PostgreSQL too.
//
// Plan.Covered is the time up to which rows have a partition; Plan.Overdue is the time since which a step is due,
// whatever process is to call Maintain. The function Partitions of package promsnowflake exports both to Prometheus,
// with alerts. The command cmd/snowflake has "partition maintain" for cron, which needs no program.
//
// # What is removed
//
// A partition is dropped, renamed or archived when all of its rows are older than the retention by the grace of
// WithGrace, one hour unless set. Rows that are written later than that after their ID was issued find no partition. The
// grace covers
//
//   - the lead of a generator, milliseconds, and the clocks of workers that differ;
//   - transactions that issue an ID first and insert its row at their end;
//   - batches and queues that issue IDs before the rows are sent.
//
// Set it to the longest of these. If the clocks of the database and of the calling process differ, the earlier one
// decides what is removed, and the later one what is created.
//
// The rows are a third clock. If no row is of a time near the clocks by the layout, nothing is created or removed: the layout
// is wrong, or the clocks are. A table with a partition that ends near now is exempt, and so is a pause of up to 90 days.
//
// Clocks that jump ahead leave a gap in the rows, also if rows of the wrong time follow. So nothing is removed while the
// retained time has a gap of more empty partitions than [WithIdle] sets, by default about a twelfth of the retention.
// The current partition may be empty, and what is older than all rows is removed. Removals continue when the gap is
// beyond the retention, or WithIdle accepts it. A table that is empty at weekends needs WithIdle(2) if it retains fewer
// than 25 days, and one that gets rows rarely as many partitions as it may skip. The last partitions of a table that
// gets no more rows stay.
//
// This check does not notice clocks that are ahead by less than two partitions more than WithIdle sets, clocks that run
// too fast, and imported rows that fill the gap.
//
// A partition is not removed either if it contains a row that is older than its time, such as one with a key of a sequence
// from before the table had Snowflake IDs: see WithStart.
//
// # Problems
//
// Maintain reports what it leaves to people as errors that match [ErrBlocked], in each call anew, and [Set.Run] logs
// them. [Plan] has them as values.
//
//   - No row is near the clocks, none is of the retained time, or there is a gap in it: check the layout and the clocks. If
//     the table was not in use for so long, or its rows were imported, set WithIdle.
//   - A partition ahead ends more than 400 days after those before it: another layout or a wrong clock may have made it.
//     Drop it.
//   - A table that is no partition has the name of a new partition: rename it, or set WithNames.
//   - The default partition has rows of a new partition's time, or on MySQL any rows: call [Set.MoveDefault].
//   - A partition beyond the retention has rows of another time: delete them, or set WithStart.
//   - A detached table is not beyond the retention any more, since that was raised, or has rows outside of its bounds:
//     attach it again, drop it, or remove its comment to keep it.
//   - Another Set is to archive a table, and this one has no Archive: wait for it, or remove the line from the comment.
//   - A partition beyond the retention has partitions of its own, or is a foreign table: detach it by hand.
//   - A foreign key refers to rows of a partition beyond the retention. This is the error of the database for the step:
//     delete the rows that refer to it first.
//   - MariaDB: Keep or Archive is set, and a trigger of the table uses another table: see below.
//
// # The default partition
//
// With WithDefault the table has a partition for all rows that belong to no other one: an ID of a clock that is far ahead
// is then stored instead of rejected. Such rows prevent the partition of their time until [Set.MoveDefault] has moved
// them. Prefer a large WithAhead: PostgreSQL locks the default partition for each new one, and detaches no partition
// concurrently beside it; on MySQL and MariaDB any row in it prevents all new partitions.
//
// # PostgreSQL
//
// A new partition is created as a table like the parent, and attached. That needs a SHARE UPDATE EXCLUSIVE lock on the
// table, which waits for neither readers nor writers, an ACCESS EXCLUSIVE lock on a default partition, which PostgreSQL
// then reads, and a SHARE ROW EXCLUSIVE lock on tables that foreign keys of the table refer to. The partition has what
// the table has: defaults, checks, generated columns, indexes, foreign keys, triggers, owner, tablespace, and the
// replica identity unless that is an index: set that on each partition, as PostgreSQL does not inherit it. It has no
// privileges of its own, default privileges are revoked: statements on the table do not need them, and would evade its
// policies of row level security with them.
//
// A drop detaches the partition and drops it in one transaction, which needs an ACCESS EXCLUSIVE lock on the table for a
// few milliseconds, or longer if other tables refer to it. With foreign keys it needs one on each table that they refer
// to as well, also after [WithDetachConcurrently], so a reader of such a table delays the drop. A step waits for one lock
// after the other, each for at most WithLockTimeout, and holds those that it has meanwhile. Attempts lock tables that
// foreign keys connect in different orders, as those of [Set.Adopt]. If its process stops or its
// network fails within a step, the server ends the transaction after five seconds. [WithDetachConcurrently] needs no such
// lock on the table. It waits for the transactions that use the table; meanwhile the rows are not visible any more, and
// the next call finishes what was interrupted.
//
// [WithArchive] and [WithDetachConcurrently] add a line to the comment of the partition that they detach, which begins with
// "sqlflake: detached from". Tables with this line are what the package drops, renames or archives after they were
// detached, if the table belongs to the owner of the partitioned table, to a superuser, or to the role that calls Maintain:
// comments of other roles count for nothing. Removing the line keeps the table, while the callback of Archive runs too.
// A line that ends in "to be archived" is of a Set with Archive. As long as there is one, a Set without Archive removes
// nothing.
//
// PostgreSQL adds a CHECK constraint with the bounds to a partition that it detaches concurrently. A table of [WithKeep] has it
// still; drop it to store other rows there.
//
// Partitions that are partitioned themselves, and foreign tables, are never detached: beyond the retention they are a
// problem.
//
// # MySQL and MariaDB
//
// Each statement commits by itself. Ranges have no gaps: a partition begins where the one before ends, and the first one
// has no lower bound. New partitions are added at the end. Each step needs the metadata lock of the table, and the limit of
// waits for it is counted in whole seconds. If the process stops or its network fails within a step, the server ends the
// connection after five seconds, and with it the locks. [WithDetachConcurrently] is ignored.
//
// [WithKeep] and [WithArchive] create an empty table, with the line in its comment that is described above, and exchange the
// partition for it while both are locked.
//
//   - CREATE TABLE ... LIKE copies the line too: remove it from the comment of a copy, or Maintain drops or renames the copy.
//   - MySQL refuses the exchange, with error 1731, after a column was added or dropped with ALGORITHM = INSTANT, the
//     default. Run ALTER TABLE ... FORCE then, or change columns with ALGORITHM = INPLACE. Both copy the table.
//   - MariaDB can't exchange a partition of a table with a trigger that uses another table: drop the trigger while Maintain
//     runs. If only a function that the trigger calls uses the table, each attempt stops writers for the lock timeout, and
//     Maintain returns ErrLocked.
//   - The locks hold on one server. If several servers accept writes, as with Galera Cluster and group replication, let all
//     processes that write to the table or maintain it use the same one: a row that comes to the partition by another
//     server, between the exchange and the drop, is lost.
//
// With WithDefault a new partition is split off the last one, MAXVALUE, and the server copies all rows of that one while
// writers wait. So Maintain does it only while the last one is empty.
//
// # Rights
//
// The role that calls Maintain has to own the table, or be a member of the role that does, and be allowed to create
// tables in its schema. Methods return ErrTable otherwise and change nothing.
//
// On MySQL and MariaDB it needs ALTER, CREATE, DROP, INSERT, LOCK TABLES and SELECT on the database. Without one of these, a
// step fails with the error of the server; an empty table that Keep or Archive has made before that stays, and a later call
// uses it. MariaDB shows the triggers of the table only with TRIGGER.
//
// Let the services that only read and write rows use a role without these rights, and give the role with them to one that
// calls [Set.Run].
//
// # pg_partman
//
// pg_partman does the same within PostgreSQL, also for tables without Snowflake IDs, and needs an extension that not
// every provider has. Up to version 5.5.0 it does not know the time of a bigint: partitions are a number of IDs, and get
// numbers as names. Package sqlfunc has functions for it. Let only one of the two maintain a table.
//
// # PgBouncer
//
// A step is one transaction, so PgBouncer in transaction mode does; before PgBouncer 1.21 the driver must not prepare
// statements (default_query_exec_mode=exec in the DSN of pgx). [WithArchive] and [WithDetachConcurrently] need sessions:
// connect to PostgreSQL directly, or in session mode. The callback of Archive needs connections of its own beside
// the one that Maintain uses.
//
// # Limits of the databases
//
//   - A unique index has to contain the key, so no other column can be unique on its own.
//   - PostgreSQL: foreign keys in both directions work. A partition with rows that others refer to can't be detached, even
//     with ON DELETE CASCADE. To find out, PostgreSQL reads the other table, which needs an index on its column, while
//     the partitioned table is locked: WithLockTimeout does not limit that.
//   - MySQL and MariaDB: partitioned tables have no foreign keys.
//   - A query that does not limit the key reads all partitions: add a range of snowflake.Layout.Range to it.
//   - Dumps of PostgreSQL contain each partition as a table, and attach it when it is restored. A table that was detached and
//     not yet archived is dumped with its comment, and goes on being archived in the restored database.
package partition
