package measure

import "math"

// Change is a figure of two reports.
type Change struct {
	Old, New Figure
	Ratio    float64 // of the new median to the old one
	P        float64 // of the Mann-Whitney test, as by benchstat; NaN if not tested
	Verdict  Verdict // Better and Worse: the new one differs beyond noise
}

// Compare returns the figures that two reports have both, in the order of the new one, and the number of those that only
// one of them has.
func Compare(old, current []Group) (changes []Change, onlyOld, onlyNew int) {
	before := map[string]Group{}
	for _, g := range old {
		before[g.id()] = g
		onlyOld += len(g.figures)
	}
	for _, g := range current {
		for _, m := range g.Metrics {
			for _, kind := range g.Kinds {
				f, ok := g.Figure(kind, m.Name)
				if !ok {
					continue
				}
				if o, ok := before[g.id()].Figure(kind, m.Name); ok {
					changes = append(changes, change(o, f))
					onlyOld--
				} else {
					onlyNew++
				}
			}
		}
	}
	return changes, onlyOld, onlyNew
}

func (g Group) id() string { return g.Engine + "/" + g.Scenario + "/" + g.Params.String() }

func change(old, current Figure) Change {
	c := Change{Old: old, New: current, Ratio: current.Median / old.Median, P: math.NaN()}
	exact := old.Metric.Exact && current.Metric.Exact
	runs := min(old.N, current.N)
	if runs >= enough && !exact {
		c.P = test(current.runs, old.runs)
	}
	c.Verdict = current.Metric.verdict(exact, runs, c.Ratio, c.P)
	return c
}
