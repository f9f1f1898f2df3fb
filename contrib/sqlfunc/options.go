package sqlfunc

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// ErrOption means that an option is nil or an argument has an invalid value.
var ErrOption = errors.New("sqlfunc: invalid option")

const (
	maxIdentifier = 63 // bytes, in PostgreSQL; MariaDB has 64
	maxName       = 48 // bytes, leaves room for suffixes
)

// Option is a setting for New.
type Option func(*Functions) error

// WithWorker adds the function that issues IDs with this worker, on PostgreSQL only, 0 to the layout's MaxWorker. No
// generator in Go may ever have the worker: keep leases away from it with lease.WithWorkers or with [WithLeaseTables].
// For a layout without a worker field it is 0. Fields other than time, sequence and worker are 0 in these IDs.
//
// # PostgreSQL
//
// The tick and the sequence of an ID are claimed together, as one value of the sequence object snowflake_state.
// Claiming clock_timestamp() and nextval modulo 4096 separately would repeat IDs: a session paused in between continues
// with an old tick and a sequence that another session has used.
//
//   - No ID is issued twice, however many sessions insert, roll back, are cancelled or killed. This does not depend on
//     the clock.
//   - If a statement begins after another has ended, its ID is larger, if the time is the highest field and the
//     sequence is below the other fields that differ.
//   - No transaction waits for the end of another. Like a sequence
//     (https://www.postgresql.org/docs/current/functions-sequence.html), the state is not part of the transaction, so a
//     rollback loses its IDs. For the first ID of a tick a session holds an advisory lock for some microseconds, in a
//     subtransaction whose end always releases it.
//   - If rows come faster than the layout's rate, or the clock is set back, IDs continue in the last tick and those
//     after it, up to the lead of 10 s ([snowflake.MaxLead]) ahead of the clock. Beyond that an insert waits if the
//     wait is at most a second (a tick, if ticks are longer), or fails with SQLSTATE 55000 and a message that names
//     the lead.
//   - The sequence of a new tick begins at 0, without a random start. To spread rows, use hashint8(id) & 15 instead of
//     a remainder of the ID. In a layout with the sequence above the time, such as
//     [snowflake.Scattered], it begins at a hash of the tick, so that few rows are spread over all ranges of keys.
//   - It fails with 55000 before the epoch, with 2200H after the end of the layout's time, and with 25006 in read-only
//     transactions and on a standby.
//
// Layouts whose time and sequence have more than 62 bits, where a sequence counts for at least 18, claim each ID under
// the lock, at a third of the rate; of the presets this is mastodon.
//
// # PostgreSQL: crashes, copies, rights
//
// After a crash of the server the state is what the write-ahead log has, as for every sequence
// (https://www.postgresql.org/docs/current/sql-createsequence.html). IDs of committed rows are below it. An ID of a
// transaction that never committed can be issued again if its log record was lost and the clock has not passed its time
// since, because IDs were ahead of the clock or the clock was set back. So do not publish an ID before the commit. With
// synchronous_commit = off this includes commits that the crash loses.
//
// pg_dump saves the state with the tables. A failover to a standby that lags is like a crash that loses what the
// standby had not received. Logical replication omits sequences: a server that takes over that way starts at its clock,
// so switch when the clock has passed the largest ID.
//
// Only the owner can set the state back: snowflake_next has its owner's rights (SECURITY DEFINER, with a fixed
// search_path), so roles that insert need none on snowflake_state. EXECUTE is granted to PUBLIC; revoke it if not every
// role may issue IDs. Read an ID with RETURNING: lastval() is a number of the state or of another sequence.
//
// An insert takes two to three times as long as with bigserial, and somewhat longer than with gen_random_uuid(), in one
// session with 200,000 rows a statement and a primary key (BenchmarkPostgresInsert).
func WithWorker(worker int64) Option {
	return func(f *Functions) error {
		f.next, f.worker = true, worker
		return nil
	}
}

// identifier matches names that need no quotes in any database.
var identifier = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

// WithName sets the start of the names of the functions, for two layouts in one database: "orders" makes orders_time
// and so on. The default is "snowflake". A name has 1 to 48 bytes, lower-case letters (a to z), digits and underscores,
// and does not start with a digit.
func WithName(name string) Option {
	return func(f *Functions) error {
		if len(name) > maxName || !identifier.MatchString(name) {
			return fmt.Errorf("%w: the name %s, want 1 to %d lower-case letters (a to z), digits and underscores, "+
				"not starting with a digit", ErrOption, quoteShort(name), maxName)
		}
		f.name = name
		return nil
	}
}

// WithSchema sets the schema of the functions in PostgreSQL, which must exist; the default is "public". It is quoted,
// so its case matters, and has 1 to 63 bytes without a NUL. In MariaDB the functions are in the connection's database.
func WithSchema(schema string) Option {
	return func(f *Functions) error {
		fits := schema != "" && len(schema) <= maxIdentifier
		isText := utf8.ValidString(schema) && !strings.ContainsRune(schema, 0)
		if !fits || !isText {
			return fmt.Errorf("%w: the schema %s, want 1 to %d bytes of UTF-8 without NUL",
				ErrOption, quoteShort(schema), maxIdentifier)
		}
		f.schema = schema
		return nil
	}
}

// quoteShort quotes a name for a message and cuts it.
func quoteShort(name string) string { return fmt.Sprintf("%.40q", name) }
