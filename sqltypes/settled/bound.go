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

	// ErrUnknown is returned by Read if the database does not show all open transactions, so that there is no bound. The
	// text names the reason, and the right that is missing if there is one.
	ErrUnknown = errors.New("settled: not all open transactions are known")
)

// Bound is the result of Read.
type Bound struct {
	// Below is the bound: no more rows with a smaller key appear. It is 0 before the layout's epoch.
	Below snowflake.ID

	// Lag is by how much the bound's time is before the database's time, at least the margin.
	Lag time.Duration

	// Reason says, for people, what makes Lag longer than the margin: the oldest transaction, and a clock that is behind
	// by a second or more. It is empty if there is none.
	Reason string
}

// Read returns the current bound for the keys of a layout; the package comment has the rule. It uses one connection of
// the pool, outside of any transaction, so a caller that holds all connections of the pool waits until ctx ends.
//
// Errors: ErrOption; ErrUnknown; snowflake.ErrFieldOrder if the time is not the layout's highest field, and ErrLayout
// for the zero Layout; snowflake.ErrTimeExhausted after the layout's end; and those of the database, the driver and the
// store of WithLeases. After an error there is no bound: wait, and call Read again.
func Read(ctx context.Context, db *sql.DB, dialect sqldb.Dialect, layout snowflake.Layout, opts ...Option) (Bound, error) {
	c, err := configure(opts)
	if err != nil {
		return Bound{}, err
	}
	if db == nil {
		return Bound{}, fmt.Errorf("%w: the database is nil", ErrOption)
	}
	if _, err := layout.MinAt(layout.Epoch()); err != nil {
		return Bound{}, fmt.Errorf("settled: %w", err)
	}
	look, ok := looks[dialect]
	if !ok {
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
	found, err := look(ctx, conn)
	if err != nil {
		if errors.Is(err, ErrUnknown) {
			return Bound{}, err
		}
		return Bound{}, fmt.Errorf("settled: look at the open transactions: %w", err)
	}
	return found.bound(layout, c.margin, owners)
}

// looks ask the database. The connection is in no transaction, before and after.
var looks = map[sqldb.Dialect]func(context.Context, *sql.Conn) (sight, error){
	sqldb.Postgres: lookPostgres,
	sqldb.MySQL:    lookMySQL,
	sqldb.SQLite:   lookSQLite,
}

// sight is what a database shows.
type sight struct {
	now    time.Time // by its clock, read before it looked for transactions
	oldest time.Time // start of the oldest open transaction, now if there is none
	holder string    // that transaction
}

// note takes account of an open transaction.
func (s *sight) note(start time.Time, format string, args ...any) {
	if start.Before(s.oldest) {
		s.oldest, s.holder = start, fmt.Sprintf(format, args...)
	}
}

func (s *sight) bound(layout snowflake.Layout, margin time.Duration, owners []owner) (Bound, error) {
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
		b.Reason += fmt.Sprintf("the clock of worker %d in namespace %q is behind by %v", slowest.Worker, slowest.Namespace, behind)
	}
	at := s.oldest.Add(-margin - behind)
	b.Lag = s.now.Sub(at)
	var err error
	// All IDs of the tick that contains the time are left out.
	if b.Below, err = layout.MinAt(at); err != nil {
		if !errors.Is(err, snowflake.ErrBeforeEpoch) {
			return Bound{}, fmt.Errorf("settled: %w", err)
		}
		b.Below = 0
	}
	return b, nil
}

// unknown returns an error that matches ErrUnknown.
func unknown(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUnknown, fmt.Sprintf(format, args...))
}
