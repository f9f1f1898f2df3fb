// Package run works through scenarios, kinds of keys and rounds, and stores the results.
package run

import (
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/key"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/scenario"
)

// Step is one run of one kind of key.
type Step struct {
	Engine   engine.Engine
	Scenario scenario.Scenario
	Params   measure.Params
	Kind     key.Kind
	Round    int
}

// Record returns the record of the step, without values.
func (s Step) Record() measure.Record {
	return measure.Record{
		Engine: s.Engine.Name(), Scenario: s.Scenario.Name, Params: s.Params, Kind: s.Kind.Name,
		Round: s.Round,
	}
}

// Plan returns the steps on one engine. The kinds take turns in each round, and each round begins with another kind.
// Other load of the machine, and caches of the previous run, then affect all kinds alike.
func Plan(e engine.Engine, scenarios []scenario.Scenario, o scenario.Options) []Step {
	var steps []Step
	for _, s := range scenarios {
		kinds := s.KindsOn(o, e.Name())
		rounds := o.Rounds
		if s.Once {
			rounds = min(rounds, 1)
		}
		for _, params := range s.Cases(o, e) {
			for round := range rounds {
				for i := range kinds {
					kind := kinds[(i+round)%len(kinds)]
					steps = append(steps, Step{Engine: e, Scenario: s, Params: params, Kind: kind, Round: round + 1})
				}
			}
		}
	}
	return steps
}
