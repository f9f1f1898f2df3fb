package measure

import (
	"math"

	"golang.org/x/perf/benchmath"
)

// Verdict is the result of comparing a kind with the baseline.
type Verdict int

// The verdicts.
const (
	Unknown Verdict = iota // nothing to compare with, or the metric is Plain
	Few                    // fewer than 6 pairs of runs
	Same                   // no difference shown
	Better
	Worse
)

func (v Verdict) String() string {
	return [...]string{"", "few rounds", "same", "better", "worse"}[v]
}

// A difference is shown by at least enough pairs of runs, a ratio that is at least least from 1, and a Mann-Whitney test
// that finds it by chance in less than chance of all cases. Load that lasts for one round must not decide: all pairs but
// one in six must show the direction of the ratio.
const (
	enough = 6
	least  = 0.02
	chance = 0.01
)

// beside returns the runs of a kind and those of the baseline beside them.
func beside(records []Record, baseline, kind, metric string) (runs, base []float64) {
	rounds := map[int]float64{}
	for _, r := range records {
		if value, ok := r.Values[metric]; ok && r.Kind == baseline && r.Beside == kind {
			rounds[r.Round] = value
		}
	}
	for _, r := range records {
		value, ok := r.Values[metric]
		if b, also := rounds[r.Round]; ok && also && r.Kind == kind {
			runs, base = append(runs, value), append(base, b)
		}
	}
	return runs, base
}

// judge sets P and Verdict, from the runs of two sides in pairs. Exact sizes and few runs are not tested.
func (f *Figure) judge(runs, base []float64) {
	few, opposed := len(runs) < enough, 0
	for i, v := range runs {
		if v == base[i] || v > base[i] != (f.Ratio > 1) {
			opposed++
		}
	}
	if !few && !f.Metric.Exact {
		f.P = benchmath.AssumeNothing.Compare(sample(runs), sample(base)).P
	}
	switch {
	case math.IsNaN(f.Ratio):
	case !f.Metric.Exact && few:
		f.Verdict = Few
	case math.Abs(f.Ratio-1) < least, !f.Metric.Exact && (f.P >= chance || opposed > len(runs)/6):
		f.Verdict = Same
	case f.Metric.More == (f.Ratio > 1):
		f.Verdict = Better
	default:
		f.Verdict = Worse
	}
}

// ByChance returns how many figures of the A/A rows were called better or worse, of how many that were tested.
func ByChance(groups []Group) (called, tested int) {
	for _, g := range groups {
		for _, m := range g.Metrics {
			if f, _ := g.Figure(Again, m.Name); f.Metric.Exact || f.Verdict < Same {
				continue
			} else if f.Verdict > Same {
				called++
			}
			tested++
		}
	}
	return called, tested
}
