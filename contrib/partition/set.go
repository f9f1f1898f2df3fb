package partition

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/contrib/partition/internal/engine"
	"github.com/sqlflake/sqlflake/contrib/partition/internal/mysql"
	"github.com/sqlflake/sqlflake/contrib/partition/internal/period"
	"github.com/sqlflake/sqlflake/contrib/partition/internal/postgres"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// Set describes the partitions of one table. Create it with [New]. It is immutable, holds no connection, and is safe
// for concurrent use; any number of processes may have equal Sets and maintain the same table.
type Set struct {
	engine engine.Engine
	config
}

var engines = map[sqldb.Dialect]engine.Engine{sqldb.Postgres: postgres.Engine{}, sqldb.MySQL: mysql.Engine{}}

// New returns the Set of a table, "table" or "schema.table", whose partitions span one unit each. It does not talk to
// the database.
//
// It returns [ErrOption] for a dialect without partitions (SQLite) or an unknown one, an empty or too long name, an
// invalid unit, one that may be shorter than the Period of the layout, and invalid options; and snowflake.ErrFieldOrder
// for a layout whose time is not the highest field: its IDs of a span of time are not one range.
func New(dialect sqldb.Dialect, table string, unit Unit, options ...Option) (*Set, error) {
	s := &Set{config: defaults(), engine: engines[dialect]}
	s.calendar.Unit = period.Unit(unit)
	if s.engine == nil {
		return nil, fmt.Errorf("%w: the dialect %q has no partitions, want Postgres or MySQL", ErrOption, dialect)
	}

	var err error
	if s.table.Name, err = s.parseName(table); err != nil {
		return nil, err
	}

	for _, option := range options {
		if option == nil {
			return nil, fmt.Errorf("%w: nil", ErrOption)
		}
		if err := option(&s.config); err != nil {
			return nil, err
		}
	}

	if err := s.check(); err != nil {
		return nil, err
	}

	return s, nil
}

// parseName splits "schema.table" at its dot.
func (s *Set) parseName(text string) (engine.Name, error) {
	schema, table, dotted := strings.Cut(text, ".")
	if !dotted {
		schema, table = "", text
	}

	goodSchema := !dotted || engine.CheckName(s.engine, schema) == nil
	goodTable := engine.CheckName(s.engine, table) == nil && !strings.Contains(table, ".")
	if !goodSchema || !goodTable {
		return engine.Name{}, fmt.Errorf("%w: the table %.100q, want table or schema.table of 1 to %d bytes each",
			ErrOption, text, s.engine.MaxName())
	}

	return engine.Name{Schema: schema, Table: table}, nil
}

// check tests what depends on several settings.
func (s *Set) check() error {
	unit, zone, layout := s.calendar.Unit, s.calendar.Zone, s.calendar.Layout
	_, _, err := layout.Range(layout.Epoch(), layout.End())
	shortest, period := unit.Shortest(zone), layout.Period()

	switch {
	case !unit.Valid():
		return fmt.Errorf("%w: the unit %d, want Day, Week, Month or a duration of whole seconds", ErrOption, unit)
	case err != nil:
		return fmt.Errorf("partition: the table %v: %w", s.table.Name, err)
	case s.table.Keep && s.table.Archive != nil:
		return fmt.Errorf("%w: WithKeep and WithArchive exclude each other", ErrOption)
	case shortest < period:
		return fmt.Errorf("%w: the unit of at least %v is shorter than a period of the layout, %v",
			ErrOption, shortest, period)
	case !unit.ByCalendar() && zone != time.UTC:
		return fmt.Errorf("%w: WithZone(%v) with the unit %v, which does not depend on a time zone",
			ErrOption, zone, shortest)
	}

	return nil
}

// connect calls f on a connection of the engine, with the Set of the table in its schema.
func (s *Set) connect(ctx context.Context, db *sql.DB, change bool, f func(*Set, engine.Querier) error) error {
	return s.engine.Connect(ctx, db, &s.table, change, func(t *engine.Table, q engine.Querier) error {
		located := *s
		located.table = *t
		return f(&located, q)
	})
}

func (s *Set) logger() *slog.Logger { return s.log.With("table", s.table.String()) }

// Unit is the span of time of a partition: Day, Week or Month, which follow the calendar of a time zone, or a
// fixed duration of whole seconds, such as Unit(time.Hour) or Unit(6*time.Hour), which is counted from 1970-01-01 00:00
// UTC.
type Unit time.Duration

// Units of the calendar.
const (
	Day   Unit = -1
	Week  Unit = -2 // of ISO 8601, from Monday on
	Month Unit = -3
)

// Errors of this package, for errors.Is. The text of a returned error names the value and the limit. Errors of the
// layout, such as snowflake.ErrFieldOrder and snowflake.ErrTimeExhausted, and errors of the database are wrapped too.
var (
	// ErrOption is returned by New for an invalid table, unit or option, by Run for an invalid interval, and by all
	// methods if WithStart asks for too many partitions.
	ErrOption = engine.ErrOption

	// ErrTable is returned by all methods that use the database if the table can't be maintained: it does not exist, is
	// a view, has no partitions, is partitioned by something other than ranges of the key, or its key is not a bigint.
	// Adopt returns it for a table that can't be partitioned by its key, and on MySQL and MariaDB. Maintain returns it
	// there if WithKeep or WithArchive can't make a table of a partition, because another table has its name.
	ErrTable = engine.ErrTable

	// ErrBlocked is matched by the problems of a Plan. Maintain returns each of them.
	ErrBlocked = engine.ErrBlocked

	// ErrLocked is returned by Maintain and Adopt if a step did not get its locks within a minute, each time waiting
	// for them for at most the lock timeout. On PostgreSQL its text says who holds the lock of a drop or an adoption.
	ErrLocked = engine.ErrLocked
)
