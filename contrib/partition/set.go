package partition

import (
	"fmt"
	"log/slog"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sqlflake/sqlflake/contrib/partition/internal/period"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// Set describes the partitions of one table. Create it with [New]. It is immutable, holds no connection, and is safe
// for concurrent use; any number of processes may have equal Sets and maintain the same table.
type Set struct {
	dialect sqldb.Dialect
	engine  engine
	table   name
	path    string // the search_path of the session, see engine.connect
	config
}

// name is the name of a table: with a schema (a database on MySQL) or in the connection's own.
type name struct{ schema, table string }

func (n name) String() string {
	if n.schema == "" {
		return n.table
	}
	return n.schema + "." + n.table
}

// New returns the Set of a table, "table" or "schema.table", whose partitions span one unit each. It does not talk to
// the database.
//
// It returns [ErrOption] for a dialect without partitions (SQLite) or an unknown one, an empty or too long name, an
// invalid unit, one that may be shorter than the Period of the layout, and invalid options; and snowflake.ErrFieldOrder
// for a layout whose time is not the highest field: its IDs of a span of time are not one range.
func New(dialect sqldb.Dialect, table string, unit Unit, options ...Option) (*Set, error) {
	s := &Set{dialect: dialect, config: defaults()}
	s.calendar.Unit = period.Unit(unit)
	switch dialect {
	case sqldb.Postgres:
		s.engine = postgres{}
	case sqldb.MySQL:
		s.engine = mysql{}
	default:
		return nil, fmt.Errorf("%w: the dialect %q has no partitions, want Postgres or MySQL", ErrOption, dialect)
	}

	var err error
	if s.table, err = s.parseName(table); err != nil {
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
func (s *Set) parseName(text string) (name, error) {
	schema, table, dotted := strings.Cut(text, ".")
	if !dotted {
		schema, table = "", text
	}
	if strings.Contains(table, ".") || s.checkNew(table) != nil || dotted && s.checkNew(schema) != nil {
		return name{}, fmt.Errorf("%w: the table %.100q, want table or schema.table of 1 to %d bytes each",
			ErrOption, text, s.engine.maxName())
	}
	return name{schema, table}, nil
}

// check tests what depends on several settings.
func (s *Set) check() error {
	_, _, err := s.calendar.Layout.Range(s.calendar.Layout.Epoch(), s.calendar.Layout.End())
	shortest, period := s.calendar.Unit.Shortest(s.calendar.Zone), s.calendar.Layout.Period()
	switch {
	case !s.calendar.Unit.Valid():
		return fmt.Errorf("%w: the unit %d, want Day, Week, Month, Year or a positive duration", ErrOption, s.calendar.Unit)
	case err != nil:
		return fmt.Errorf("partition: the table %v: %w", s.table, err)
	case s.rename != nil && s.archive != nil:
		return fmt.Errorf("%w: WithKeep and WithArchive exclude each other", ErrOption)
	case shortest < period:
		return fmt.Errorf("%w: the unit of at least %v is shorter than a period of the layout, %v",
			ErrOption, shortest, period)
	case !s.calendar.Unit.ByCalendar() && s.calendar.Zone != time.UTC:
		return fmt.Errorf("%w: WithZone(%v) with the unit %v, which does not depend on a time zone",
			ErrOption, s.calendar.Zone, shortest)
	}

	return nil
}

func (s *Set) partitionName(start time.Time) string {
	if s.names != nil {
		return s.names(start.In(s.calendar.Zone))
	}
	return s.table.table + "_" + s.calendar.Unit.Name(start, s.calendar.Zone)
}

func (s *Set) defaultName() string { return s.table.table + "_default" }

// keptName returns the name that WithKeep gives to a partition.
func (s *Set) keptName(p part) name {
	partition := p.table
	if p.parent.table != "" {
		partition = exchangeName(p.parent, p.table)
	}
	text := s.rename(partition)
	if schema, table, ok := strings.Cut(text, "."); ok {
		return name{schema, table}
	}
	return name{p.schema, text}
}

// checkNew returns an error for a name that the database would refuse, or cut as PostgreSQL does.
func (s *Set) checkNew(text string) error {
	limit := s.engine.maxName()
	if text == "" || len(text) > limit || strings.ContainsAny(text, "\x00") || !utf8.ValidString(text) {
		return fmt.Errorf("%w: %.100q has %d bytes, want 1 to %d", ErrOption, text, len(text), limit)
	}
	return nil
}

func (s *Set) logger() *slog.Logger { return s.log.With("table", s.table.String()) }
