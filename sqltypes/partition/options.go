package partition

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

const (
	defaultAhead       = 3
	maxAhead           = 1000
	maxRetain          = 100_000
	defaultGrace       = time.Hour
	minGrace           = time.Minute // more than the lead of a generator and the skew that a lease accepts
	defaultLockTimeout = 200 * time.Millisecond
	minLockTimeout     = time.Millisecond
	maxLockTimeout     = time.Minute
	defaultPatience    = time.Minute
)

// Option is a setting for New. A nil Option is an error that matches ErrOption.
type Option interface{ apply(*config) error }

type config struct {
	layout       snowflake.Layout
	key          string
	zone         *time.Location
	ahead        int
	retain       int // periods before the current one; 0: all
	grace        time.Duration
	idle         int       // periods without rows that are normal; -1: by the retention
	begin        time.Time // of the oldest ID; zero: unknown
	names        func(time.Time) string
	legacy       string // of the partition that Adopt makes; empty: the table's name with _legacy
	lockTimeout  time.Duration
	patience     time.Duration
	wantDefault  bool
	concurrently bool
	rename       func(string) string
	archive      func(context.Context, string) error
	log          *slog.Logger
	now          func() time.Time
	abandoned    time.Duration // of a transaction that is idle
	swap         time.Duration // of each statement of Adopt's swap
}

func defaults() config {
	return config{
		layout:      snowflake.Default(),
		key:         "id",
		zone:        time.UTC,
		ahead:       defaultAhead,
		grace:       defaultGrace,
		idle:        -1,
		lockTimeout: defaultLockTimeout,
		patience:    defaultPatience,
		log:         slog.Default(),
		now:         time.Now,
		abandoned:   abandoned,
		swap:        swapTimeout,
	}
}

type optionFunc func(*config) error

func (f optionFunc) apply(c *config) error { return f(c) }

// WithLayout sets the layout of the IDs in the key; the default is [snowflake.Default].
func WithLayout(layout snowflake.Layout) Option {
	return optionFunc(func(c *config) error {
		c.layout = layout
		return nil
	})
}

// WithKey sets the column of the key; the default is "id".
func WithKey(column string) Option {
	return optionFunc(func(c *config) error {
		if column == "" {
			return fmt.Errorf("%w: WithKey without a name", ErrOption)
		}
		c.key = column
		return nil
	})
}

// WithZone sets the time zone in which days, weeks, months and years begin; the default is UTC. A day then has 23, 24
// or 25 hours. If the rules of the zone change, partitions that exist keep their bounds, and the next one begins where
// they end.
func WithZone(zone *time.Location) Option {
	return optionFunc(func(c *config) error {
		if zone == nil {
			return fmt.Errorf("%w: WithZone(nil)", ErrOption)
		}
		c.zone = zone
		return nil
	})
}

// WithAhead sets how many partitions there are after that of the current time, 1 to 1000; the default is 3. A row whose
// ID has no partition is rejected, so the time that they span has to be longer than any pause of the maintenance.
func WithAhead(n int) Option {
	return optionFunc(func(c *config) error {
		if n < 1 || n > maxAhead {
			return fmt.Errorf("%w: WithAhead(%d) out of range [1, %d]", ErrOption, n, maxAhead)
		}
		c.ahead = n
		return nil
	})
}

// WithRetain sets how many partitions are kept before that of the current time, 1 to 100,000. By default all are kept.
// It counts in the unit of the Set: one of days instead of months with the same number keeps a thirtieth of the time.
// Nothing is removed unless rows came in all of that time, see WithIdle: otherwise the layout or the clocks may be wrong,
// and Plan and Maintain report it.
func WithRetain(n int) Option {
	return optionFunc(func(c *config) error {
		if n < 1 || n > maxRetain {
			return fmt.Errorf("%w: WithRetain(%d) out of range [1, %d]; without the option all partitions are kept",
				ErrOption, n, maxRetain)
		}
		c.retain = n
		return nil
	})
}

// WithGrace sets how long after its ID was issued a row may be written, at least a minute; the default is an hour. A
// partition is dropped only when it has been older than the retention for that long. The grace covers the lead of
// generators, clocks of workers that differ, long transactions, and batches whose IDs were issued before they are sent.
func WithGrace(d time.Duration) Option {
	return optionFunc(func(c *config) error {
		if d < minGrace {
			return fmt.Errorf("%w: WithGrace(%v) below %v", ErrOption, d, minGrace)
		}
		c.grace = d
		return nil
	})
}

// WithIdle sets how many consecutive partitions without rows are normal for the table, 0 to 100,000; the default is
// (n-1)/12 with WithRetain(n), rounded down. While the retained time has a longer gap nothing is removed, since clocks that
// jump ahead leave one: Plan and Maintain report it. Set it for a table that gets rows rarely, and after a gap whose cause is
// known.
//
// It also sets for how long a table may have had neither new rows nor partitions before Maintain continues with it, if that is
// more than 90 days.
func WithIdle(n int) Option {
	return optionFunc(func(c *config) error {
		if n < 0 || n > maxRetain {
			return fmt.Errorf("%w: WithIdle(%d) out of range [0, %d]", ErrOption, n, maxRetain)
		}
		c.idle = n
		return nil
	})
}

