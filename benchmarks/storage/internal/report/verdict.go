package report

import (
	"fmt"
	"strings"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
)

// Verdict is a line of the summary: the result of the focus in one case of a scenario.
type Verdict struct {
	Engine, Scenario, Case string
	Speed, Size            Outcome
}

// Outcome is a figure of the summary: its metric as title and short form, the ratio, and the verdict.
type Outcome struct{ Metric, Short, Ratio, Word string }

var outcomeWords = map[verdict]string{worse: "loses", better: "wins", tie: "tie", noisy: "noisy", few: "few rounds"}

// Verdicts summarizes the focus against the baseline: for each case the first speed and the first size of its table.
// Cases of disorder have charts instead.
func (r Report) Verdicts() []Verdict {
	var all []Verdict
	for _, groups := range r.parts() {
		if disordered(groups) || r.Baseline == focus {
			continue
		}
		for _, g := range groups {
			v := Verdict{Engine: engineTitle(g.Engine), Scenario: scenarioOf(g.Scenario).Title, Case: paramText(g.Params)}
			for _, m := range columnsOf(g, r.Baseline) {
				if m.Name == "round_trips" { // not a speed, and the same for each delay; it has a chart
					continue
				}
				f, ok := g.Figure(focus, m.Name)
				place := &v.Speed
				if strings.HasPrefix(m.Name, "bytes_") {
					place = &v.Size
				}
				_, _, point := cutPoint(m.Name) // the last point of a curve replaces the others
				if ok && (place.Word == "" || point) && hasRatio(m) && verdictOf(f) != unknown {
					*place = outcome(f)
				}
			}
			if v.Speed.Word != "" || v.Size.Word != "" {
				all = append(all, v)
			}
		}
	}
	return all
}

func outcome(f measure.Figure) Outcome {
	o := Outcome{
		Metric: f.Metric.Title, Short: shortOf(f.Metric), Ratio: factor(f.Ratio) + "x", Word: outcomeWords[verdictOf(f)],
	}
	if !f.Metric.Exact && f.Pairs > 1 {
		o.Ratio += fmt.Sprintf(" (%s to %s)", factor(f.RatioMin), factor(f.RatioMax))
	}
	return o
}

// shortOf returns a metric's heading without its unit.
func shortOf(m measure.Metric) string {
	text := strings.ReplaceAll(heading(m), "\n", " ")
	for _, unit := range []string{" B/row", " µs/row", " µs", " ms"} {
		text = strings.TrimSuffix(text, unit)
	}
	return text
}

// tally returns a sentence for each engine: how often the focus loses, ties and wins.
func tally(verdicts []Verdict, baseline string) []string {
	var engines []string
	counts := map[string]map[string]int{}
	for _, v := range verdicts {
		if counts[v.Engine] == nil {
			engines = append(engines, v.Engine)
			counts[v.Engine] = map[string]int{}
		}
		for _, o := range []Outcome{v.Speed, v.Size} {
			if o.Word != "" {
				counts[v.Engine][o.Word]++
			}
		}
	}
	var sentences []string
	for _, engine := range engines {
		sum := 0
		for _, n := range counts[engine] {
			sum += n
		}
		c := counts[engine]
		sentence := fmt.Sprintf("On %s %s loses to %s in %d of %d figures, ties in %d and wins in %d",
			engine, kindText(focus), kindText(baseline), c["loses"], sum, c["tie"], c["wins"])
		if noisy := c["noisy"]; noisy > 0 {
			sentence += fmt.Sprintf("; too noisy: %d", noisy)
		}
		if few := c["few rounds"]; few > 0 {
			sentence += fmt.Sprintf("; fewer than three rounds: %d", few)
		}
		sentences = append(sentences, sentence+".")
	}
	return sentences
}
