package measure

import (
	"math"

	"golang.org/x/perf/benchmath"
)

// Change is a figure of two reports.
type Change struct {
	Old, New Figure
	Ratio    float64 // of the new median to the old one; NaN if one is 0
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
	c := Change{Old: old, New: current, Ratio: math.NaN(), P: math.NaN(), Verdict: Same}
	exact := old.Metric.Exact && current.Metric.Exact
	fewest := min(old.N, current.N)
	if fewest >= enough && !exact {
		c.P = benchmath.AssumeNothing.Compare(sample(current.runs), sample(old.runs)).P
	}
	if old.Median != 0 && current.Median != 0 {
		c.Ratio = current.Median / old.Median
	}
	switch {
	case old.Median == current.Median:
	case !exact && fewest < enough:
		c.Verdict = Few
	case math.Abs(c.Ratio-1) < least, !exact && c.P >= chance: // not if one median is 0
	case current.Metric.More == (current.Median > old.Median):
		c.Verdict = Better
	default:
		c.Verdict = Worse
	}
	return c
}
