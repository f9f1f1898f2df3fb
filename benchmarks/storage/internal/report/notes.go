package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
)

// notes returns remarks on the figures of a table: the marks that it uses, and where they are.
func notes(g measure.Group, baseline string) []string {
	var notes []string
	var ties, thin bool
	noisyBy := map[string][]string{}
	var metrics []measure.Metric // noisy for some kind
	for _, m := range columnsOf(g, baseline) {
		for _, kind := range g.Kinds {
			f, ok := g.Figure(kind, m.Name)
			if !ok || !hasRatio(m) || kind == baseline {
				continue
			}
			switch verdictOf(f) {
			case tie:
				ties = true
			case few:
				thin = true
			case noisy:
				if noisyBy[m.Name] == nil {
					metrics = append(metrics, m)
				}
				noisyBy[m.Name] = append(noisyBy[m.Name], kind)
			}
		}
	}
	if _, ok := g.Figure(baseline, firstMetric(g)); ok {
		note := fmt.Sprintf("x: times %s of the same round.", baseline)
		if ties {
			note += " =: a tie, within 2 % or rounds on both sides of 1."
		}
		if thin {
			note += " ?: few rounds (fewer than three), so a difference may be chance."
		}
		notes = append(notes, note)
	} else {
		notes = append(notes, fmt.Sprintf("There are no ratios: %s, the baseline, was not measured.", baseline))
	}
	var parts []string
	for _, m := range metrics {
		kinds := list(noisyBy[m.Name])
		if len(noisyBy[m.Name]) == len(g.Kinds)-1 {
			kinds = "all"
		}
		parts = append(parts, strings.ReplaceAll(heading(m), "\n", " ")+" of "+kinds)
	}
	if len(parts) > 0 {
		notes = append(notes, "~: rounds that differ by more than half, too noisy to quote: "+strings.Join(parts, "; ")+".")
	}
	if slices.ContainsFunc(g.Metrics, func(m measure.Metric) bool { return !m.Exact }) && rounds(g) == 1 {
		notes = append(notes, "One round only: the spread of the speeds is not known.")
	}
	return notes
}

func firstMetric(g measure.Group) string {
	if len(g.Metrics) == 0 {
		return ""
	}
	for _, m := range g.Metrics {
		if m.Name == "rate" {
			return m.Name
		}
	}
	return g.Metrics[0].Name
}

// rounds returns the largest number of rounds of a kind.
func rounds(g measure.Group) int {
	most := 0
	for _, kind := range g.Kinds {
		for _, m := range g.Metrics {
			if f, ok := g.Figure(kind, m.Name); ok {
				most = max(most, f.N)
			}
		}
	}
	return most
}

func remark(r measure.Record) string {
	text := fmt.Sprintf("%s: %s, %s, %s: %s", engineTitle(r.Engine), r.Scenario, paramText(r.Params), r.Kind, r.Note)
	return strings.TrimSuffix(text, ".") + "."
}

// remarks returns the remarks on the whole report.
func (r Report) remarks() []string {
	var remarks []string
	for _, one := range r.Missing {
		remarks = append(remarks, "Not measured on "+remark(one))
	}
	for _, one := range r.Noted {
		remarks = append(remarks, "On "+remark(one))
	}
	names := make([]string, 0, len(r.Environment.Notes))
	for name := range r.Environment.Notes {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		remarks = append(remarks, r.Environment.Notes[name]...)
	}
	if r.Unfinished > 0 {
		remarks = append(remarks, "Unfinished: "+runsLeft(r.Unfinished))
	}
	return remarks
}

// runsLeft returns a sentence with the number of runs that are not done.
func runsLeft(runs int) string {
	if runs == 1 {
		return "1 run is not done."
	}
	return number(float64(runs), 0) + " runs are not done."
}
