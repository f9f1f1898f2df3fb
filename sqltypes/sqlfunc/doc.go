// Package sqlfunc generates SQL functions that read and issue the IDs of a layout in the database, for rows that are
// inserted without Go: by hand, by another language, by INSERT ... SELECT.
//
//	functions, err := sqlfunc.New(snowflake.Default(), sqlfunc.WithWorker(1023)) // the worker of the server
//	err = functions.Install(ctx, db, sqldb.Postgres)                         // or Script, for a migration
//
//	-- then, in SQL:
//	CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_next(), note text);
//	SELECT * FROM orders WHERE id >= snowflake_min(now() - interval '1 day');
//
// The functions agree with package snowflake on every number:
//
//	snowflake_time(id)    the start of the ID's tick, as Layout.Time
//	snowflake_parts(id)   all fields, as Layout.Decompose
//	snowflake_min(time)   the smallest ID of the time's tick, as Layout.MinAt
//	snowflake_next()      a new ID, for a column's DEFAULT
//	snowflake_layout()    the layout's text, as Layout.String
//
// snowflake_min exists only if the time is the layout's highest field, and snowflake_next only with [WithWorker].
// PostgreSQL has more functions for keys in columns of uuid and text, see below.
//
// The worker belongs to the server: no generator in Go may ever have it. Keep leases away from it with
// lease.WithWorkers, or reserve its row with [WithLeaseTable]. Each database that issues IDs needs a worker of its own,
// also a copy that is restored beside its original. A standby has the worker of its primary, since it issues nothing.
//
// # MariaDB
//
// MariaDB 10.6 or later. A DEFAULT cannot call a stored function there (error 1901), so a trigger fills the key:
// [Functions.MariaDBTrigger]. snowflake_parts returns a JSON object. MySQL lacks features that the statements need, and
// rejects the first one.
//
// The tick and the sequence are claimed together as the AUTO_INCREMENT counter of the table snowflake_state, which no
// rollback undoes. No insert waits for another transaction, with one exception: a transaction whose connection number
// is equal modulo 4096 and in which a statement failed or was undone. That wait ends like any lock wait, with error
// 1205. insert_id and the session's auto_increment_increment do not change an ID. Issuing an ID takes about twenty
// times as long as AUTO_INCREMENT, 28 instead of 1.5 microseconds a row (BenchmarkMariaDBInsert): use Go for bulk
// loads.
//
// Callers need only EXECUTE. With a binary log, installing needs SUPER or log_bin_trust_function_creators, and
// snowflake_next needs binlog_format MIXED or ROW: with STATEMENT it fails, since replicas would have other IDs. In a
// cluster or with two primaries all servers have the same worker, so write to only one. Install in a session whose
// sql_mode is not ORACLE. TRUNCATE or ALTER of snowflake_state loses the record of issued IDs; a dump includes it.
//
// A dump has the functions only with --routines, but always the triggers: without it, inserts into the restored table
// fail with error 1305 until the functions are installed again.
//
// If the clock was years ahead for a moment, so is the state, and inserts fail until then. Install a worker that no ID
// has, and then run "ALTER TABLE snowflake_state AUTO_INCREMENT = 1".
//
// # SQLite
//
// SQLite gets its functions from the program ([Functions.RegisterSQLite]) and its IDs from the program's generator.
// snowflake_parts returns a JSON object there too.
//
// The rest of this page is about PostgreSQL 14 and later.
//
// # Reading
//
// snowflake_parts has a column for each field, named as in the layout; the time is a timestamptz:
//
//	SELECT o.*, p.time, p.worker FROM orders AS o, snowflake_parts(o.id) AS p
//
// snowflake_time and snowflake_min are immutable: "id >= snowflake_min('2026-01-01')" is a range of the primary key's
// index, and snowflake_time(id) may be indexed or be a generated column. Like the functions in Go they read any number,
// with integers and exact decimals only. Times are in whole microseconds, as in a timestamptz: nanoseconds of a
// layout's epoch or tick are truncated, and several ticks within a microsecond have the same time. Times after the year
// 294276, and 2^63 microseconds (292,277 years) or more after the epoch, are an error of PostgreSQL. snowflake_min
// fails with SQLSTATE 22008 for a time outside of the layout.
//
// # Keys in columns of uuid and text, pg_partman
//
// If the time is the highest field, there are functions for the keys of [github.com/sqlflake/sqlflake/sqltypes/uuidkey.ID]
// and [github.com/sqlflake/sqlflake/sqltypes.Text]. A key is passed as text, also a uuid:
//
//	snowflake_uuid_min(time), snowflake_text_min(time)    the key of snowflake_min(time)
//	snowflake_uuid_time(key), snowflake_text_time(key)    the time of the key's ID
//
// A key that is not that of an ID, such as a random UUID, is the error 22P02.
//
// They are the time encoder and the time decoder that pg_partman takes from version 5.2.0 on (Debian 13 has it,
// Debian 12 an earlier one), to partition a table by the time of its keys:
//
//	CREATE TABLE orders (id uuid PRIMARY KEY, note text) PARTITION BY RANGE (id);
//	SELECT partman.create_parent('public.orders', 'id', '1 month',
//		p_time_encoder := 'public.snowflake_uuid_min', p_time_decoder := 'public.snowflake_uuid_time');
//
// For a text or varchar, name the functions of text; pg_partman rejects a char. The first partition begins four
// intervals ago; if that is before the layout's epoch, set p_start_partition. pg_partman computes bounds in the time
// zone of the session, so run its maintenance in UTC.
//
// For a bigint, pg_partman up to version 5.5.0 rejects an encoder and a decoder. An open pull request takes them with
// "p_epoch := 'func', p_time_encoder := 'public.snowflake_min', p_time_decoder := 'public.snowflake_time'"
// (https://github.com/pgpartman/pg_partman/pull/730). Until then the interval of a bigint is a number of IDs, here those
// of a day, the names of partitions end with an ID, and new ones are made only as the keys grow:
//
//	SELECT partman.create_parent('public.orders', 'id',
//		(snowflake_min('2026-01-02 00:00Z') - snowflake_min('2026-01-01 00:00Z'))::text,
//		p_start_partition := snowflake_min('2026-11-01 00:00Z')::text);
//
// # Issuing
//
// The tick and the sequence of an ID are claimed together, as one value of the sequence object snowflake_state. The
// well-known combination of clock_timestamp() and nextval modulo 4096 claims them separately: a session that is paused
// in between continues with an old tick and a sequence number that another session has used in that tick.
//
//   - No ID is issued twice, however many sessions insert, roll back, are cancelled or killed. This does not depend on
//     the clock.
//   - If a statement begins after another has ended, its ID is larger, provided that the time is the highest field and
//     the sequence is below the other fields that differ.
//   - No transaction waits for the end of another. Like a sequence, the state is not part of the transaction, so a
//     rollback loses its IDs (https://www.postgresql.org/docs/current/functions-sequence.html). For the first ID of a
//     tick a session holds an advisory lock for some microseconds, in a subtransaction whose end releases it in every
//     case.
//   - If rows come faster than the layout's rate, or the clock is set back, IDs continue in the last tick and those
//     after it, up to the lead ([WithLead]) ahead of the clock. Beyond the lead an insert waits for the clock if that
//     takes at most a second (a tick, if ticks are longer). Otherwise it fails with SQLSTATE 55000 and a message that
//     names the lead.
//   - The sequence of a new tick begins at 0; there is no random start as in the generator. SQL has hash functions for
//     what a remainder of the ID would be used for: hashint8(id) & 15, or CRC32(id) % 16 on MariaDB.
//   - It fails with 55000 before the epoch, with 2200H after the end of the layout's time, and with 25006 in read-only
//     transactions and on a standby.
//
// After a crash of the server the state is what the write-ahead log has, as for every sequence
// (https://www.postgresql.org/docs/current/sql-createsequence.html). IDs of committed rows are below it. An ID of a
// transaction that never committed can be issued again if its log record was lost and the clock has not passed its time
// since, because IDs were ahead of the clock or the clock was set back. So do not publish an ID before the commit, as
// with nextval. With synchronous_commit = off the same holds for commits that the crash loses.
//
// pg_dump saves the state with the tables. A failover to a standby that lags behind is like a crash that loses what the
// standby had not received. Logical replication omits sequences: a server that takes over that way starts at its clock,
// so switch when the clock has passed the largest ID.
//
// Only its owner can set the state back: snowflake_next has the rights of its owner (SECURITY DEFINER, with a fixed
// search_path), so roles that insert need no rights to snowflake_state. EXECUTE is granted to PUBLIC, as for all
// functions; revoke it if not everybody may issue IDs. Read an ID with RETURNING: after an insert, lastval() is a
// number of the state or of another sequence.
//
// If the clock was years ahead for a moment, so is the state, and inserts fail until then. Install a worker that no ID
// has, and let the owner run "SELECT setval('snowflake_state', 1)".
//
// An insert takes two to three times as long as one with bigserial, and somewhat longer than one with
// gen_random_uuid(), in one session with 200,000 rows a statement and a primary key (BenchmarkPostgresInsert). Layouts
// whose time and sequence have more than 62 bits, where a sequence counts for at least 18, claim each ID under the
// lock, at a third of the rate; of the presets this is mastodon.
//
// # Installing again
//
// All statements can be repeated; the state stays and never goes back. Another worker, field or lead takes effect.
// Another layout under the same name is rejected with 42723, since indexes and stored times depend on the meaning of
// the functions: use another name with [WithName], or drop the functions first.
//
// Existing functions must belong to the role that installs, to the schema's owner, to a superuser, or to a role of
// which the installing role is a member (a superuser is a member of none). Otherwise they are rejected with 42501, and
// a state that Install did not create with 42710: where others may create objects, as everybody may in the schema
// public of PostgreSQL 14, they could be a trap.
package sqlfunc
