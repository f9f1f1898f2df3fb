package measure

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/perf/benchmath"
)

// Figure is the result of all rounds for one metric of one kind of key.
type Figure struct {
	// Metric is Exact only if the rounds agree. Its Digits are those of the values below.
	Metric Metric

	N                 int
	Median, Low, High float64 // as printed; Low to High is the 95 % confidence interval, or all values of fewer than 6 runs
	Ratio             float64 // of the printed median to the baseline's; NaN without a baseline, if one is 0, and if Plain
	P                 float64 // of the Mann-Whitney test against the baseline's runs beside; NaN if not tested
	Verdict           Verdict
}

// Group is the figures of one scenario with one set of parameters on one engine: one table of a report.
type Group struct {
	Engine, Scenario string
	Params           Params
	Kinds            []string // the baseline first, then in the order of the records, Again last
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
			id := figureKey{r.Kind, name}
			runs[id] = append(runs[id], value)
			if !names[name] {
				names[name] = true
				g.Metrics = append(g.Metrics, Find(name))
			}
		}
	}
	place := map[string]int{baseline: -1, Again: 1}
	slices.SortStableFunc(g.Kinds, func(a, b string) int { return cmp.Compare(place[a], place[b]) })
	slices.SortFunc(g.Metrics, inOrder)
	for _, m := range g.Metrics {
		base := figureOf(m, runs[figureKey{baseline, m.Name}])
		for _, kind := range g.Kinds {
			f := figureOf(m, runs[figureKey{kind, m.Name}])
			if f.N == 0 {
				continue
			}
			f.Metric.Exact = f.Metric.Exact && (base.N == 0 || base.Metric.Exact) && !slices.Contains(timed, g.Scenario)
			if !m.Plain && base.Median*f.Median != 0 { // a ratio to nothing, or of nothing, says little
				f.Ratio = f.Median / base.Median // NaN without a baseline
			}
			if kind != baseline {
				f.judge(beside(records, baseline, kind, m.Name))
			}
			g.figures[figureKey{kind, m.Name}] = f
		}
	}
}

// inOrder compares metrics by the order of Metrics, then by the number after @, then by name.
func inOrder(a, b Metric) int {
	place := func(m Metric) uint { // -1 is the last
		name, _, _ := strings.Cut(m.Name, "@")
		return uint(slices.IndexFunc(metrics, func(k Metric) bool { return k.Name == name }))
	}
	return cmp.Or(cmp.Compare(place(a), place(b)), len(a.Name)-len(b.Name), cmp.Compare(a.Name, b.Name))
}

// agree is how far exact figures may differ: random keys of another round fill pages a little differently.
const agree = 0.01

// figureOf returns the values of a figure without its comparison; NaN without runs.
func figureOf(m Metric, runs []float64) Figure {
	f := Figure{Metric: m, N: len(runs), Median: math.NaN(), Ratio: math.NaN(), P: math.NaN()}
	if len(runs) == 0 {
		return f
	}
	least, most := slices.Min(runs), slices.Max(runs)
	f.Metric.Exact = m.Exact && most-least <= agree*math.Abs(most)
	center := benchmath.AssumeNothing.Summary(sample(runs), 0.95)
	f.Median, f.Low, f.High = center.Center, max(center.Lo, least), min(center.Hi, most) // infinite with too few runs
	// Up to two more digits than usual if the median has fewer than three significant ones: ratios would be too coarse.
	// Numbers of things need none.
	if f.Median != 0 && slices.ContainsFunc(runs, func(v float64) bool { return v != math.Trunc(v) }) {
		f.Metric.Digits = min(max(m.Digits, 2-int(math.Floor(math.Log10(math.Abs(f.Median))))), m.Digits+2)
	}
	for _, v := range []*float64{&f.Median, &f.Low, &f.High} {
		*v, _ = strconv.ParseFloat(strconv.FormatFloat(*v, 'f', f.Metric.Digits, 64), 64)
	}
	return f
}

func sample(values []float64) *benchmath.Sample {
	return benchmath.NewSample(slices.Clone(values), &benchmath.DefaultThresholds)
}
