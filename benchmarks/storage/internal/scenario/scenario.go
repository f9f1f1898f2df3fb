// Package scenario has the questions that the tool answers. Each fills tables in some way and measures the result.
package scenario

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/key"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
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
	// Once is set if all figures are exact, so that further rounds would repeat them.
	Once bool
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
	return []Scenario{load, clients, children, commit, arrivals, read, graph, retention, gorms, grow, update, mixed, change, maintain, ranges,
		replica, serverkeys}
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
var DefaultKinds = []string{"auto", "explicit", "snowflake", "uuidv7", "uuidv4", "uuidv4-text"}

// KindsOn returns the kinds to compare on an engine.
func (s Scenario) KindsOn(o Options, engineName string) []key.Kind {
	kinds := o.Kinds
	if kinds == nil {
		names := s.Kinds
		if names == nil {
			names = DefaultKinds
		}
		kinds, _ = key.Find(names) // the names are constants; a test looks them all up
	}
	return slices.DeleteFunc(slices.Clone(kinds), func(k key.Kind) bool { return !k.OnEngine(engineName) })
}
