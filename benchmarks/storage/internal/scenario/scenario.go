// Package scenario has the questions that the tool answers. Each fills tables in some way and measures the result.
package scenario

import (
	"context"
	"slices"

	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/key"
)

// Scenario is a question and the way to answer it.
type Scenario struct {
	Name     string // for -scenario
	Title    string
	Question string // the question that the figures answer, one sentence

	// Kinds are the kinds of keys to compare if the user names none. Each is measured in every round, paired with
	// the baseline.
	Kinds []string
	// Sizes are further kinds, measured once for their sizes. Their speeds have too few rounds for a verdict.
	Sizes []string
	// Cases returns the parameters for which each kind is measured.
	Cases func(o Options, e engine.Engine) []measure.Params
	// Once reports whether a case has one round: its figures are exact, or it takes too long to repeat. nil: never.
	Once func(p measure.Params) bool
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
	Kinds   []key.Kind // nil: as the scenario says
}

// All returns the scenarios in the order of the report.
func All() []Scenario {
	return []Scenario{load, clients, paced, children, graph, grow}
}

// Names returns the names of all scenarios.
func Names() []string {
	var names []string
	for _, s := range All() {
		names = append(names, s.Name)
	}
	return names
}

// Find returns the scenarios with the given names, in the order of All. Unknown names are ignored.
func Find(names []string) []Scenario {
	return slices.DeleteFunc(All(), func(s Scenario) bool { return !slices.Contains(names, s.Name) })
}

// four are the kinds that most scenarios compare.
var four = []string{"auto", "snowflake", "uuidv7", "uuidv4"}

// KindsOn returns the kinds to compare on an engine, and those to measure once; none of these if the user names kinds.
func (s Scenario) KindsOn(o Options, engineName string) (kinds, sizes []key.Kind) {
	if kinds = slices.Clone(o.Kinds); kinds == nil {
		kinds, sizes = key.Find(s.Kinds), key.Find(s.Sizes)
	}
	other := func(k key.Kind) bool { return !k.OnEngine(engineName) }
	return slices.DeleteFunc(kinds, other), slices.DeleteFunc(sizes, other)
}

// share returns a part of the rows, for cases that are slow: at least the given number, or all.
func share(rows, of, least int) int { return min(rows, max(rows/of, least)) }
