package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/scenario"
)

// order returns the runs of a scenario as "kind" and "baseline|kind beside", for each round.
func order(t *testing.T, s scenario.Scenario, o scenario.Options) []string {
	t.Helper()
	s.Cases = func(scenario.Options, engine.Engine) []measure.Params { return []measure.Params{measure.P("rows", 1)} }
	var rounds []string
	for _, step := range Steps(named{}, []scenario.Scenario{s}, o, kinds(t, "auto")[0]) {
		r := step.Record()
		text := r.Kind
		if r.Beside != "" {
			text += "|" + r.Beside
		}
		for len(rounds) < r.Round {
			rounds = append(rounds, fmt.Sprint(len(rounds)+1, ":"))
		}
		rounds[r.Round-1] += " " + text
	}
	return rounds
}

func TestBaselineIsBesideEachKindByTurns(t *testing.T) {
	s := scenario.Scenario{Name: "turns", Kinds: []string{"auto", "snowflake", "uuidv4"}, Sizes: []string{"explicit"}}
	got := order(t, s, scenario.Options{Rounds: 3})
	want := []string{
		"1: auto|again again auto|snowflake snowflake auto|uuidv4 uuidv4 explicit",
		"2: snowflake auto|snowflake uuidv4 auto|uuidv4 again auto|again",
		"3: auto|uuidv4 uuidv4 auto|again again auto|snowflake snowflake",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestExactCasesAndNamedKinds(t *testing.T) {
	s := scenario.Scenario{Name: "once", Once: true, Kinds: []string{"snowflake", "uuidv4"}, Sizes: []string{"explicit"}}
	if got := order(t, s, scenario.Options{Rounds: 6}); !slices.Equal(got, []string{"1: auto snowflake uuidv4 explicit"}) {
		t.Errorf("once: %q", got)
	}
	s.Once = false
	named := scenario.Options{Rounds: 1, Kinds: kinds(t, "uuidv7")}
	if got := order(t, s, named); !slices.Equal(got, []string{"1: auto|again again auto|uuidv7 uuidv7"}) {
		t.Errorf("with -keys: %q", got)
	}
}
