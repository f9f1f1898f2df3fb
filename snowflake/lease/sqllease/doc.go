// Package sqllease keeps leases of worker numbers in a table of PostgreSQL, MySQL, MariaDB or SQLite, through
// database/sql:
//
//	store, err := sqllease.New(db, sqldb.Postgres) // or MySQL, SQLite
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
// A horizon is as durable as a commit of the database. With synchronous_commit = off or fsync = off (PostgreSQL),
// innodb_flush_log_at_trx_commit = 0 or 2, or a binary log without sync_binlog = 1 (MySQL), synchronous = OFF, or NORMAL
// with a write-ahead log (SQLite), a crash can undo what was answered; so it can with an unlogged table, and with the
// engines MyISAM, Aria and MEMORY. The server keeps its identity, so nobody waits. Each acquisition is then reported with
// a warning ([lease.Grant].Warning): the store asks the server with its first call, and again after an error. It does not
// warn on SQLite, where a crash of the host ends all owners, nor for InnoDB in a cluster, of which all servers would have
// to crash. The pool must lead to the primary, since a replica can't be changed, and its connections must commit each
// statement.
//
// # Failover
//
// With asynchronous replication, a replica that is promoted may lack the last acquisitions and extensions. So each
// statement that changes a lease checks that the server which executes it is the one that the namespace was served by
// last. If it is not, the store notes the new server and the time. Owners that acquire from then on start above all
// that the old primary can have granted: their first IDs are due after the greatest window that the namespace has ever
// had, the lead and the accepted skew, 20 s with the defaults of [lease.Open]. Until then a worker that has a row is not
// given out: only workers that were never taken are. Owners whose lease the replica knows keep their worker without a
// wait if it can't have expired before. The store takes that from the row if its expiry lies more than 10 s
// ([lease.DefaultMaxSkew]) after the time of the failover, as the clocks of two servers may differ so much. Else it takes
// it from the owner, which counts the time since its last confirmed extension. Owners that can't be sure lose the worker
// and acquire another one. Without a failover this costs no statement and no wait. The promise and its conditions are in
// package lease.
//
// The replica must know the longest window. So the row of the namespace has it, and a window that is longer than all before
// counts an hour after it was written there; until then its lease uses a shorter one. A rolling deployment may change the
// window, and [lease.Open] may share a namespace with gormplugin.Open.
//
// What tells servers apart:
//
//   - PostgreSQL: the system identifier and the timeline, so a recovery to a point in time counts, too. The role must be
//     allowed to call pg_control_system, pg_current_wal_lsn and pg_walfile_name, as all roles are by default; otherwise
//     there is no protection, and each acquisition is reported with a warning ([lease.Grant].Warning).
//   - MySQL: server_uuid. The instances of Aurora have one each, so each of its failovers sets the wait, though it
//     forgets nothing. MariaDB: server_id, which replication requires to differ.
//   - Group Replication and Galera: the name of the group or cluster, as its servers agree on each commit. The name of a
//     group counts as soon as it is set.
//   - CockroachDB, YugabyteDB, Aurora with PostgreSQL, TiDB: nothing, for the same reason. SQLite has no servers.
//
// So a dump that is restored into a server with another identity, and a recovery of PostgreSQL to a point in time, count
// as a failover, too. A copy of the files does not: it has the identity of the original. PRODUCTION.md of package lease
// says what to do after a restore.
//
// What this leaves open:
//
//   - An old primary that is not stopped. Owners that still reach it extend there, and can issue the IDs of new owners
//     when the wait of these is over. Fence it off before the promotion: the wait is for what it has granted before.
//   - A namespace that was used for the first time so shortly before the failover that the replica does not know it, and a
//     longer window if the replica lags by an hour.
//   - Two failovers within the wait of new owners, the second to a replica that did not follow the first one's server.
//   - A server whose clock steps forward by more than an eighth of two windows shortly before it fails.
//   - Two failovers, the second back to a server that has not got the leases from the time in between and names itself as
//     before. PostgreSQL does not: pg_rewind, repmgr and Patroni make the old primary a replica of the new one, and each
//     promotion begins a timeline. MySQL and MariaDB do: server_uuid and server_id stay. There a server has the leases if it
//     has replicated from the new primary before it is promoted: with GTIDs (gtid_strict_mode of MariaDB, auto-positioning of
//     MySQL) it refuses to if it has transactions of its own, and then has to be rebuilt. Orchestrator, MaxScale's
//     auto_rejoin and InnoDB Cluster work like that; a script that only sets read_only = 0 does not. A process that has
//     acquired a worker on the server in between, or was the first to call it, finds it out at its next call, as the row of
//     the namespace is older than the one that it has seen. From then on it is a failover; IDs that were repeated before
//     are not found.
//   - A failover between servers with the same server_id (MariaDB), group name (Group Replication) or cluster name
//     (Galera), also one of a group or cluster that is bootstrapped or forced from a member that lags.
//   - A backup that is restored in place, into the same server, or that is a copy of the files: a base backup of
//     PostgreSQL that is started without recovery, a snapshot of a volume, a backup of MariaDB started with the same
//     server_id.
//   - A request to the old primary that a proxy keeps, and sends to the new one after its sender has given it up.
//
// If the clock of the new server is far ahead when it is promoted, the floor is, too: [lease.Open] returns
// [lease.ErrBehindHorizon], and running leases report it. Set the clock right first, then set expires_ms of the row with
// worker -1 to the time in milliseconds since 1970. Do not set it to 0.
//
// README.md has a table of replicas, clusters, poolers and engines: what is promised on each, what tests it, what to set.
//
// With binlog_format = STATEMENT a replica may not repeat what changes a lease; use ROW or MIXED.
package sqllease
