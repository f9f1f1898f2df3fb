package measure

import (
	"math"
	"slices"
	"testing"
)

// rounds makes the records of a metric from the runs of a kind and those of the baseline beside it.
func rounds(metric string, base, other []float64) []Record {
	var all []Record
	for i := range base {
		r := Record{Engine: "sqlite", Scenario: "load", Kind: "auto", Beside: "other", Round: i + 1}
		r.Values = map[string]float64{metric: base[i]}
		all = append(all, r)
		r.Kind, r.Beside, r.Values = "other", "", map[string]float64{metric: other[i]}
		all = append(all, r)
	}

	return all
}

func figure(t *testing.T, records []Record, metric string, timed ...string) Figure {
	t.Helper()
	f, ok := Summarize(records, "auto", timed...)[0].Figure("other", metric)
	if !ok {
		t.Fatalf("no figure of %s", metric)
	}
	return f
}

func TestVerdicts(t *testing.T) {
	six := func(v float64) []float64 { return []float64{v, v * 1.001, v * 1.002, v * 1.003, v * 1.004, v * 1.005} }
	for _, test := range []struct {
		name        string
		metric      string
		base, other []float64
		want        Verdict
	}{
		{"faster", "rate", six(100), six(110), Better},
		{"slower", "rate", six(100), six(90), Worse},
		{"a longer time", "time", six(100), six(110), Worse},
		{"within 2 %", "rate", six(100), six(101.2), Same},
		{"five pairs", "rate", six(100)[:5], six(200)[:5], Few},
		{"overlapping", "rate", []float64{90, 95, 100, 105, 110, 115}, []float64{98, 103, 108, 113, 118, 123}, Same},
		{
			"two of eight pairs show the opposite", "rate",
			[]float64{1, 1, 1, 1, 1, 1, 4, 6},
			[]float64{7, 7, 7, 7, 7, 7, 3, 5},
			Same,
		},
		{"exact, one run", "bytes_table", []float64{100}, []float64{103}, Worse},
		{"exact, within 2 %", "bytes_table", []float64{100}, []float64{101.9}, Same},
		{"sizes that differ between rounds", "bytes_table", six(100)[:2], []float64{110, 120}, Few},
		{"of a baseline that differs between rounds", "bytes_table", []float64{100, 110}, []float64{120, 120}, Few},
		{"nothing to divide by", "rate", six(0), six(100), Unknown},
		{"nothing to divide", "time", six(0.0001), six(0), Unknown},
	} {
		if f := figure(t, rounds(test.metric, test.base, test.other), test.metric); f.Verdict != test.want {
			t.Errorf("%s: verdict %d, want %d: %+v", test.name, f.Verdict, test.want, f)
		}
	}

	f := figure(t, rounds("bytes_table", six(100), six(150)), "bytes_table", "load")
	if f.Metric.Exact || f.Verdict != Worse {
		t.Errorf("a timed scenario: %+v", f)
	}
}

func TestRatiosAreThoseOfPrintedValues(t *testing.T) {
	for _, test := range []struct {
		base, other []float64
		want        float64
		digits      int
	}{
		{[]float64{0.2749}, []float64{0.3612}, 0.361 / 0.275, 3},
		{[]float64{0.00112}, []float64{10}, 10 / 0.0011, 2},
		{[]float64{1, 2, 3}, []float64{4, 400, 5}, 2.5, 2}, // medians of all runs, not of the pairs' ratios
	} {
		f := figure(t, rounds("time", test.base, test.other), "time")
		if math.Abs(f.Ratio-test.want) > 1e-9 || f.Metric.Digits != test.digits {
			t.Errorf("%v of %v: %v, %d digits; want %v, %d",
				test.other, test.base, f.Ratio, f.Metric.Digits, test.want, test.digits)
		}
	}
}

func TestRowsOfATable(t *testing.T) {
	all := rounds("rate", []float64{100, 102}, []float64{90, 91})
	for i, r := range slices.Clone(all) {
		if r.Kind == "other" {
			r.Kind = Again
		} else {
			r.Beside = Again
		}
		r.Values = map[string]float64{
			"rate": 104 + float64(i), "rate@9": 1, "rate@10": 1, "of_its_own": 1,
			"bytes_table": 1,
		}
		all = append([]Record{r}, all...)
	}

	g := Summarize(all, "auto")[0]
	var names []string
	for _, m := range g.Metrics {
		names = append(names, m.Name)
	}

	if want := []string{"rate", "rate@9", "rate@10", "bytes_table"}; !slices.Equal(names, want) {
		t.Errorf("metrics %q, want %q", names, want)
	}

	f, _ := g.Figure("auto", "rate")
	if f.N != 4 || f.Median != 103 || f.Ratio != 1 || f.Verdict != Unknown {
		t.Errorf("baseline: %+v", f)
	}
}
