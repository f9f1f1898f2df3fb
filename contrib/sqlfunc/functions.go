package sqlfunc

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// Functions is the SQL of one layout. Create it with [New]. It is immutable and safe for concurrent use.
type Functions struct {
	layout snowflake.Layout
	places []place // of the fields, high to low; of a time in two parts the upper one
	time   timePlace

	name   string // the start of the names in the database
	schema string // PostgreSQL only

	next   bool // a worker is set, so IDs can be issued
	worker int64
	lead   time.Duration // how far the time in an ID may be ahead of the server's clock

	leases leaseTables // without a namespace: the worker is not reserved
	clock  string      // SQL for the time instead of the server's clock; for tests
}

// New returns the functions of the layout. Without [WithWorker] there is no function that issues IDs.
//
// It returns [snowflake.ErrLayout] for the zero Layout and for field names of more than 63 bytes, the limit of
// PostgreSQL; [snowflake.ErrFieldRange] for a worker that does not fit; and [ErrOption] for other invalid options and a
// nil one.
func New(layout snowflake.Layout, options ...Option) (*Functions, error) {
	if layout == (snowflake.Layout{}) {
		return nil, fmt.Errorf("%w: the zero Layout has no fields", snowflake.ErrLayout)
	}

	f := &Functions{
		layout: layout, name: "snowflake", schema: "public",
		lead: snowflake.MaxLead, // Layout.Validate tolerates it
	}
	shift := layout.Bits()
	for _, field := range layout.Fields() {
		if len(field.Name) > maxIdentifier {
			return nil, fmt.Errorf("%w: the field name %s has %d bytes, databases take %d",
				snowflake.ErrLayout, quoteShort(field.Name), len(field.Name), maxIdentifier)
		}

		shift -= field.Bits
		at := place{field.Name, shift, field.Bits}
		if at.name == snowflake.FieldTime {
			f.time.high, f.time.low = f.time.low, at
		}
		if f.time.high.bits == 0 || at != f.time.low {
			f.places = append(f.places, at)
		}
	}

	for _, option := range options {
		if option == nil {
			return nil, fmt.Errorf("%w: nil", ErrOption)
		}
		if err := option(f); err != nil {
			return nil, err
		}
	}

	if err := f.checkWorker(); err != nil {
		return nil, err
	}

	return f, nil
}

// checkWorker returns an error for a worker that the layout does not have, and for lease tables without a worker.
func (f *Functions) checkWorker() error {
	greatest := f.layout.MaxWorker()
	switch {
	case !f.next && f.leases.namespace != "":
		return fmt.Errorf("%w: WithLeaseTables without WithWorker", ErrOption)
	case f.worker < 0 || f.worker > greatest:
		return fmt.Errorf("%w: %s %d is not in [0, %d]",
			snowflake.ErrFieldRange, cmp.Or(f.layout.WorkerField(), "worker"), f.worker, greatest)
	}

	return nil
}

// statements returns the statements that create the functions, and those that remove them, to be run in this order.
func (f *Functions) statements(dialect sqldb.Dialect) (create, drop []string, err error) {
	switch {
	case dialect == sqldb.Postgres:
		return f.postgres(), f.postgresDrop(), nil
	case dialect == sqldb.MySQL && f.next:
		return nil, nil, fmt.Errorf("%w: WithWorker: MariaDB issues no IDs, only PostgreSQL does", ErrOption)
	case dialect == sqldb.MySQL:
		return f.mariadb(), f.mariadbDrop(), nil
	}

	return nil, nil, fmt.Errorf("%w: the dialect %q, want Postgres or MySQL", ErrOption, dialect)
}

// Script returns the statements that create the functions as one text for the database's own client, psql or mariadb,
// and for migration files. It may be run again. It returns [ErrOption] for MariaDB with [WithWorker], and for dialects
// other than Postgres and MySQL.
func (f *Functions) Script(dialect sqldb.Dialect) (string, error) {
	statements, _, err := f.statements(dialect)
	if err != nil {
		return "", err
	}
	if dialect == sqldb.MySQL { // its client splits at semicolons unless another delimiter is set
		return "DELIMITER //\n\n" + strings.Join(statements, "//\n\n") + "//\n\nDELIMITER ;\n", nil
	}
	return strings.Join(statements, ";\n\n") + ";\n", nil
}

// Drop returns the statements that remove everything that Script creates, also what no longer exists. They also
// remove the state, so the database forgets which IDs it has issued: do not install functions with the same layout and
// worker again before the lead has passed. Tables whose columns have the functions as their default must be altered
// first. The row in the lease table stays. It returns the same errors as Script.
func (f *Functions) Drop(dialect sqldb.Dialect) ([]string, error) {
	_, drop, err := f.statements(dialect)
	return drop, err
}

