package measure

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"golang.org/x/perf/benchmath"
)

// Figure is the result of all rounds for one metric of one kind of key.
type Figure struct {
	// Metric is Exact only if the rounds agree. Its Digits apply to Median.
	Metric Metric

	N      int
	Median float64 // as printed
	// Ratio is the printed median divided by the baseline's. NaN: there is no baseline, or one of them is 0.
	Ratio   float64
	Verdict Verdict
}

// Group is the figures of one scenario with one set of parameters on one engine: one table of a report.
type Group struct {
	Engine, Scenario string
	Params           Params
	Kinds            []string // in the order of the records
	Metrics          []Metric // of at least one kind, in the order of Metrics
	id               string
	figures          map[figureKey]Figure
}

type figureKey struct{ kind, metric string }

// Figure returns the figure of a kind, false if it was not measured.
func (g Group) Figure(kind, metric string) (Figure, bool) {
	f, ok := g.figures[figureKey{kind, metric}]
	return f, ok
}

// Summarize computes the figures of records. In the timed scenarios metrics that are exact elsewhere depend on timing.
func Summarize(records []Record, baseline string, timed ...string) []Group {
	var groups []Group
	byGroup := map[string][]Record{}
	for _, r := range records {
		if len(r.Values) == 0 { // it has a note
			continue
		}
		id := r.Engine + "/" + r.Scenario + "/" + r.Params.String()
		if byGroup[id] == nil {
			groups = append(groups, Group{Engine: r.Engine, Scenario: r.Scenario, Params: r.Params, id: id})
		}
		byGroup[id] = append(byGroup[id], r)
	}

	for i := range groups {
		groups[i].summarize(byGroup[groups[i].id], baseline, timed)
	}

	return groups
}

func (g *Group) summarize(records []Record, baseline string, timed []string) {
	g.figures = map[figureKey]Figure{}
	runs, names := map[figureKey][]float64{}, map[string]bool{}
	for _, r := range records {
		if !slices.Contains(g.Kinds, r.Kind) {
			g.Kinds = append(g.Kinds, r.Kind)
		}

		for name, value := range r.Values {
			i := place(name)
			if i < 0 { // of another version
				continue
			}

			id := figureKey{r.Kind, name}
			runs[id] = append(runs[id], value)
			if !names[name] {
				names[name] = true
				m := metrics[i]
				m.Name = name
				g.Metrics = append(g.Metrics, m)
			}
		}
	}
	slices.SortFunc(g.Metrics, inOrder)

	for _, m := range g.Metrics {
		base := figureOf(m, runs[figureKey{baseline, m.Name}])
		for _, kind := range g.Kinds {
			f := figureOf(m, runs[figureKey{kind, m.Name}])
			if f.N == 0 {
				continue
			}

			if baseVaries := base.N > 0 && !base.Metric.Exact; baseVaries || slices.Contains(timed, g.Scenario) {
				f.Metric.Exact = false
			}
			if base.Median*f.Median != 0 { // a ratio to nothing, or of nothing, says little
				f.Ratio = f.Median / base.Median // NaN without a baseline
			}
			if kind != baseline {
				f.judge(pairs(records, baseline, kind, m.Name))
			}

			g.figures[figureKey{kind, m.Name}] = f
		}
	}
}

// inOrder compares metrics by the order of Metrics, then by the number after @.
func inOrder(a, b Metric) int {
	return cmp.Or(place(a.Name)-place(b.Name), len(a.Name)-len(b.Name), cmp.Compare(a.Name, b.Name))
}

// agree is how far exact figures may differ: random keys of another round fill pages a little differently.
const agree = 0.01

// figureOf returns the values of a figure without its comparison; NaN without runs.
func figureOf(m Metric, runs []float64) Figure {
	f := Figure{Metric: m, N: len(runs), Median: math.NaN(), Ratio: math.NaN()}
	if len(runs) == 0 {
		return f
	}

	least, most := slices.Min(runs), slices.Max(runs)
	f.Metric.Exact = m.Exact && most-least <= agree*math.Abs(most)
	f.Median = benchmath.AssumeNothing.Summary(sample(runs), 0.95).Center
	// Up to two more digits than usual if the median has fewer than three significant ones: ratios would be too coarse.
	// Numbers of things need none.
	if f.Median != 0 && slices.ContainsFunc(runs, func(v float64) bool { return v != math.Trunc(v) }) {
		f.Metric.Digits = min(max(m.Digits, 2-int(math.Floor(math.Log10(math.Abs(f.Median))))), m.Digits+2)
	}

	f.Median, _ = strconv.ParseFloat(strconv.FormatFloat(f.Median, 'f', f.Metric.Digits, 64), 64)
	return f
}

func sample(values []float64) *benchmath.Sample {
	return benchmath.NewSample(slices.Clone(values), &benchmath.DefaultThresholds)
}

// Verdict is the result of comparing a kind with the baseline.
type Verdict int

// The verdicts.
const (
	Unknown Verdict = iota // nothing to compare with
	Few                    // fewer than 6 pairs of runs
	Same                   // no difference shown
	Better
	Worse
)

// A difference is shown by at least enough pairs of runs, a ratio that is at least least from 1, and a Mann-Whitney
// test that finds it by chance in less than chance of all cases. Load that lasts for one round must not decide: all
// pairs but one in six must show the direction of the ratio.
const (
	enough = 6
	least  = 0.02
	chance = 0.01
)

// pairs returns the runs of a kind, and for each the run of the baseline that was paired with it.
func pairs(records []Record, baseline, kind, metric string) (runs, base []float64) {
	rounds := map[int]float64{}
	for _, r := range records {
		isPair := r.Kind == baseline && r.Beside == kind
		if value, ok := r.Values[metric]; ok && isPair {
			rounds[r.Round] = value
		}
	}

	for _, r := range records {
		value, ok := r.Values[metric]
		pair, paired := rounds[r.Round]
		if r.Kind == kind && ok && paired {
			runs, base = append(runs, value), append(base, pair)
		}
	}

	return runs, base
}

// judge sets Verdict, from the runs of two sides in pairs. Exact sizes and few runs are not tested.
func (f *Figure) judge(runs, base []float64) {
	few, opposed := len(runs) < enough, 0
	for i, v := range runs {
		if v == base[i] || v > base[i] != (f.Ratio > 1) {
			opposed++
		}
	}

	byChance := opposed > len(runs)/6
	if !few && !byChance {
		byChance = benchmath.AssumeNothing.Compare(sample(runs), sample(base)).P >= chance
	}

	switch {
	case math.IsNaN(f.Ratio):
		f.Verdict = Unknown
	case !f.Metric.Exact && few:
		f.Verdict = Few
	case !f.Metric.Exact && byChance, math.Abs(f.Ratio-1) < least:
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
