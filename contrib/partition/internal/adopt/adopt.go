// Package adopt finds out what is left to do to turn an ordinary table into a partitioned one, and does it.
package adopt

import (
	"context"
	_ "embed" // for the query
	"errors"
	"fmt"
	"time"

	"github.com/sqlflake/sqlflake/contrib/partition/internal/engine"
	"github.com/sqlflake/sqlflake/contrib/partition/internal/period"
	"github.com/sqlflake/sqlflake/contrib/partition/internal/postgres"
	"github.com/sqlflake/sqlflake/internal/sqltable"
)

// Table is a table to adopt, with what its Set says about it.
type Table struct {
	*engine.Table
	Calendar period.Calendar
	Now      time.Time // by the clock of this process
	Retain   int       // periods before the current one; 0: all
	Grace    time.Duration
}

// Adoption is what is left to do for a table. Only its first step can be run: the next one is found out after it.
type Adoption struct {
	Table    engine.Name
	Now      time.Time // by the clock of the database
	Problems []error   // with any of them nothing is done
	Steps    []Step

	// Ordinary says that the table is no partitioned one yet. Otherwise Engine.Inspect says whether it is suitable.
	Ordinary bool

	// After is an ordinary table after the Steps, when partitions are created.
	After *engine.State

	// Later are the steps after the partitions were created.
	Later []Step
}

// Step is one step, and what executes it.
type Step struct {
	engine.Change
	Why string
	SQL []string
	Run func(ctx context.Context, q engine.Querier) error
}

// legacyDrop says in a plan when Maintain drops the partition of the existing rows, which ends at hi.
func (t *Table) legacyDrop(hi int64) string {
	if t.Retain == 0 {
		return ""
	}
	at := t.Calendar.After(t.Calendar.Containing(t.Calendar.At(hi)), t.Retain)
	return ": Maintain drops it as a whole, not before " + t.Calendar.Text(at.From.Add(t.Grace))
}

// Refusal returns problems as an error, or nil if there are none.
func Refusal(problems []error) error {
	if len(problems) == 0 {
		return nil
	}
	return fmt.Errorf("%w: it can't be adopted: %w", engine.ErrTable, errors.Join(problems...))
}

// refuse adds a problem for each row of a query.
func (a *Adoption) refuse(ctx context.Context, q engine.Querier, query string, args ...any) error {
	texts, err := engine.List(ctx, q, query, args...)
	for _, text := range texts {
		a.Problems = append(a.Problems, engine.Problem("", "%s", text))
	}
	return err
}

// refuseAhead adds a problem if there is a row with a key from end on.
func (a *Adoption) refuseAhead(ctx context.Context, q engine.Querier, t *Table, end int64, why string) error {
	if len(a.Problems) > 0 { // there may be no key, or no right to read it
		return nil
	}

	part := engine.Part{Name: a.Table}
	key, found, err := postgres.Engine{}.Key(ctx, q, t.Table, part, engine.NoLow, engine.NoHigh, engine.Greatest)
	if found && key >= end {
		a.Problems = append(a.Problems, engine.Problem("",
			"it has a row with the key %d, of the time %s: that is after %s, %s",
			key, t.Calendar.Text(t.Calendar.At(key)), why, t.Calendar.Text(t.Calendar.At(end))))
	}
	return err
}

// Read reads what is left to do: the constraint, its validation, the swap, and foreign keys. It notes in c what it
// finds and what its steps do. attempt counts from 0: see postgres.RelatedLocks.
func Read(ctx context.Context, q engine.Querier, t *Table, c *Claim, attempt int) (*Adoption, error) {
	o, err := readOrdinary(ctx, q, t)
	if err != nil {
		return nil, err
	}

	a := &Adoption{Table: o.Name, Now: o.now, Ordinary: o.isTable()}
	if !a.Ordinary { // adopted before, or unsuitable
		return a, a.addReferences(ctx, q, o, false)
	}

	if err := t.CheckKey(o.Name, o.keyType, o.keyType == "bigint"); err != nil {
		return nil, err
	}
	if o.checkDef != "" {
		c.table = postgres.Quote(o.Name)
	}
	if err := a.refusePostgres(ctx, q, t, o); err != nil {
		return nil, err
	}

	cut, err := a.addConstraint(ctx, q, t, o, c)
	if err != nil {
		return nil, err
	}
	if err := a.addSwap(ctx, q, t, o, cut, attempt); err != nil {
		return nil, err
	}

	legacy := engine.Part{
		Name: engine.Name{Schema: o.Schema, Table: o.legacy}, Lo: engine.NoLow, Hi: cut,
	}
	a.After = &engine.State{Table: o.Name, Now: o.now, Parts: []engine.Part{legacy}}
	return a, a.addReferences(ctx, q, o, true)
}

