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
	Engine, Scenario string
	Params           Params
	Kind             string
	// Metric is Exact only if the rounds agree. Its Digits are those of the values below.
	Metric Metric

	N                 int
	Median, Low, High float64 // as printed; Low to High is the 95 % confidence interval, or all values of fewer than 6 runs
	Ratio             float64 // of the printed median to the baseline's; NaN without a baseline, and if the metric is Plain
	P                 float64 // of the Mann-Whitney test against the baseline's runs beside; NaN if not tested
	Verdict           Verdict

	runs []float64
}

// Group is the figures of one scenario with one set of parameters on one engine: one table of a report.
type Group struct {
	Engine, Scenario string
	Params           Params
	Kinds            []string // the baseline first, then in the order of the records, Again last
	Metrics          []Metric // of at least one kind, in the order of Metrics
	figures          map[figureKey]Figure
}

type figureKey struct{ kind, metric string }

// Figure returns the figure of a kind, false if it was not measured.
func (g Group) Figure(kind, metric string) (Figure, bool) {
	f, ok := g.figures[figureKey{kind, metric}]
	return f, ok
}

// Summarize computes the figures of records. In the timed scenarios, and of the timed kinds, metrics that are exact
// elsewhere depend on timing.
func Summarize(records []Record, baseline string, timed ...string) []Group {
	var order []string
	byGroup := map[string][]Record{}
	for _, r := range records {
		id := Group{Engine: r.Engine, Scenario: r.Scenario, Params: r.Params}.id()
		if _, ok := byGroup[id]; !ok {
			order = append(order, id)
		}
		byGroup[id] = append(byGroup[id], r)
	}
	groups := make([]Group, 0, len(order))
	for _, id := range order {
		groups = append(groups, summarize(byGroup[id], baseline, timed))
	}
	return groups
}

func summarize(records []Record, baseline string, timed []string) Group {
	first := records[0]
	g := Group{Engine: first.Engine, Scenario: first.Scenario, Params: first.Params, figures: map[figureKey]Figure{}}
	runs := map[figureKey][]float64{}
	var names []string
	for _, r := range records {
		if !slices.Contains(g.Kinds, r.Kind) {
			g.Kinds = append(g.Kinds, r.Kind)
		}
		for name, value := range r.Values {
			id := figureKey{r.Kind, name}
			runs[id] = append(runs[id], value)
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	place := map[string]int{baseline: -1, Again: 1}
	slices.SortStableFunc(g.Kinds, func(a, b string) int { return cmp.Compare(place[a], place[b]) })
	g.Metrics = inOrder(names)
	for _, m := range g.Metrics {
		base := figureOf(m, runs[figureKey{baseline, m.Name}])
		for _, kind := range g.Kinds {
			list, ok := runs[figureKey{kind, m.Name}]
			if !ok {
				continue
			}
			f := figureOf(m, list)
			f.Engine, f.Scenario, f.Params, f.Kind = g.Engine, g.Scenario, g.Params, kind
			f.Metric.Exact = f.Metric.Exact && (base.N == 0 || base.Metric.Exact) &&
				!slices.Contains(timed, g.Scenario) && !slices.Contains(timed, kind)
			if !m.Plain && base.Median != 0 {
				f.Ratio = f.Median / base.Median // NaN without a baseline
			}
			if kind != baseline {
				f.judge(pairsOf(records, baseline, kind, m.Name))
			}
			g.figures[figureKey{kind, m.Name}] = f
		}
	}
	return g
}

// inOrder returns the metrics with the given names in the order of Metrics, then the others by name.
func inOrder(names []string) []Metric {
	found := make([]Metric, 0, len(names))
	for _, name := range names {
		found = append(found, Find(name))
	}
	place := func(m Metric) int {
		if i := slices.IndexFunc(metrics, func(k Metric) bool { return k.Name == m.Name }); i >= 0 {
			return i
		}
		return len(metrics)
	}
	slices.SortFunc(found, func(a, b Metric) int { return cmp.Or(place(a)-place(b), cmp.Compare(a.Name, b.Name)) })
	return found
}

// agree is how far exact figures may differ: random keys of another round fill pages a little differently.
const agree = 0.01

// figureOf returns the values of a figure without its comparison; NaN without runs.
func figureOf(m Metric, runs []float64) Figure {
	f := Figure{Metric: m, runs: runs, N: len(runs), Median: math.NaN(), Ratio: math.NaN(), P: math.NaN()}
	if len(runs) == 0 {
		return f
	}
	s := sample(runs)
	least, most := s.Values[0], s.Values[len(s.Values)-1]
	f.Metric.Exact = m.Exact && most-least <= agree*math.Abs(most)
	center := benchmath.AssumeNothing.Summary(s, 0.95)
	f.Median, f.Low, f.High = center.Center, center.Lo, center.Hi
	if math.IsInf(f.Low, 0) || math.IsInf(f.High, 0) { // too few runs
		f.Low, f.High = least, most
	}
	f.Metric.Digits = digits(m.Digits, f.Median)
	for _, v := range []*float64{&f.Median, &f.Low, &f.High} {
		*v, _ = strconv.ParseFloat(strconv.FormatFloat(*v, 'f', f.Metric.Digits, 64), 64)
	}
	return f
}

func sample(values []float64) *benchmath.Sample {
	return benchmath.NewSample(slices.Clone(values), &benchmath.DefaultThresholds)
}

// digits returns how many digits to print after the decimal point: up to two more than usual if the value has fewer than
// three significant ones. Otherwise ratios of printed values would be too coarse.
func digits(usual int, value float64) int {
	if value == 0 {
		return usual
	}
	return min(max(usual, 2-int(math.Floor(math.Log10(math.Abs(value))))), usual+2)
}
