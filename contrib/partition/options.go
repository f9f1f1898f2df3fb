package partition

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/sqlflake/sqlflake/contrib/partition/internal/engine"
	"github.com/sqlflake/sqlflake/contrib/partition/internal/period"
	"github.com/sqlflake/sqlflake/snowflake"
)

const maxRetain = 100_000

// Option is a setting for New. A nil Option is an error that matches ErrOption.
type Option func(*config) error

type config struct {
	calendar period.Calendar
	table    engine.Table
	ahead    int
	retain   int // periods before the current one; 0: all
	grace    time.Duration
	idle     int           // periods without rows that are normal; -1: by the retention
	begin    time.Time     // of the oldest ID; zero: unknown
	patience time.Duration // for which a call repeats a step that does not get its locks
	log      *slog.Logger
	now      func() time.Time
}

func defaults() config {
	return config{
		calendar: period.Calendar{Layout: snowflake.Default(), Zone: time.UTC},
		table: engine.Table{
			Key: "id", LockTimeout: 200 * time.Millisecond,
			IdleTimeout: engine.IdleTimeout, SwapTimeout: engine.SwapTimeout,
		},
		ahead: 3, grace: time.Hour, idle: -1, patience: time.Minute, log: slog.Default(), now: time.Now,
	}
}

// option returns an Option that sets values if they are valid, and otherwise the error of the format.
func option(valid bool, set func(*config), format string, args ...any) Option {
	return func(c *config) error {
		if !valid {
			return fmt.Errorf("%w: %s", ErrOption, fmt.Sprintf(format, args...))
		}
		set(c)
		return nil
	}
}

// WithLayout sets the layout of the IDs in the key; the default is [snowflake.Default]. If the time has two parts, as
// in [snowflake.Clustered], a partition begins with the Layout.Period that contains the start of its unit: rows of the
// last minutes of a month may be stored in the next one, and are then retained with it.
func WithLayout(layout snowflake.Layout) Option {
	return option(true, func(c *config) { c.calendar.Layout = layout }, "")
}

// WithKey sets the key column; the default is "id".
func WithKey(column string) Option {
	return option(column != "", func(c *config) { c.table.Key = column }, "WithKey without a name")
}

// WithZone sets the time zone in which days, weeks and months begin; the default is UTC. A day then has 23, 24
// or 25 hours. If the rules of the zone change, existing partitions keep their bounds, and the next one begins where
// they end.
func WithZone(zone *time.Location) Option {
	return option(zone != nil, func(c *config) { c.calendar.Zone = zone }, "WithZone(nil)")
}

// WithAhead sets how many partitions exist after the current one, 1 to 1000; the default is 3. A row whose ID has no
// partition is rejected, so the time that they span has to be longer than any pause of the maintenance.
func WithAhead(n int) Option {
	return option(n >= 1 && n <= 1000, func(c *config) { c.ahead = n }, "WithAhead(%d) out of range [1, 1000]", n)
}

// WithRetain sets how many partitions are kept before the current one, 1 to 100,000, in the unit of the Set. By default
// all are kept. Nothing is removed unless rows came in all of that time: see WithIdle.
func WithRetain(n int) Option {
	return option(n >= 1 && n <= maxRetain, func(c *config) { c.retain = n },
		"WithRetain(%d) out of range [1, %d]; without the option all partitions are kept", n, maxRetain)
}

// WithGrace sets how long after its ID was issued a row may be written, at least a minute; the default is an hour. A
// partition is removed only when it has been older than the retention for that long; a row that is written later finds
// no partition. Set it to the longest of: the lead of generators and the clock difference of workers, transactions that
// issue an ID first and insert its row at their end, and batches and queues whose IDs were issued before they are sent.
func WithGrace(d time.Duration) Option {
	// The limit is more than the lead of a generator and the clock skew that a lease accepts.
	return option(d >= time.Minute, func(c *config) { c.grace = d }, "WithGrace(%v) below a minute", d)
}

// WithIdle sets how many consecutive partitions without rows are normal for the table, 0 to 100,000; the default is
// (n-1)/12 with WithRetain(n), rounded down. While the retained time has a longer gap, nothing is removed, because
// clocks that jump ahead leave such a gap: Plan and Maintain report it. Set it for a table that gets rows rarely, to as
// many partitions as it may skip, and after a gap whose cause is known. A table that is empty at weekends needs
// WithIdle(2) if it retains fewer than 25 days. With a layout whose time has two parts, rows of the last minutes of a
// day are stored with that day or with the next one: a table that gets rows only then, from a nightly job, needs one
// more.
//
// It also sets for how long a table may have had neither new rows nor partitions before Maintain continues with it, if
// that is more than 90 days.
func WithIdle(n int) Option {
	return option(n >= 0 && n <= maxRetain, func(c *config) { c.idle = n },
		"WithIdle(%d) out of range [0, %d]", n, maxRetain)
}

// WithStart sets the time of the oldest ID in the table. Partitions exist from that time on, as far as they are
// retained; without it, from the current time on. A partition that contains a row with a smaller key is never removed.
// One that includes the layout's epoch and has rows is removed only with WithStart, as its IDs can't be distinguished
// from small keys.
func WithStart(t time.Time) Option {
	return option(!t.IsZero(), func(c *config) { c.begin = t }, "WithStart of the zero Time")
}

// WithLockTimeout sets how long a step may wait for a lock, 1 ms to 1 minute; the default is 200 ms. While it waits,
// other statements on the table wait behind it. MySQL and MariaDB count whole seconds, so there it is rounded up. Above
// PostgreSQL's deadlock_timeout, one second unless set, the server may end the transaction of a writer instead of the
// step, if both wait for each other. A step that gets no lock is repeated for a minute, with pauses of several lock
// timeouts, in which other statements proceed.
func WithLockTimeout(d time.Duration) Option {
	return option(d >= time.Millisecond && d <= time.Minute, func(c *config) { c.table.LockTimeout = d },
		"WithLockTimeout(%v) out of range [1ms, 1m]", d)
}

// WithKeep detaches partitions beyond the retention and leaves them as tables, instead of dropping them. It excludes
// WithArchive. A table has the partition's name; on MySQL and MariaDB, if that does not begin with the table's, it gets
// the table's as a prefix, unless the name is too long then.
func WithKeep() Option {
	return option(true, func(c *config) { c.table.Keep = true }, "")
}

// WithArchive calls f with the name of each partition beyond the retention after it was detached, and drops it when f
// has returned nil. It excludes WithKeep. The name is in SQL form, schema.table, quoted where it needs that, on MySQL
// and MariaDB always with backquotes. The next Maintain calls f again if it returned an error, or if the process ended
// before its success was recorded, so f must be idempotent. Only one process calls it at a time, with one connection of
// the pool in use meanwhile, so a pool of one connection has none for f.
func WithArchive(f func(ctx context.Context, table string) error) Option {
	return option(f != nil, func(c *config) { c.table.Archive = f }, "WithArchive(nil)")
}

// WithLogger sets the logger of Run and Maintain; the default is slog.Default().
func WithLogger(log *slog.Logger) Option {
	return option(log != nil, func(c *config) { c.log = log }, "WithLogger(nil)")
}