// refusalsQuery returns what the swap can't carry over. Parameters: the table's OID, its new name, the key,
// checkName.
//
//go:embed refusals.sql
var refusalsQuery string

// checkName is the constraint that makes ATTACH PARTITION skip its scan.
const checkName = "sqlflake_adopt"

// ordinary is a PostgreSQL table without partitions.
type ordinary struct {
	engine.Name
	legacy     string // its name as a partition
	oid        int64
	kind       string // of pg_class
	keyType    string
	bytes      int64
	now        time.Time
	checkDef   string // of the constraint checkName; empty: there is none
	checkValid bool
}

// isTable reports whether it is no partitioned table, and no other relation.
func (o *ordinary) isTable() bool { return o.kind == "r" }

// step returns a step that changes the table.
func (o *ordinary) step(why string, sql []string) Step {
	return Step{
		Change: engine.Change{
			Action: engine.Alter, Lo: engine.NoLow, Hi: engine.NoHigh,
		},
		Why: why, SQL: sql,
	}
}

// readOrdinary reads the catalog's entries of the table, its key, and the constraint checkName.
func readOrdinary(ctx context.Context, q engine.Querier, t *Table) (*ordinary, error) {
	o := &ordinary{legacy: engine.FitName(postgres.Engine{}, t.Table.Table, "_legacy")}
	var now int64
	row := q.QueryRowContext(ctx, `SELECT c.oid::bigint, n.nspname, c.relname, c.relkind::text,
			coalesce(format_type(a.atttypid, a.atttypmod), ''), pg_total_relation_size(c.oid),
			(extract(epoch FROM clock_timestamp()) * 1000000)::int8, coalesce(pg_get_constraintdef(k.oid), ''),
			coalesce(k.convalidated, false)
		FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
		LEFT JOIN pg_constraint AS k ON k.conrelid = c.oid AND k.conname = $2
		LEFT JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = $4 AND a.attnum > 0 AND NOT a.attisdropped
		WHERE c.relname = $1 AND n.nspname = $3`,
		t.Table.Table, checkName, t.Schema, t.Key)

	err := engine.Scan(row, t.NotFound(), &o.oid, &o.Schema, &o.Table, &o.kind, &o.keyType, &o.bytes, &now,
		&o.checkDef, &o.checkValid)
	o.now = time.UnixMicro(now).UTC()
	return o, err
}

// refusePostgres adds what the swap can't carry over to the problems.
func (a *Adoption) refusePostgres(ctx context.Context, q engine.Querier, t *Table, o *ordinary) error {
	err := a.refuse(ctx, q, refusalsQuery, o.oid, o.legacy, t.Key, checkName)
	if sqltable.State(err) == "42704" { // a publication was dropped meanwhile
		return engine.ErrChanging
	}
	return err
}

// alter returns a step that changes the table under an exclusive lock, for an instant.
func (o *ordinary) alter(t *Table, why, change string) Step {
	step := o.step(why, []string{"ALTER TABLE " + postgres.Quote(o.Name) + " " + change})
	step.Run = func(ctx context.Context, q engine.Querier) error {
		lock := postgres.TableLock{Table: postgres.Quote(o.Name), Mode: postgres.Exclusive}
		if err := postgres.LockAll(ctx, q, t.Table, lock); err != nil {
			return err
		}
		return engine.ExecAll(ctx, q, step.SQL...)
	}
	return step
}
