package settled

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
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

	read := readerOf(dialect)
	if read == nil {
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

// readerOf returns what reads a database, or nil for an unknown dialect. The connection is in no transaction before and
// after it.
func readerOf(dialect sqldb.Dialect) func(context.Context, *sql.Conn) (snapshot, error) {
	switch dialect {
	case sqldb.Postgres:
		return readPostgres
	case sqldb.MySQL:
		return readMySQL
	case sqldb.SQLite:
		return readSQLite
	}
	return nil
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
func (s *snapshot) bound(layout snowflake.Layout, margin time.Duration, owners []owner) (Bound, error) {
	b := Bound{Reason: s.holder}
	var behind time.Duration
	var slowest owner
	for _, o := range owners {
		if lag := o.lag(s.now); lag > behind {
			behind, slowest = lag, o
		}
	}

	if behind-slowest.layout.Tick() >= time.Second { // less is the time that an extension takes, and a part of a tick
		if b.Reason != "" {
			b.Reason += "; "
		}
		b.Reason += fmt.Sprintf("the clock of worker %d in namespace %q is behind by %v",
			slowest.Worker, slowest.Namespace, behind)
	}

	at := s.oldest.Add(-margin - behind)
	b.Lag = s.now.Sub(at)

	// All IDs of the tick or period that contains the time are left out.
	below, err := layout.MinAt(at)
	switch {
	case errors.Is(err, snowflake.ErrBeforeEpoch):
		return b, nil
	case err != nil:
		return Bound{}, fmt.Errorf("settled: %w", err)
	}

	b.Below = below
	return b, nil
}

// unknown returns an error that matches ErrUnknown.
func unknown(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUnknown, fmt.Sprintf(format, args...))
}
