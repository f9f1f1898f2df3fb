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
// [Read] says what it sees on PostgreSQL, MySQL, MariaDB and SQLite, and which rights it needs. The README of the
// package says what the margin has to cover on each, and what is not covered.
package settled

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

var (
	// ErrOption is returned by Read for a nil database, an unknown dialect and an invalid option.
	ErrOption = errors.New("settled: invalid option")

	// ErrUnknown is returned by Read if the database does not show all open transactions, so that there is no bound.
	// The text names the reason, and the right that is missing if there is one.
	ErrUnknown = errors.New("settled: not all open transactions are known")
)

// DefaultMargin is used without [WithMargin].
const DefaultMargin = 10 * time.Second

// Option is a setting of Read. A nil Option is an error that matches ErrOption.
type Option func(*config) error

type config struct {
	margin time.Duration
	leases []leases
}

// WithMargin sets how long before its transaction an ID may have been issued, by a clock that may be behind the
// database's: the sum of both, [DefaultMargin] by default. 0 is allowed, for tests. A longer margin delays the reader
// and is otherwise safe.
func WithMargin(d time.Duration) Option {
	return func(c *config) error {
		if d < 0 {
			return fmt.Errorf("%w: margin %v is negative", ErrOption, d)
		}
		c.margin = d
		return nil
	}
}

// Bound is the result of Read.
type Bound struct {
	// Below is the bound: no more rows with a smaller key appear. It is 0 before the layout's epoch. It begins the
	// tick, or the [snowflake.Layout.Period], that contains the bound's time: with [snowflake.Clustered] a reader gets
	// rows up to 70 minutes later than Lag says.
	Below snowflake.ID

	// Lag is by how much the bound's time is before the database's time, at least the margin.
	Lag time.Duration

	// Reason says, for people, what makes Lag longer than the margin: the oldest transaction, and a clock that is
	// behind by a second or more. It is empty if there is none.
	Reason string
}

// Read returns the current bound for the keys of a layout; the package comment has the rule. It uses one connection of
// the pool, outside of any transaction, so a caller that holds all connections of the pool waits until ctx ends.
//
// When the keys change to another layout, stop reading before, and continue with the new layout once Lag is shorter
// than the time since its first key. In between a bound may be above keys that are not visible yet.
//
// # PostgreSQL
//
// The start of a transaction is pg_stat_activity.xact_start. Only transactions of the same database count, also those
// that only read, since the server does not know what they will do: while pg_dump runs, the bound stands still. To see
// transactions of other roles, the role must be a member of pg_read_all_stats.
//
// ErrUnknown is returned without that right while there is a session of another role; for a session with
// track_activities = off; for a prepared transaction (PREPARE TRANSACTION), whose start the server does not keep; on a
// standby, which does not know the transactions of the primary; and on CockroachDB and YugabyteDB, which show only a
// part of the transactions.
//
// # MySQL and MariaDB
//
// The start of a transaction is information_schema.innodb_trx.trx_started, in whole seconds, rounded down, which needs
// the privilege PROCESS. All transactions of the server count. The README says from when on a transaction is listed,
// and which waits to limit for that.
//
// The server keeps the list until it has not been read for 0.1 s. Read asks again for a new one; if others read it all
// the time, it returns ErrUnknown. So do not call Read many times a second. ErrUnknown is also returned for a
// transaction that stays without a connection (XA PREPARE), whose start a restart loses; for a server that is
// read_only or innodb_read_only, as replicas are; and for clusters with several writing servers (Galera, group
// replication).
//
// # SQLite
//
// SQLite has one writer and no list of transactions. Read takes the write lock for a moment, when no transaction is
// open that has written. It waits for the writer, up to the connection's busy timeout, and then returns the driver's
// error. The lock covers the main database and what is attached to Read's connection: attach a database to each
// connection of the pool if its tables are read. All processes are on one host, with one clock.
//
// # Errors
//
// ErrOption; ErrUnknown; snowflake.ErrFieldOrder if the time is not the layout's highest field, and ErrLayout
// for the zero Layout; snowflake.ErrTimeExhausted after the layout's end; and errors of the database, the driver and
// the store of WithLeases. After an error there is no bound: wait, and call Read again.
func Read(
	ctx context.Context, db *sql.DB, dialect sqldb.Dialect, layout snowflake.Layout, opts ...Option,
) (Bound, error) {
	c := config{margin: DefaultMargin}
	for _, opt := range opts {
		if opt == nil {
			return Bound{}, fmt.Errorf("%w: nil Option", ErrOption)
		}
		if err := opt(&c); err != nil {
			return Bound{}, err
		}
	}

	if db == nil {
		return Bound{}, fmt.Errorf("%w: the database is nil", ErrOption)
	}
	if _, err := layout.MinAt(layout.Epoch()); err != nil {
		return Bound{}, fmt.Errorf("settled: %w", err)
	}

	read, known := readers[dialect]
	if !known {
		return Bound{}, fmt.Errorf("%w: unknown dialect %q, want Postgres, MySQL or SQLite", ErrOption, string(dialect))
	}

	owners, err := c.owners(ctx) // before the clock is read, see owner.lag
	if err != nil {
		return Bound{}, err
	}

	conn, err := db.Conn(ctx)
	if err != nil {
		return Bound{}, fmt.Errorf("settled: %w", err)
	}
	defer func() { _ = conn.Close() }() // only gives it back

	found, err := read(ctx, conn)
	if errors.Is(err, ErrUnknown) {
		return Bound{}, err
	}
	if err != nil {
		return Bound{}, fmt.Errorf("settled: read the open transactions: %w", err)
	}

	return found.bound(layout, c.margin, owners)
}

