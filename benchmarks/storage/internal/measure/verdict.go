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

// pair is a run of a kind and the run of the baseline beside it.
type pair struct{ kind, base float64 }

func pairsOf(records []Record, baseline, kind, metric string) []pair {
	base := map[int]float64{}
	for _, r := range records {
		if value, ok := r.Values[metric]; ok && r.Kind == baseline && r.Beside == kind {
			base[r.Round] = value
		}
	}
	var pairs []pair
	for _, r := range records {
		value, ok := r.Values[metric]
		if b, also := base[r.Round]; ok && also && r.Kind == kind {
			pairs = append(pairs, pair{value, b})
		}
	}
	return pairs
}

// judge sets P and Verdict.
func (f *Figure) judge(pairs []pair) {
	var kind, base []float64
	agreeing := 0
	for _, p := range pairs {
		kind, base = append(kind, p.kind), append(base, p.base)
		if p.kind > p.base == (f.Ratio > 1) && p.kind != p.base {
			agreeing++
		}
	}
	if len(pairs) >= enough && !f.Metric.Exact {
		f.P = benchmath.AssumeNothing.Compare(sample(kind), sample(base)).P
	}
	switch {
	case math.IsNaN(f.Ratio):
		f.Verdict = Unknown
	case !f.Metric.Exact && len(pairs) < enough:
		f.Verdict = Few
	case math.Abs(f.Ratio-1) < least,
		!f.Metric.Exact && (f.P >= chance || agreeing < len(pairs)-len(pairs)/6):
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
			f, ok := g.Figure(Again, m.Name)
			if !ok || f.Metric.Exact || f.Verdict < Same {
				continue
			}
			tested++
			if f.Verdict != Same {
				called++
			}
		}
	}
	return called, tested
}