// Install runs the statements on the database: in one transaction if db can begin one (*sql.DB, *sql.Conn), otherwise
// directly. On MariaDB each statement commits by itself, as all DDL does. It does not run in a transaction of the
// caller: a rollback would make the state forget IDs that were issued in it, and MariaDB would commit it. Migrations
// run Script instead.
//
// It may be called again, for example at each start of a program, and concurrently. The state of the function that
// issues IDs stays, so IDs continue where they were; a new worker takes effect. Functions of
// another layout are not replaced: the database returns an error (SQLSTATE 42723, in MariaDB 45000), since indexes and
// stored times depend on the functions. Use another name ([WithName]), or drop the functions first.
//
// On PostgreSQL existing functions must belong to the installing role, to the schema's owner, to a superuser, or to a
// role that has the installing role as a member (a superuser is a member of none). Otherwise they are rejected with
// 42501, and a state that Install did not create with 42710: where others may create objects, as anyone may in the
// schema public of PostgreSQL 14, they could be a trap.
//
// It returns [ErrOption] as Script does and for a transaction, and errors of the database with the number of the
// statement.
func (f *Functions) Install(ctx context.Context, db sqldb.DB, dialect sqldb.Dialect) error {
	statements, _, err := f.statements(dialect)
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

// runAll runs statements in their order.
func runAll(ctx context.Context, db sqldb.DB, statements []string) error {
	for i, statement := range statements {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("sqlfunc: install: statement %d of %d: %w", i+1, len(statements), err)
		}
	}
	return nil
}

// place is the position of a field in an ID.
type place struct {
	name        string
	shift, bits int
}

func (p place) max() int64 { return 1<<p.bits - 1 }

// place returns the position of a field, or the zero place if there is none.
func (f *Functions) place(name string) place {
	for _, p := range f.places {
		if p.name == name {
			return p
		}
	}
	return place{}
}

// timePlace is the position of the time: all bits in low or, if it has two parts, the upper ones in high.
type timePlace struct{ high, low place }

func (t timePlace) bits() int { return t.high.bits + t.low.bits }

func (t timePlace) max() int64 { return 1<<t.bits() - 1 }

// get returns SQL for the ticks in an ID, given that for the value of a field. Operators are in braces.
func (t timePlace) get(value func(place) string) string {
	if t.high.bits == 0 {
		return value(t.low)
	}
	return fmt.Sprintf("((%s {<<} %d) {|} %s)", value(t.high), t.low.bits, value(t.low))
}

// put returns SQL for the bits of an ID with the time of ticks, an operand in SQL.
func (t timePlace) put(ticks string) string {
	if t.high.bits == 0 {
		return fmt.Sprintf("%s {<<} %d", ticks, t.low.shift)
	}
	return fmt.Sprintf("(%s) {|} ((%s {&} %d) {<<} %d)", t.putPeriod(ticks), ticks, t.low.max(), t.low.shift)
}

// putPeriod is put for the first tick of a Layout.Period.
func (t timePlace) putPeriod(ticks string) string {
	if t.high.bits == 0 {
		return t.put(ticks)
	}
	return fmt.Sprintf("(%s {>>} %d) {<<} %d", ticks, t.low.bits, t.high.shift)
}

// ordered reports whether the time is the highest field.
func (f *Functions) ordered() bool { return f.places[0].name == snowflake.FieldTime }

// scaled returns the form for the unit in which the tick and the epoch are whole, and both in that unit.
func (f *Functions) scaled(inMicroseconds, inNanoseconds string) (form string, tick, epoch int64) {
	tick, epoch = int64(f.layout.Tick()), f.layout.Epoch().UnixNano()
	if tick%1000 == 0 && epoch%1000 == 0 {
		return inMicroseconds, tick / 1000, epoch / 1000
	}
	return inNanoseconds, tick, epoch
}

// called returns the name of a function or of the state.
func (f *Functions) called(what string) string { return f.name + "_" + what }

// patience bounds the wait of a call for the clock.
const patience = time.Second

// fill inserts texts and numbers into a template. The pairs are a name in braces and its value; added are those that
// all databases have. No name of ours and no text of a layout contains a quote or a backslash, see WithName and
// snowflake.NewLayout.
func (f *Functions) fill(template string, pairs ...any) string {
	sequence, tick := f.place(snowflake.FieldSequence), f.layout.Tick()
	pairs = append(pairs,
		"{name}", f.name,
		"{definition}", "'"+f.layout.String()+"'",
		"{time max}", f.time.max(),
		"{sequence bits}", sequence.bits,
		"{sequence shift}", sequence.shift,
		"{sequence max}", sequence.max(),
		"{worker}", f.worker,
		"{lead}", int64(f.lead/tick),
		"{lead text}", f.lead,
		"{patience}", max(1, int64(patience/tick)),
		"{tick seconds}", seconds(tick))
	texts := make([]string, len(pairs))
	for i, value := range pairs {
		texts[i] = fmt.Sprint(value)
	}

	return strings.NewReplacer(texts...).Replace(template)
}

// seconds returns the duration in seconds as an exact number.
func seconds(d time.Duration) string {
	return strings.TrimRight(strings.TrimRight(fmt.Sprintf("%d.%09d", d/time.Second, d%time.Second), "0"), ".")
}

// floorMicroseconds is Truncate that also works before the year 1.
func floorMicroseconds(t time.Time) time.Time {
	return t.Add(-time.Duration(t.Nanosecond() % 1000))
}

func ceilMicroseconds(t time.Time) time.Time {
	return floorMicroseconds(t.Add(time.Microsecond - time.Nanosecond))
}
