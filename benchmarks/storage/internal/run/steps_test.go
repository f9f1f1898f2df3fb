package run

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/key"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/scenario"
)

// order returns the runs of a scenario as "kind" and "baseline|kind beside", for each round.
func order(s scenario.Scenario, o scenario.Options) []string {
	s.Cases = func(scenario.Options, engine.Engine) []measure.Params { return []measure.Params{measure.P("rows", 1)} }
	var rounds []string
	for _, step := range Steps(named{}, []scenario.Scenario{s}, o) {
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
	s := scenario.Scenario{
		Name: "turns", Kinds: []string{"auto", "snowflake", "uuidv4"},
		Sizes: []string{"uuidv4-text"},
	}
	got := order(s, scenario.Options{Rounds: 3})
	want := []string{
		"1: auto|again again auto|snowflake snowflake auto|uuidv4 uuidv4 uuidv4-text",
		"2: snowflake auto|snowflake uuidv4 auto|uuidv4 again auto|again",
		"3: auto|uuidv4 uuidv4 auto|again again auto|snowflake snowflake",
	}

	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestExactCasesAndNamedKinds(t *testing.T) {
	s := scenario.Scenario{
		Name: "once", Once: func(measure.Params) bool { return true },
		Kinds: []string{"snowflake", "uuidv4"}, Sizes: []string{"uuidv4-text"},
	}
	got := order(s, scenario.Options{Rounds: 6})
	if want := []string{"1: auto snowflake uuidv4 uuidv4-text"}; !slices.Equal(got, want) {
		t.Errorf("once: %q", got)
	}

	s.Once = nil
	named := scenario.Options{Rounds: 1, Kinds: key.Find([]string{"uuidv7"})}
	if got := order(s, named); !slices.Equal(got, []string{"1: auto|again again auto|uuidv7 uuidv7"}) {
		t.Errorf("with -keys: %q", got)
	}
}

// named is an engine of which only the name is used.
type named struct{ engine.Engine }

func (named) Name() string { return "sqlite" }