// readers read the databases. The connection is in no transaction before and after it.
var readers = map[sqldb.Dialect]func(context.Context, *sql.Conn) (snapshot, error){
	sqldb.Postgres: readPostgres, sqldb.MySQL: readMySQL, sqldb.SQLite: readSQLite,
}

// snapshot is what a database shows.
type snapshot struct {
	now    time.Time // by its clock, read before it looked for transactions
	oldest time.Time // start of the oldest open transaction, now if there is none
	holder string    // that transaction
}

func snapshotAt(now time.Time) snapshot { return snapshot{now: now, oldest: now} }

// record takes account of an open transaction.
func (s *snapshot) record(start time.Time, format string, args ...any) {
	if start.Before(s.oldest) {
		s.oldest, s.holder = start, fmt.Sprintf(format, args...)
	}
}

// bound returns the bound of what a database shows, and of the clocks of the owners.
func (s *snapshot) bound(layout snowflake.Layout, margin time.Duration, owners []owner) (b Bound, err error) {
	b.Reason = s.holder
	var behind time.Duration
	var slowest owner
	for _, o := range owners {
		if lag := o.lag(s.now); lag > behind {
			behind, slowest = lag, o
		}
	}

	// A lag of less than a second and a tick is normal: an extension takes time, and horizons are in whole ticks.
	if behind-slowest.layout.Tick() >= time.Second {
		if b.Reason != "" {
			b.Reason += "; "
		}
		b.Reason += fmt.Sprintf("the clock of worker %d in namespace %q is behind by %v",
			slowest.Worker, slowest.Namespace, behind)
	}

	at := s.oldest.Add(-margin - behind)
	b.Lag = s.now.Sub(at)

	// All IDs of the tick or period that contains the time are left out. Before the epoch there are none.
	b.Below, err = layout.MinAt(at)
	if isBeforeEpoch := errors.Is(err, snowflake.ErrBeforeEpoch); err != nil && !isBeforeEpoch {
		return Bound{}, fmt.Errorf("settled: %w", err)
	}
	return b, nil
}

// unknown returns an error that matches ErrUnknown.
func unknown(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUnknown, fmt.Sprintf(format, args...))
}

