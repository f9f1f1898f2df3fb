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

// test returns the p value of the Mann-Whitney test, which benchstat uses too.
func test(a, b []float64) float64 { return benchmath.AssumeNothing.Compare(sample(a), sample(b)).P }

// judge sets P and Verdict.
func (f *Figure) judge(pairs []pair) {
	var kind, base []float64
	agreeing := 0
	for _, p := range pairs {
		kind, base = append(kind, p.kind), append(base, p.base)
		if p.kind != p.base && p.kind > p.base == (f.Ratio > 1) {
			agreeing++
		}
	}
	if len(pairs) >= enough && !f.Metric.Exact {
		f.P = test(kind, base)
	}
	f.Verdict = f.Metric.verdict(f.Metric.Exact, len(pairs), f.Ratio, f.P)
	if f.Verdict > Same && !f.Metric.Exact && agreeing < len(pairs)-len(pairs)/6 {
		f.Verdict = Same
	}
}

// verdict judges a ratio, with the number of runs and the p value if the metric is not exact.
func (m Metric) verdict(exact bool, runs int, ratio, p float64) Verdict {
	switch {
	case math.IsNaN(ratio):
		return Unknown
	case !exact && runs < enough:
		return Few
	case math.Abs(ratio-1) < least, !exact && p >= chance:
		return Same
	case m.More == (ratio > 1):
		return Better
	}
	return Worse
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
