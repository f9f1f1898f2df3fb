// Package sqlfunc has a database read and issue the IDs of a layout by itself, for
// rows that are inserted without Go: by hand, by another language, by INSERT ... SELECT.
//
// [New] takes a layout and returns SQL for PostgreSQL and MariaDB, as statements
// for a driver ([Functions.Statements], [Functions.Install]) or as a script for a
// migration ([Functions.Script]), and functions in Go for a connection to SQLite.
// The functions agree with package snowflake on every number:
//
//	snowflake_time(id)    the start of the ID's tick, as Layout.Time
//	snowflake_parts(id)   all fields, as Layout.Decompose
//	snowflake_min(time)   the least ID of the time's tick, as Layout.MinAt
//	snowflake_next()      a new ID, for a column's DEFAULT
//	snowflake_layout()    the layout's text, as Layout.String
//
// There is no snowflake_min if the time is not the layout's highest field, and no
// snowflake_next without [WithWorker].
//
// The worker is the server's: no generator in Go may ever have it. Keep leases
// away from it with lease.WithWorkers, or have its row reserved with
// [WithLeaseTable]. Each database that issues IDs needs a worker of its own, a copy
// that is restored beside its original as well; a standby has that of its primary,
// as it does not issue.
//
// # MariaDB
//
// MariaDB 10.6 or later. It has no stored functions in a DEFAULT (error 1901), so a
// trigger fills the key: [Functions.MariaDBTrigger]. snowflake_parts returns a JSON
// object. MySQL has not what the statements need, and refuses the first one.
//
// The tick and the sequence are claimed together as the AUTO_INCREMENT counter of
// the table snowflake_state, which no rollback takes back. Nobody waits for another
// transaction, but for one whose connection number is the same modulo 4096 and which
// had a statement fail or undone: that ends as any lock wait does, with error 1205.
// Neither insert_id nor the session's auto_increment_increment changes an ID. A draw
// is about twenty times as long as that of AUTO_INCREMENT itself, 28 against 1.5
// microseconds a row (BenchmarkMariaDBInsert): for bulk loads draw IDs in Go.
//
// Callers need EXECUTE alone. With a binary log, installing needs SUPER or
// log_bin_trust_function_creators, and binlog_format MIXED or ROW: with STATEMENT
// snowflake_next fails, as replicas would have other IDs. In a cluster or with two
// primaries all servers have the same worker: write to one. Install in a session
// whose sql_mode is not ORACLE. TRUNCATE or ALTER of snowflake_state loses the
// knowledge of what was issued; a dump carries it along.
//
// # SQLite
//
// SQLite has its functions from the program ([Functions.RegisterSQLite]), and takes
// its IDs from a generator of that. snowflake_parts returns a JSON object there too.
//
// The rest of this page is about PostgreSQL 14 and later.
//
// # Reading
//
// snowflake_parts has a column for each field, named as in the layout, the time
// as timestamptz:
//
//	SELECT o.*, p.time, p.worker FROM orders AS o, snowflake_parts(o.id) AS p
//
// snowflake_time and snowflake_min are immutable: "id >= snowflake_min('2026-01-01')"
// is a range of the primary key's index, and snowflake_time(id) may itself be
// indexed or be a generated column. Like Go's they read any number. All is integers
// or exact decimals. Times are in whole microseconds, as a timestamptz is: where a
// layout's epoch or tick has nanoseconds they are cut off, and several ticks within
// a microsecond show the same time. Times after the year 294276, and 2^63
// microseconds (292,277 years) or more after the epoch, are an error of PostgreSQL.
// snowflake_min fails with SQLSTATE 22008 for a time outside the layout.
//
// # Issuing
//
//	CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_next(), ...)
//
// The tick and the sequence of an ID are claimed together, as one value of the
// sequence object snowflake_state. The well known clock_timestamp() beside nextval
// modulo 4096 claims them one after the other: a session that is paused in between
// comes back with an old tick and a sequence that somebody else has had in it.
//
// What it keeps to:
//
//   - No ID comes twice, however many sessions insert, roll back, are cancelled or
//     killed. This does not rest on the clock.
//   - An ID whose statement began after another's ended is the greater one, if the time is
//     the highest field and the sequence is below the others that differ.
//   - No transaction waits for the end of another. Like a sequence, the state is
//     not part of the transaction: IDs of a rollback are lost, and nobody waits for its
//     commit (https://www.postgresql.org/docs/current/functions-sequence.html). For the first
//     ID of a tick a session holds an advisory lock for some microseconds, within a
//     subtransaction at whose end it is free, whatever ended it.
//   - When the layout's rate is exceeded or the clock is set back, IDs go on in the
//     last tick and those after it, up to the lead (WithLead) ahead of the clock.
//     Beyond, an insert waits for the clock if that takes a second at the most (a
//     tick, if ticks are longer), and else fails with SQLSTATE 55000 and a message that names the lead.
//   - Before the epoch it fails with 55000, after the end of the layout's time with
//     2200H, in read-only transactions and on a standby with 25006.
//
// After a crash of the server the state is what the write-ahead log has of it, as
// with every sequence (https://www.postgresql.org/docs/current/sql-createsequence.html). IDs of
// committed rows are below it. One that was only shown, by a transaction that never
// committed, can come again if the log of its last moment was lost and the
// clock has not passed its time since: if IDs were ahead of the clock, or the clock was set back. So
// do not tell others an ID before the commit, as with nextval. With synchronous_commit = off
// the same holds for commits that the crash takes back.
//
// pg_dump saves the state along with the tables. A failover to a standby that lags
// behind is as a crash that loses what the standby had not got. Logical replication
// leaves sequences out: a server that takes over that way starts at its clock,
// so let it do so when the clock has passed the greatest ID.
//
// Nobody but its owner can set the state back by hand: snowflake_next has the rights
// of its owner (SECURITY DEFINER, with a fixed search_path), so roles that insert need
// none to snowflake_state. EXECUTE is granted to PUBLIC, as for all functions; revoke
// it if not everybody may draw IDs. Take an ID with RETURNING: after an insert, lastval() is
// a number of the state or that of another sequence.
//
// If the clock was years ahead for a moment, so is the state, and inserts fail until then.
// With a worker that no ID has, they begin anew: Install with that, and
// have the owner run "SELECT setval('snowflake_state', 1)".
//
// An insert takes two to three times as long as one with bigserial, and somewhat
// longer than one with gen_random_uuid(), in one session with 200,000 rows a statement
// and a primary key (BenchmarkPostgresInsert). Layouts whose time and sequence have
// more than 62 bits, where a sequence counts for 18 at least, claim each ID under the
// lock, at a third of the rate; of the presets that is Mastodon.
//
// # Installing again
//
// All statements can be repeated; the state stays and never goes back. Another
// worker, field or lead counts from then on. Another layout under the same name is
// refused with 42723, since indexes and stored times rest on the meaning of the
// functions: give it another name with [WithName], or drop the functions first.
//
// What is there must be of the role that installs, of the schema's owner or of a superuser, or of a
// role that the one that installs is a member of (a superuser by itself is of none). Else it
// is refused with 42501, and a state that is not as Install makes it with 42710: where others may create, as
// everybody may in the schema public of PostgreSQL 14, it could be a trap.
package sqlfunc
