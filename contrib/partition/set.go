package partition

import (
	"fmt"
	"log/slog"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// Set describes the partitions of one table. Create it with [New]. It is immutable, holds no connection, and is safe
// for concurrent use; any number of processes may have equal Sets and maintain the same table.
type Set struct {
	dialect sqldb.Dialect
	engine  engine
	table   name
	unit    Unit
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
	s := &Set{dialect: dialect, unit: unit, config: defaults()}
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
	_, _, err := s.layout.Range(s.layout.Epoch(), s.layout.End())
	shortest, period := s.unit.shortest(s.zone), s.layout.Period()
	switch {
	case !s.unit.valid():
		return fmt.Errorf("%w: the unit %d, want Day, Week, Month, Year or a positive duration", ErrOption, s.unit)
	case err != nil:
		return fmt.Errorf("partition: the table %v: %w", s.table, err)
	case s.rename != nil && s.archive != nil:
		return fmt.Errorf("%w: WithKeep and WithArchive exclude each other", ErrOption)
	case shortest < period:
		return fmt.Errorf("%w: the unit of at least %v is shorter than a period of the layout, %v",
			ErrOption, shortest, period)
	case !s.unit.calendar() && s.zone != time.UTC:
		return fmt.Errorf("%w: WithZone(%v) with the unit %v, which does not depend on a time zone",
			ErrOption, s.zone, shortest)
	}

	return nil
}

// period is a span of time, and the IDs in it: lo <= id && id < hi. With a layout whose time has two parts, lo and hi
// are the starts of the layout's periods that contain from and to: the last rows before to are in the next period, so
// that none is removed too early.
type period struct {
	from, to time.Time
	lo, hi   int64
}

// period returns the one that contains t. IDs before the epoch and after the layout's end belong to no period.
func (s *Set) period(t time.Time) period {
	from := s.unit.start(t, s.zone)
	return s.span(from, s.unit.next(from, s.zone))
}

func (s *Set) next(p period) period { return s.span(p.to, s.unit.next(p.to, s.zone)) }

func (s *Set) after(p period, n int) period {
	for range n {
		p = s.next(p)
	}
	return p
}

// before returns the period n periods before p, or the period of the epoch.
func (s *Set) before(p period, n int) period {
	for ; n > 0 && p.lo > 0; n-- {
		p = s.previous(p)
	}
	return p
}

func (s *Set) previous(p period) period { return s.period(p.from.Add(-1)) }

func (s *Set) span(from, to time.Time) period {
	return period{from, to, s.bound(from), s.bound(to)}
}

// bound returns the least ID of the layout's period that contains the first tick from t on.
func (s *Set) bound(t time.Time) int64 {
	ranges, _, _, _ := s.layout.MaskedRanges(t, t) // New has checked the layout
	return int64(ranges[0].Lo)
}

// of returns the period that contains an ID.
func (s *Set) of(id int64) period {
	p := s.period(s.reached(id))
	if id >= p.hi {
		return s.next(p)
	}
	return p
}

// at returns the time of a bound: of the first ID that is not below it, or the start of the period that it begins.
func (s *Set) at(bound int64) time.Time {
	if p := s.of(bound); p.lo == bound && bound > 0 {
		return later(p.from, s.reached(bound))
	}
	return s.timeOf(bound)
}

func (s *Set) timeOf(id int64) time.Time { return s.layout.Time(snowflake.ID(max(id, 0))) }

// reached returns the time from which on there can be IDs that are not below a bound: the start of the layout's
// period, in which a higher worker has IDs above a bound of any time.
func (s *Set) reached(bound int64) time.Time { return s.timeOf(s.bound(s.timeOf(bound))) }

func (s *Set) text(t time.Time) string { return timeText(t.In(s.zone)) + t.In(s.zone).Format(" MST") }

func (s *Set) partitionName(start time.Time) string {
	if s.names != nil {
		return s.names(start.In(s.zone))
	}
	return s.table.table + "_" + s.unit.name(start, s.zone)
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
