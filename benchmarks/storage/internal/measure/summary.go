package measure

import (
	"cmp"
	"math"
	"slices"
)

// Figure is the result of all rounds for one metric of one kind of key.
type Figure struct {
	Engine, Scenario string
	Params           Params
	Kind             string
	// Metric is Exact only if the rounds agree.
	Metric Metric

	N                int
	Median, Min, Max float64
	// Ratio is the median of the ratios to the baseline in the same round; NaN without a baseline.
	Ratio              float64
	RatioMin, RatioMax float64
	Pairs              int // rounds that the baseline has too
}

// enough is the number of rounds needed to distinguish a difference from chance.
const enough = 3

// Thin reports whether there are too few rounds to distinguish a difference from chance.
func Thin(rounds int) bool { return rounds < enough }

// Few reports whether there are too few rounds to call the ratio a tie, a win or a loss.
func (f Figure) Few() bool { return !f.Metric.Exact && !math.IsNaN(f.Ratio) && Thin(f.Pairs) }

// agree is how far exact figures may differ: random keys of another round fill pages a little differently.
const agree = 0.01

func agrees(least, most float64) bool { return most-least <= agree*math.Abs(most) }

// Same is how far the ratio of a tie may be from 1.
const Same = 0.02

// Tie reports whether the ratio shows no difference: its rounds are on both sides of 1, or it is within 2 %.
func (f Figure) Tie() bool {
	if math.IsNaN(f.Ratio) {
		return false
	}
	return math.Abs(f.Ratio-1) < Same || !f.Metric.Exact && f.Pairs > 1 && f.RatioMin <= 1 && f.RatioMax >= 1
}

// noisy is the largest factor between the rounds of a figure.
const noisy = 1.5

// Noisy reports whether the rounds differ too much to quote the ratio. Zero and nonzero rounds differ by any factor.
func (f Figure) Noisy() bool {
	return !f.Metric.Exact && f.Pairs > 1 && f.RatioMax > f.RatioMin && (f.RatioMin <= 0 || f.RatioMax/f.RatioMin > noisy)
}

// Group is the figures of one scenario with one set of parameters on one engine: one table of a report.
type Group struct {
	Engine, Scenario string
	Params           Params
	Kinds            []string // in the order of the records
	Metrics          []Metric // of at least one kind, in the order of Metrics
	figures          map[figureKey]Figure
}

type figureKey struct{ kind, metric string }

// Figure returns the figure of a kind, false if it was not measured.
func (g Group) Figure(kind, metric string) (Figure, bool) {
	f, ok := g.figures[figureKey{kind, metric}]
	return f, ok
}

// Summarize computes the figures of records. The others are divided by the baseline; where it was not measured there
// are no ratios. In the timed scenarios metrics that are exact elsewhere depend on timing.
func Summarize(records []Record, baseline string, timed ...string) []Group {
	var order []string
	byGroup := map[string][]Record{}
	for _, r := range records {
		id := r.Engine + "/" + r.Scenario + "/" + r.Params.String()
		if _, ok := byGroup[id]; !ok {
			order = append(order, id)
		}
		byGroup[id] = append(byGroup[id], r)
	}
	groups := make([]Group, 0, len(order))
	for _, id := range order {
		groups = append(groups, summarize(byGroup[id], baseline, slices.Contains(timed, byGroup[id][0].Scenario)))
	}
	return groups
}

func summarize(records []Record, baseline string, timed bool) Group {
	first := records[0]
	g := Group{Engine: first.Engine, Scenario: first.Scenario, Params: first.Params, figures: map[figureKey]Figure{}}
	base := map[int]map[string]float64{}
	for _, r := range records {
		if r.Kind == baseline {
			base[r.Round] = r.Values
		}
		if !slices.Contains(g.Kinds, r.Kind) {
			g.Kinds = append(g.Kinds, r.Kind)
		}
	}
	seen := map[string]bool{}
	for _, kind := range g.Kinds {
		values, ratios := map[string][]float64{}, map[string][]float64{}
		for _, r := range records {
			if r.Kind != kind {
				continue
			}
			for name, value := range r.Values {
				values[name] = append(values[name], value)
				if b, ok := base[r.Round][name]; ok && b != 0 {
					ratios[name] = append(ratios[name], value/b)
				}
			}
		}
		for name, list := range values {
			seen[name] = true
			f := Figure{Engine: g.Engine, Scenario: g.Scenario, Params: g.Params, Kind: kind, Metric: Find(name), N: len(list)}
			f.Median, f.Min, f.Max = spread(list)
			f.Ratio, f.RatioMin, f.RatioMax = spread(ratios[name])
			f.Pairs = len(ratios[name])
			f.Metric.Exact = f.Metric.Exact && !timed && agrees(f.Min, f.Max)
			g.figures[figureKey{kind, name}] = f
		}
	}
	for _, m := range metrics {
		if seen[m.Name] {
			g.Metrics = append(g.Metrics, m)
			delete(seen, m.Name)
		}
	}
	for name := range seen { // unknown metrics are last, by name
		g.Metrics = append(g.Metrics, Find(name))
	}
	known := len(g.Metrics) - len(seen)
	slices.SortFunc(g.Metrics[known:], func(a, b Metric) int { return cmp.Compare(a.Name, b.Name) })
	return g
}

// spread returns the median, the minimum and the maximum; NaN without values.
func spread(values []float64) (median, least, greatest float64) {
	if len(values) == 0 {
		return math.NaN(), math.NaN(), math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	median = sorted[n/2]
	if n%2 == 0 {
		median = (sorted[n/2-1] + sorted[n/2]) / 2
	}
	return median, sorted[0], sorted[n-1]
}