// WithLeases makes Read widen its margin by the greatest clock lag that the namespace's leases show. It may be given
// several times. The store must use the clock of the database that is read, as a store in that database does. A store
// without a clock, such as one on files, shows no lag.
//
// Package lease checks a clock once: Open rejects one that differs from the store's by more than WithMaxSkew, by
// default 10 s, the default margin. The lease table shows a clock that falls behind later, since an extension writes
// two times: a horizon by the owner's clock, and an expiry by the database's.
//
// The lag belongs to each lease's last extension, up to half a window ago. The rows in doubt have older IDs: rows of
// open transactions, and rows that wait for one. So WithLeases assumes that since then no clock that was behind was
// corrected and no lease has ended: the lag would disappear from the table, but not from the ID. If the database's
// clock jumps forward, as after a failover to a server that is ahead, all others are behind and the table does not show
// it before the next extension. The margin must cover such differences.
//
// The table says nothing about other processes. A lease that has expired counts as free: its generator stopped at the
// horizon, a window before. The next owner is a new process, or one whose lease was extended late; the margin must
// cover its clock. A virtual machine that was suspended has a clock that is behind by that time until its generator
// compares it with the wall clock, within a second of its first call. No bound covers IDs from that second, unless
// their transaction was open before.
//
// window is the shortest window that any process of the namespace uses ([lease.WithWindow]), or 0 if that is not known.
// With 0 the bound is lower by up to a third of a lease's window, since Read has to assume the worst.
func WithLeases(store leasestore.Store, namespace string, window time.Duration) Option {
	return func(c *config) error {
		switch {
		case store == nil:
			return fmt.Errorf("%w: WithLeases: nil Store", ErrOption)
		case namespace == "":
			return fmt.Errorf("%w: WithLeases: the namespace is empty", ErrOption)
		case window < 0 || window > lease.MaxWindow:
			return fmt.Errorf("%w: WithLeases: window %v out of range [0, %v]", ErrOption, window, lease.MaxWindow)
		}

		c.leases = append(c.leases, leases{store, namespace, window})
		return nil
	}
}

// leases reads the leases of a namespace.
type leases struct {
	store     leasestore.Store
	namespace string
	window    time.Duration // the shortest
}

// owner is a lease that is held.
type owner struct {
	leasestore.Entry
	layout snowflake.Layout
	window time.Duration // at least
}

// owners returns the leases whose rows show the clocks of their owners. An owner without a horizon issues nothing yet.
func (c config) owners(ctx context.Context) (owners []owner, err error) {
	for _, l := range c.leases {
		entries, err := l.store.List(ctx, l.namespace)
		if err != nil {
			return nil, fmt.Errorf("settled: %w", err)
		}

		for _, e := range entries {
			if !showsClock(e) {
				continue
			}

			layout, err := snowflake.ParseLayout(e.Layout)
			if err != nil {
				return nil, fmt.Errorf("settled: the leases of namespace %q: %w", l.namespace, err)
			}

			owners = append(owners, owner{e, layout, l.window})
		}
	}

	return owners, nil
}

// showsClock reports whether the entry's owner may issue IDs and its row shows the owner's clock.
func showsClock(e leasestore.Entry) bool {
	return e.Held && e.Horizon > 0 && !e.Expires.IsZero()
}

// lag returns the most by which the owner's clock can have been behind the database's at the last extension. It may be
// negative.
//
// The extension has set the horizon to the tick of the owner's clock, plus the window in ticks, rounded up, plus the
// lead; and the expiry to the database's time plus two windows. A greater window than the real one would hide a lag. So
// it is the shortest that is in use, or what is left of the two windows now, by half, if that is more. For that, now
// must not be before the extension, so the leases are listed before the clock is read.
//
// A horizon that an earlier owner of the worker has left may be higher, and then the owner issues nothing below it. The
// lead, some milliseconds, is left to the margin.
func (o owner) lag(now time.Time) time.Duration {
	window := max(o.window, o.Expires.Sub(now)/2)
	tick := o.layout.Tick()
	ahead := (window + tick - 1) / tick * tick
	clock := o.layout.Start(o.Horizon).Add(-ahead)
	return o.Expires.Add(-2 * window).Sub(clock)
}