// WithStart sets the time of the oldest ID in the table. There are partitions from that time on, as far as they are
// retained; without it, from the current time on. A partition that contains a row with a smaller key is never removed. One
// that includes the layout's epoch and has rows is removed only with WithStart, as its IDs can't be told from small keys.
func WithStart(t time.Time) Option {
	return optionFunc(func(c *config) error {
		if t.IsZero() {
			return fmt.Errorf("%w: WithStart of the zero Time", ErrOption)
		}
		c.begin = t
		return nil
	})
}

// WithNames sets the names of new partitions: names gets the start of the partition in the zone of the Set. The default
// is the table's name with the date, such as events_2026_11. Partitions that exist keep their names; what a partition
// contains is read from its bounds, never from its name.
func WithNames(names func(start time.Time) string) Option {
	return optionFunc(func(c *config) error {
		if names == nil {
			return fmt.Errorf("%w: WithNames(nil)", ErrOption)
		}
		c.names = names
		return nil
	})
}

// WithLegacy sets the name of the partition that [Set.Adopt] makes of the rows that there are. The default is the table's
// name with _legacy, which is too long for a table whose name has more than 56 bytes, 57 on MySQL and MariaDB.
func WithLegacy(name string) Option {
	return optionFunc(func(c *config) error {
		if name == "" {
			return fmt.Errorf("%w: WithLegacy without a name", ErrOption)
		}
		c.legacy = name
		return nil
	})
}

// WithLockTimeout sets how long a step may wait for a lock, 1 ms to 1 minute; the default is 200 ms. While it waits,
// statements of others on the table wait behind it. MySQL and MariaDB count whole seconds, so there it is rounded up.
// Above deadlock_timeout of PostgreSQL, one second unless set, the server may end the transaction of a writer, instead of
// the step, if both wait for each other.
func WithLockTimeout(d time.Duration) Option {
	return optionFunc(func(c *config) error {
		if d < minLockTimeout || d > maxLockTimeout {
			return fmt.Errorf("%w: WithLockTimeout(%v) out of range [%v, %v]", ErrOption, d, minLockTimeout, maxLockTimeout)
		}
		c.lockTimeout = d
		return nil
	})
}

// WithPatience sets for how long a call repeats steps that do not get their locks, 0 for one attempt; the default is a
// minute, which begins anew after each step that is done. Between attempts there are pauses of several lock timeouts, in
// which other statements proceed.
func WithPatience(d time.Duration) Option {
	return optionFunc(func(c *config) error {
		if d < 0 {
			return fmt.Errorf("%w: WithPatience(%v) is negative", ErrOption, d)
		}
		c.patience = d
		return nil
	})
}

// WithDefault adds a partition for rows whose ID has no other one: DEFAULT on PostgreSQL, MAXVALUE on MySQL and MariaDB.
// Rows in it prevent the partition of their time, on MySQL and MariaDB all new partitions. Plan and Maintain report
// them as problems: see [Set.MoveDefault].
func WithDefault() Option {
	return optionFunc(func(c *config) error {
		c.wantDefault = true
		return nil
	})
}

// WithDetachConcurrently detaches partitions on PostgreSQL with DETACH PARTITION ... CONCURRENTLY, which does not block
// queries but waits for transactions that use the table. It needs connections of its own, so no PgBouncer in transaction
// mode. Tables with a default partition, for which PostgreSQL does not allow it, and MySQL and MariaDB ignore it.
func WithDetachConcurrently() Option {
	return optionFunc(func(c *config) error {
		c.concurrently = true
		return nil
	})
}

// Keep renames partitions beyond the retention and leaves them as tables of their own, instead of dropping them. rename
// gets the partition's name and returns that of the table, "table" or "schema.table". On MySQL and MariaDB, where names of
// partitions are unique in their table only, a name that does not begin with the table's gets it as a prefix before.
func WithKeep(rename func(partition string) string) Option {
	return optionFunc(func(c *config) error {
		if rename == nil || c.archive != nil {
			return fmt.Errorf("%w: WithKeep(nil), or beside Archive", ErrOption)
		}
		c.rename = rename
		return nil
	})
}

// Archive calls f with the name of each partition beyond the retention after it was detached, and drops it when f has
// returned nil. The name is in the form of SQL, schema.table, with quotes where it needs them, on MySQL and MariaDB with
// backquotes always. If f returns an error, or the process ends before it returns, the table stays, and the next Maintain
// calls f again. It does so too if f has returned nil and that could not be stored, so f has to be idempotent. Only one
// process calls it at a time, and has one connection of the pool in use meanwhile: a pool of one connection has none for f.
func WithArchive(f func(ctx context.Context, table string) error) Option {
	return optionFunc(func(c *config) error {
		if f == nil || c.rename != nil {
			return fmt.Errorf("%w: WithArchive(nil), or beside Keep", ErrOption)
		}
		c.archive = f
		return nil
	})
}

// WithLogger sets the logger of Run and Maintain; the default is slog.Default().
func WithLogger(log *slog.Logger) Option {
	return optionFunc(func(c *config) error {
		if log == nil {
			return fmt.Errorf("%w: WithLogger(nil)", ErrOption)
		}
		c.log = log
		return nil
	})
}
