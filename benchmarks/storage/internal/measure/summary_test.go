package measure

import (
	"math"
	"testing"
)

// rounds makes records of a metric from the baseline's values and those of another kind, round by round.
func rounds(metric string, base, other []float64) []Record {
	var records []Record
	add := func(kind string, values []float64) {
		for i, v := range values {
			records = append(records, Record{
				Engine: "sqlite", Scenario: "load", Kind: kind, Round: i + 1, Values: map[string]float64{metric: v},
			})
		}
	}
	add("auto", base)
	add("other", other)
	return records
}

func TestRatiosAreThoseOfTheSameRound(t *testing.T) {
	for _, test := range []struct {
		name                     string
		base, other              []float64
		median, ratio, low, high float64
		pairs                    int
	}{
		{"odd", []float64{10, 20, 40}, []float64{20, 20, 20}, 20, 1, 0.5, 2, 3},
		{"even", []float64{10, 20, 10, 10}, []float64{10, 10, 30, 40}, 20, 2, 0.5, 4, 4},
		{"the median of ratios is not the ratio of medians", []float64{1, 10, 100}, []float64{10, 1, 10}, 10, 0.1, 0.1, 10, 3},
		{"rounds that the baseline lacks", []float64{10}, []float64{20, 80, 90}, 80, 2, 2, 2, 1},
		{"nothing to divide by", []float64{0, 10, 10}, []float64{7, 10, 30}, 10, 2, 1, 3, 2},
	} {
		g := Summarize(rounds("rate", test.base, test.other), "auto")[0]
		f, ok := g.Figure("other", "rate")
		if !ok || f.Median != test.median || f.Ratio != test.ratio || f.RatioMin != test.low || f.RatioMax != test.high ||
			f.Pairs != test.pairs || f.N != len(test.other) {
			t.Errorf("%s: %+v", test.name, f)
		}
	}
	f, _ := Summarize(rounds("rate", nil, []float64{3, 4, 5}), "auto")[0].Figure("other", "rate")
	if !math.IsNaN(f.Ratio) || f.Tie() || f.Noisy() || f.Few() {
		t.Errorf("without a baseline: %+v", f)
	}
}

func TestTiesAndNoise(t *testing.T) {
	same := []float64{100, 100, 100}
	for _, test := range []struct {
		name             string
		metric           string
		other            []float64
		tie, noisy, thin bool
	}{
		{"within 2 %", "rate", []float64{98.5, 98.6, 98.7}, true, false, false},
		{"at 2 %", "rate", []float64{98, 98, 98}, false, false, false},
		{"above by less", "rate", []float64{101.5, 101.6, 101.9}, true, false, false},
		{"beyond 2 %, all on one side", "rate", []float64{97, 96, 95}, false, false, false},
		{"on both sides", "rate", []float64{95, 110, 111}, true, false, false},
		{"one round at 1", "rate", []float64{100, 110, 111}, true, false, false},
		{"a half apart", "rate", []float64{200, 250, 300}, false, false, false},
		{"more than a half apart", "rate", []float64{200, 250, 301}, false, true, false},
		{"nothing in one round, something in others", "rate", []float64{0, 110, 300}, true, true, false},
		{"nothing in all", "rate", []float64{0, 0, 0}, false, false, false},
		{"two rounds", "rate", []float64{50, 50}, false, false, true},
		{"an exact figure needs one", "bytes_table", []float64{150}, false, false, false},
		{"exact, within 2 %", "bytes_table", []float64{101}, true, false, false},
		{"exact, rounds agree within 1 %", "bytes_table", []float64{110, 110.5, 111}, false, false, false},
		{"not exact: rounds do not agree", "bytes_table", []float64{95, 110, 120}, true, false, false},
	} {
		f, _ := Summarize(rounds(test.metric, same[:len(test.other)], test.other), "auto")[0].Figure("other", test.metric)
		if f.Tie() != test.tie || f.Noisy() != test.noisy || f.Few() != test.thin {
			t.Errorf("%s: tie %t, noisy %t, few %t: %+v", test.name, f.Tie(), f.Noisy(), f.Few(), f)
		}
	}
}

func TestSizesOfTimedScenariosAreNotExact(t *testing.T) {
	records := rounds("density", []float64{90, 90, 90}, []float64{90, 90, 90})
	for _, timed := range []bool{false, true} {
		var names []string
		if timed {
			names = []string{"load"}
		}
		if f, _ := Summarize(records, "auto", names...)[0].Figure("other", "density"); f.Metric.Exact == timed {
			t.Errorf("timed %t: exact %t", timed, f.Metric.Exact)
		}
	}
}

func TestMetricsOfSteps(t *testing.T) {
	m := Find("rate@2000")
	if m.Name != "rate@2000" || !m.More || m.Unit != "1/s" || m.Title != "rows a second, at 2000 rows" {
		t.Errorf("%+v", m)
	}
	if m := Find("else"); m.Name != "else" || m.Exact || m.More {
		t.Errorf("%+v", m)
	}
}
