package run

import (
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/scenario"
)

// onlyName is an engine that has only a name.
type onlyName struct{ engine.Engine }

func (onlyName) Name() string { return "sqlite" }

func TestExactScenariosAreMeasuredOnce(t *testing.T) {
	s := scenario.Scenario{
		Name: "exact", Kinds: []string{"auto", "snowflake"},
		Cases: func(scenario.Options, engine.Engine) []measure.Params {
			return []measure.Params{measure.P("rows", 1)}
		},
	}
	o := scenario.Options{Rounds: 3}
	for once, want := range map[bool]int{false: 6, true: 2} {
		s.Once = once
		if steps := Plan(onlyName{}, []scenario.Scenario{s}, o); len(steps) != want {
			t.Errorf("once %v: %d steps, want %d", once, len(steps), want)
		}
	}
}

func TestKindsTakeTurnsAtTheBegin(t *testing.T) {
	s := scenario.Scenario{
		Name: "turns", Kinds: []string{"auto", "snowflake", "uuidv4"},
		Cases: func(scenario.Options, engine.Engine) []measure.Params {
			return []measure.Params{measure.P("rows", 1)}
		},
	}
	var begins []string
	for _, step := range Plan(onlyName{}, []scenario.Scenario{s}, scenario.Options{Rounds: 3}) {
		if len(begins) < step.Round {
			begins = append(begins, step.Kind.Name)
		}
	}
	if got := strings.Join(begins, " "); got != "auto snowflake uuidv4" {
		t.Errorf("rounds begin with %s", got)
	}
}
