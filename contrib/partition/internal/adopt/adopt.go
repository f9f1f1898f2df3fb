// Package adopt finds out what is left to do to turn an ordinary table into a partitioned one, and does it.
package adopt

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sqlflake/sqlflake/contrib/partition/internal/engine"
	"github.com/sqlflake/sqlflake/contrib/partition/internal/period"
	"github.com/sqlflake/sqlflake/contrib/partition/internal/postgres"
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
	To  time.Time // the time of Hi; zero: none
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
