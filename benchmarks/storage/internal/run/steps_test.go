package run

import (
	"fmt"
	"math"
	"math/rand/v2"
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

// machine has the noise of a computer: of each run by itself, and a slow drift.
type machine struct {
	random       *rand.Rand
	noise, drift float64
}

func (m *machine) rate(rate float64) float64 {
	m.drift += 0.003 * m.random.NormFloat64()
	return rate * math.Exp(m.drift+m.noise*m.random.NormFloat64())
}

// simulate returns the groups of many cases in which kinds have the given speeds, in the order of the plan.
func simulate(cases int, m machine, names []string, speed map[string]float64) []measure.Group {
	s := scenario.Scenario{
		Name: "load", Kinds: names,
		Cases: func(scenario.Options, engine.Engine) (all []measure.Params) {
			for i := range cases {
				all = append(all, measure.P("case", i))
			}
			return all
		},
	}
	m.random = rand.New(rand.NewPCG(1, 2))
	var records []measure.Record

	for _, step := range Steps(named{}, []scenario.Scenario{s}, scenario.Options{Rounds: 6}) {
		r := step.Record()
		rate := 10_000.0
		if factor, ok := speed[r.Kind]; ok {
			rate *= factor
		}
		r.Values = map[string]float64{"rate": m.rate(rate)}
		records = append(records, r)
	}

	return measure.Summarize(records, "auto")
}

func TestTenPercentIsFoundAndChanceIsNot(t *testing.T) {
	for _, m := range []machine{{noise: 0.03}, {noise: 0.05}, {noise: 0.1}} {
		found, better := 0, 0
		groups := simulate(600, m, []string{"auto", "uuidv4"}, map[string]float64{"uuidv4": 0.9})
		called, tested := measure.ByChance(groups)

		for _, g := range groups {
			switch f, _ := g.Figure("uuidv4", "rate"); f.Verdict {
			case measure.Worse:
				found++
			case measure.Better:
				better++
			}
		}

		if tested != 600 || called > tested/50 {
			t.Errorf("%+v: %d of %d comparisons of equals show a difference", m, called, tested)
		}
		if m.noise == 0.03 && (found < 570 || better > 0) {
			t.Errorf("%+v: 10 %% less is found in %d of 600 cases and called better in %d", m, found, better)
		}
	}
}
