package sqlfunc

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// Functions is the SQL of one layout. Create it with [New]. It is immutable and safe for concurrent use.
type Functions struct {
	layout snowflake.Layout
	places []place // of the fields, high to low

	name   string // the start of the names in the database
	schema string // PostgreSQL only

	next   bool // a worker is set, so IDs can be issued
	worker int64
	fixed  int64 // the bits of the fields besides time and sequence
	lead   time.Duration

	leases *leaseTable // nil: the worker is not reserved
	clock  string      // SQL for the time instead of the server's clock; for tests
}

// place is the position of a field in an ID.
type place struct {
	name        string
	shift, bits int
}

func (p place) max() int64 { return 1<<p.bits - 1 }

// New returns the functions of the layout. Without [WithWorker] there is no function that issues IDs.
//
// It returns [snowflake.ErrLayout] for the zero Layout and for field names of more than 63 bytes, the limit of
// PostgreSQL; [snowflake.ErrFieldRange] for a worker or value that does not fit; [snowflake.ErrUnknownField] and
// [snowflake.ErrOption] for WithField, as [snowflake.New] does; and [ErrOption] for other invalid options and a nil
// one.
func New(layout snowflake.Layout, options ...Option) (*Functions, error) {
	if layout == (snowflake.Layout{}) {
		return nil, fmt.Errorf("%w: the zero Layout has no fields", snowflake.ErrLayout)
	}
	f := &Functions{layout: layout, name: defaultName, schema: defaultSchema, lead: defaultLead}
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

// Statements returns the statements that create the functions, to be run in this order. They may be run again.
//
// It returns [ErrDialect] for SQLite, whose functions come from the program ([Functions.RegisterSQLite]), and for
// unknown dialects.
func (f *Functions) Statements(dialect sqldb.Dialect) ([]string, error) {
	switch dialect {
	case sqldb.Postgres:
		return f.postgres(), nil
	case sqldb.MySQL:
		return f.mariadb()
	}
	return nil, dialectError(dialect)
}

// Script returns the statements as one text for the database's own client, psql or mariadb, and for migration files.
// Its errors are those of Statements.
func (f *Functions) Script(dialect sqldb.Dialect) (string, error) {
	switch dialect {
	case sqldb.Postgres:
		return joinScript(f.postgres()), nil
	case sqldb.MySQL:
		return f.mariadbScript()
	}
	return "", dialectError(dialect)
}

// Drop returns the statements that remove everything that Statements creates, also what no longer exists. They also
// remove the state, so the database forgets which IDs it has issued: do not install functions with the same layout and
// worker again before the lead has passed. Tables whose columns have the functions as their default must be altered
// first. The row in the lease table stays. The errors are those of Statements.
func (f *Functions) Drop(dialect sqldb.Dialect) ([]string, error) {
	switch dialect {
	case sqldb.Postgres:
		return f.postgresDrop(), nil
	case sqldb.MySQL:
		return f.mariadbDrop()
	}
	return nil, dialectError(dialect)
}

func dialectError(dialect sqldb.Dialect) error {
	if dialect == sqldb.SQLite {
		return fmt.Errorf("%w: %v has functions only from its driver, see RegisterSQLite", ErrDialect, dialect)
	}
	return fmt.Errorf("%w: %v, want Postgres or MySQL", ErrDialect, dialect)
}

// called returns the name of a function or of the state.
func (f *Functions) called(what string) string { return f.name + "_" + what }

// place returns the position of a field, or the zero place if there is none.
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

// Install runs the statements on the database: in one transaction if db can begin one (*sql.DB, *sql.Conn), otherwise
// directly. On MariaDB each statement commits by itself, as all DDL does. It does not run in a transaction of the
// caller: a rollback would make the state forget IDs that were issued in it, and MariaDB would commit it. Migrations
// run Statements or Script instead.
//
// It may be called again, for example at each start of a program, and concurrently. The state of the function that
// issues IDs stays, so IDs continue where they were; a new worker, lead or fixed field takes effect. Functions of
// another layout are not replaced: the database returns an error (SQLSTATE 42723, in MariaDB 45000), since indexes and
// stored times depend on the functions. Use another name ([WithName]), or drop the functions first.
//
// On PostgreSQL existing functions must belong to the installing role, to the schema's owner, to a superuser, or to a
// role of which the installing role is a member (a superuser is a member of none). Otherwise they are rejected with
// 42501, and a state that Install did not create with 42710: where others may create objects, as everybody may in the
// schema public of PostgreSQL 14, they could be a trap.
//
// It returns [ErrDialect] as Statements does, [ErrOption] for a transaction, and errors of the database with the number
// of the statement.
func (f *Functions) Install(ctx context.Context, db sqldb.DB, dialect sqldb.Dialect) error {
	statements, err := f.Statements(dialect)
	if err != nil {
		return err
	}
	if err := sqldb.Validate(db, dialect); err != nil {
		return fmt.Errorf("%w: %w", ErrOption, err)
	}
	beginner, ok := db.(interface {
		BeginTx(ctx context.Context, opts *sql.TxOptions) (*sql.Tx, error)
	})
	if !ok {
		return runAll(ctx, db, statements)
	}
	tx, err := beginner.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("sqlfunc: install: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // no effect after a commit
	if err := runAll(ctx, tx, statements); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("sqlfunc: install: commit: %w", err)
	}
	return nil
}

func runAll(ctx context.Context, db sqldb.DB, statements []string) error {
	for i, statement := range statements {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("sqlfunc: install: statement %d of %d: %w", i+1, len(statements), err)
		}
	}
	return nil
}
