package sqlfunc

import (
	"fmt"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
)

// Functions is the SQL of one layout. Make it with [New]. It is immutable and
// safe for concurrent use.
type Functions struct {
	layout snowflake.Layout
	places []place // of the fields, high to low

	name   string // what the names in the database start with
	schema string // PostgreSQL only

	next   bool // there is a worker, so that IDs can be issued
	worker int64
	fixed  int64 // the bits of the fields besides time and sequence
	lead   time.Duration

	leases *leaseTable // nil: the worker is not reserved
	clock  string      // SQL for the time, in the place of the server's clock; for tests
}

// place is where a field stands in an ID.
type place struct {
	name        string
	shift, bits int
}

func (p place) max() int64 { return 1<<p.bits - 1 }

// New returns the functions of the layout. Without [WithWorker] there is no
// function that issues IDs.
//
// It returns snowflake.ErrLayout for the zero Layout and for field names of more
// than 63 bytes, the limit of PostgreSQL;
// snowflake.ErrFieldRange for a worker or value that does not fit,
// snowflake.ErrUnknownField and snowflake.ErrFieldOwned for WithField as
// snowflake.New does, and [ErrOption] for other options that can't be.
func New(layout snowflake.Layout, options ...Option) (*Functions, error) {
	if layout.IsZero() {
		return nil, fmt.Errorf("%w: the zero Layout has no fields", snowflake.ErrLayout)
	}
	f := &Functions{layout: layout, name: defaultName, schema: defaultSchema, lead: DefaultLead}
	shift := layout.Bits()
	for _, field := range layout.Fields() {
		if len(field.Name) > maxIdentifier {
			return nil, fmt.Errorf("%w: the field name %s has %d bytes, databases take %d",
				snowflake.ErrLayout, quoteShort(field.Name), len(field.Name), maxIdentifier)
		}
		shift -= field.Bits
		f.places = append(f.places, place{field.Name, shift, field.Bits})
	}
	c := config{Functions: f}
	for _, option := range options {
		if option == nil {
			return nil, fmt.Errorf("%w: nil", ErrOption)
		}
		if err := option.apply(&c); err != nil {
			return nil, err
		}
	}
	if err := c.stamp(); err != nil {
		return nil, err
	}
	return f, nil
}

// Layout returns the layout of the functions.
func (f *Functions) Layout() snowflake.Layout { return f.layout }

// Names returns the names that the functions have in a database, without a
// schema: snowflake_layout, snowflake_time, snowflake_parts; snowflake_min if the
// time is the highest field; snowflake_next if there is a worker.
func (f *Functions) Names() []string {
	names := []string{f.called("layout"), f.called("time"), f.called("parts")}
	if f.ordered() {
		names = append(names, f.called("min"))
	}
	if f.next {
		names = append(names, f.called("next"))
	}
	return names
}

// Statements returns what makes the functions, one statement each, to be sent to
// the driver in this order. All of it may be run again.
//
// It returns [ErrDialect] for SQLite, which takes functions from the driver
// ([Functions.RegisterSQLite]), and for unknown dialects.
func (f *Functions) Statements(dialect sqllease.Dialect) ([]string, error) {
	switch dialect {
	case sqllease.Postgres:
		return f.postgres(), nil
	case sqllease.MySQL:
		return f.mariadb()
	}
	return nil, dialectError(dialect)
}

// Script returns the same as one text for the database's own client, psql or
// mariadb, and for migration files. Its errors are those of Statements.
func (f *Functions) Script(dialect sqllease.Dialect) (string, error) {
	switch dialect {
	case sqllease.Postgres:
		return joinScript(f.postgres()), nil
	case sqllease.MySQL:
		return f.mariadbScript()
	}
	return "", dialectError(dialect)
}

// Drop returns the statements that remove all that Statements makes, also what is
// not there any more. With the state goes the knowledge of which IDs were issued:
// install nothing with the same layout and worker within the lead from then.
// Tables whose columns have the functions as their default must be altered
// first. The row in the table of leases stays. Its errors are those of Statements.
func (f *Functions) Drop(dialect sqllease.Dialect) ([]string, error) {
	switch dialect {
	case sqllease.Postgres:
		return f.postgresDrop(), nil
	case sqllease.MySQL:
		return f.mariadbDrop()
	}
	return nil, dialectError(dialect)
}

func dialectError(dialect sqllease.Dialect) error {
	if dialect == sqllease.SQLite {
		return fmt.Errorf("%w: %v has functions from its driver only, see RegisterSQLite", ErrDialect, dialect)
	}
	return fmt.Errorf("%w: %v, want Postgres or MySQL", ErrDialect, dialect)
}

// called returns the name of a function, or of the state.
func (f *Functions) called(what string) string { return f.name + "_" + what }

// place returns where a field stands; the zero place if there is none.
func (f *Functions) place(name string) place {
	for _, p := range f.places {
		if p.name == name {
			return p
		}
	}
	return place{}
}

// ordered reports whether IDs sort by their time.
func (f *Functions) ordered() bool { return f.places[0].name == snowflake.FieldTime }

// leadTicks returns the lead in whole ticks.
func (f *Functions) leadTicks() int64 { return int64(f.lead / f.layout.Tick()) }
