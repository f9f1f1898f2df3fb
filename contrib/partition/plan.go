package partition

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/sqlflake/sqlflake/contrib/partition/internal/engine"
	"github.com/sqlflake/sqlflake/contrib/partition/internal/period"
	"github.com/sqlflake/sqlflake/snowflake"
)

// Plan is the state of a table's partitions and what Maintain would do.
type Plan struct {
	Table string    // schema.table
	Now   time.Time // by the clock of the database, in the zone of the Set
	Steps []Step    // in their order

	// Problems are what Maintain leaves to people. Each matches ErrBlocked, and the end of the layout matches
	// snowflake.ErrTimeExhausted too.
	Problems []error

	// Covered is the time up to which rows have a partition, in the zone of the Set; later ones are rejected, or stored
	// in the default partition. It is zero if rows of Now have none. With a layout whose time has two parts it is up
	// to a Period before the time of the last partition's end.
	Covered time.Time

	// Overdue is the time from which on a Maintain would have done one of the Steps, so that none has succeeded since
	// then, in whatever process. It is zero if there is nothing to do.
	Overdue time.Time

	partitions int // that exist
}

// Step is one change. Its Action is one of
//
//	create   a partition
//	detach   a partition, which becomes a table
//	drop     a partition or a detached table, with its rows
//	keep     a partition or a detached table: see WithKeep
//	archive  a detached table: see WithArchive
//	alter    the table (see Adopt), or the comment of a partition
type Step struct {
	Action    string
	Partition string       // its name; empty for the table
	Lo, Hi    snowflake.ID // Lo <= key < Hi; the least and greatest int64: no bound
	From, To  time.Time    // the times of Lo and Hi, in the zone of the Set
	Why       string
	SQL       []string // the statements; what Maintain does also depends on the table at that time

	change engine.Change
}

// id returns a key for a step that is the same in the next plan.
func (s Step) id() string { return fmt.Sprint(s.Action, " ", s.Partition, " ", s.Lo) }

// problem adds a problem of a partition, or of the table if partition is empty.
func (p *Plan) problem(partition, format string, args ...any) {
	p.Problems = append(p.Problems, engine.Problem(partition, format, args...))
}

// String returns the plan for people: the steps as a table, and the problems. Times and days are in
// the zone of Now.
func (p *Plan) String() string {
	var b strings.Builder
	until := ""
	if !p.Covered.IsZero() {
		until = " until " + period.TimeText(p.Covered.In(p.Now.Location()))
	}

	fmt.Fprintf(&b, "%s: %s%s, %s, times in %v\n", p.Table, count(p.partitions, "partition"), until,
		count(len(p.Steps), "step"), p.Now.Location())
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	if len(p.Steps) > 0 {
		fmt.Fprintln(w, "ACTION\tPARTITION\tFROM\tTO\tREASON")
	}

	for _, s := range p.Steps {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n",
			s.Action, s.Partition, p.bound(s.Lo, s.From), p.bound(s.Hi, s.To), s.Why)
	}

	_ = w.Flush() // a strings.Builder returns no error
	for _, problem := range p.Problems {
		fmt.Fprintf(&b, "problem: %s\n", strings.TrimPrefix(problem.Error(), ErrBlocked.Error()+": "))
	}

	return b.String()
}

// bound returns the time of a step's bound, or "-" if it has none.
func (p *Plan) bound(id snowflake.ID, t time.Time) string {
	if id == engine.NoLow || id == engine.NoHigh {
		return "-"
	}
	return period.TimeText(t.In(p.Now.Location()))
}

func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
