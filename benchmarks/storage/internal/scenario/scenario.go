// Package scenario has the questions that the tool answers. Each fills tables in some way and measures the result.
package scenario

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/key"
)

// Scenario is a question and the way to answer it.
type Scenario struct {
	Name     string // for -scenario
	Title    string
	Question string // the question that the figures answer, one sentence

	// Kinds are the kinds of keys to compare if the user names none; nil: DefaultKinds. Each is measured in every round,
	// beside the baseline.
	Kinds []string
	// Sizes are further kinds, measured once for their sizes. Their speeds have too few rounds for a verdict.
	Sizes []string
	// Cases returns the parameters for which each kind is measured.
	Cases func(o Options, e engine.Engine) []measure.Params
	// Once is set if all figures are exact, so that further rounds would repeat them. OnceFor reports the same of single
	// cases, and of those that take too long to repeat; it may be nil.
	Once    bool
	OnceFor func(p measure.Params) bool
	// Timed is set if sizes depend on timing, as with several clients.
	Timed bool
	// Run measures one kind once. It creates its tables through the bench, which drops them. Values returned with an
	// error that is errors.ErrUnsupported are kept, and the error's text is a note about them.
	Run func(ctx context.Context, b *Bench) (map[string]float64, error)
}

// Options are the user's settings.
type Options struct {
	Rows    int
	Batch   []int // rows a statement
	Clients []int
	Rounds  int
	Seed    uint64
	Kinds   []key.Kind // nil: those of the scenario
}

// All returns the scenarios in the order of the report.
func All() []Scenario {
	return []Scenario{
		load, clients, children, commit, arrivals, read, graph, retention, gorms, grow,
		update, mixed, change, maintain, timeRanges, partitions, replica, serverkeys,
	}
}

// Find returns the scenarios with the given names, in the order of All.
func Find(names []string) ([]Scenario, error) {
	all := All()
	known := make([]string, len(all))
	for i, s := range all {
		known[i] = s.Name
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("unknown scenario %q; there are %s", name, strings.Join(known, ", "))
		}
	}
	return slices.DeleteFunc(all, func(s Scenario) bool { return !slices.Contains(names, s.Name) }), nil
}

// DefaultKinds are compared unless the scenario or the user names others.
var DefaultKinds = []string{"auto", "snowflake", "uuidv7", "uuidv4"}

// KindsOn returns the kinds to compare on an engine.
func (s Scenario) KindsOn(o Options, engineName string) []key.Kind {
	if o.Kinds != nil {
		return on(engineName, o.Kinds)
	}
	names := s.Kinds
	if names == nil {
		names = DefaultKinds
	}
	kinds, _ := key.Find(names) // the names are constants; a test looks them all up
	return on(engineName, kinds)
}

// SizesOn returns the kinds to measure once on an engine; none if the user has named kinds.
func (s Scenario) SizesOn(o Options, engineName string) []key.Kind {
	if o.Kinds != nil {
		return nil
	}
	kinds, _ := key.Find(s.Sizes)
	return on(engineName, kinds)
}

func on(engineName string, kinds []key.Kind) []key.Kind {
	return slices.DeleteFunc(slices.Clone(kinds), func(k key.Kind) bool { return !k.OnEngine(engineName) })
}

// RunsOnce reports whether a case has one round.
func (s Scenario) RunsOnce(p measure.Params) bool { return s.Once || s.OnceFor != nil && s.OnceFor(p) }

// timedRows is the most rows of tables that are filled again for each run of a timed case. Larger ones are measured
// once, for their sizes.
const timedRows = 50_000

// withLarge returns the numbers of rows of a scenario with such tables.
func withLarge(rows int) []int {
	if rows <= timedRows {
		return []int{rows}
	}
	return []int{timedRows, rows}
}

// large reports whether a case is one of the large ones of withLarge.
func large(p measure.Params) bool { return number(p, "rows") > timedRows }

// share returns a part of the rows, for cases that are slow: at least the given number, or all.
func share(rows, of, least int) int { return min(rows, max(rows/of, least)) }
