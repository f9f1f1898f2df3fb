package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
)

// ratioChart draws the ratios of a metric to the baseline as dots with the range of the rounds; false without ratios.
func ratioChart(id string, g measure.Group, metric string, kinds []string, baseline string) (Chart, bool) {
	m := measure.Find(metric)
	var figures []measure.Figure
	label, least, most := 0.0, 1.0, 1.0
	for _, kind := range kinds {
		f, ok := g.Figure(kind, metric)
		if !ok || verdictOf(f) == unknown || f.RatioMin <= 0 {
			continue
		}
		figures = append(figures, f)
		label, least, most = max(label, textWidth(kindTitle(kind))), min(least, f.RatioMin), max(most, f.RatioMax)
	}
	s := &svg{id: id}
	const top, value = 30.0, 96.0
	left, bottom := label+12, top+float64(len(figures)*rowHeight)
	marks, at := ratioScale(least, most, left, chartWidth-value-8)
	drawAxis(s, marks, at, top, bottom, "times "+kindTitle(baseline)+", median and range of the rounds")
	s.line("one", at(1), top-4, at(1), bottom)
	less, more := direction(m)
	s.text("tick", "end", at(1)-8, top-10, "← "+less)
	s.text("tick", "start", at(1)+8, top-10, more+" →")
	var desc []string
	for i, f := range figures {
		y := top + float64(i*rowHeight) + rowHeight/2
		s.text("label", "end", left-8, y+4, kindTitle(f.Kind))
		class := family(f.Kind)
		text := factor(f.Ratio) + "x" + markText(f)
		if f.Kind == baseline {
			text = "1"
		}
		hover := fmt.Sprintf("%s: %s times, %s to %s in %d rounds; %s", kindTitle(f.Kind), factor(f.Ratio), factor(f.RatioMin),
			factor(f.RatioMax), f.N, withUnit(m, f.Median))
		s.line("stem s-"+class, at(1), y, at(f.Ratio), y)
		if f.RatioMax > f.RatioMin {
			s.line("whisker", at(f.RatioMin), y, at(f.RatioMax), y)
			s.line("whisker", at(f.RatioMin), y-5, at(f.RatioMin), y+5)
			s.line("whisker", at(f.RatioMax), y-5, at(f.RatioMax), y+5)
		}
		if v := verdictOf(f); v == noisy || v == few {
			class += " hollow"
		}
		s.circle("dot f-"+class+" s-"+class, at(f.Ratio), y, 5.5, hover)
		s.text("value", "start", chartWidth-value, y+4, text)
		desc = append(desc, hover)
	}
	s.height = bottom + 40
	heading := fmt.Sprintf("%s on %s, %s", capital(m.Title), engineTitle(g.Engine), paramText(g.Params))
	return s.chart(heading, desc), len(figures) > 1
}

// direction returns the meaning of ratios below and above 1.
func direction(m measure.Metric) (less, more string) {
	switch {
	case m.Name == "rate":
		return "slower", "faster"
	case strings.HasSuffix(m.Unit, "s"): // ms, µs
		return "faster", "slower"
	}
	return "less", "more"
}

// ratioScale is linear from 0, or logarithmic if the ratios are too far apart.
func ratioScale(least, most, from, to float64) ([]float64, func(float64) float64) {
	if most <= 4 {
		marks := ticks(max(most, 1.2), 6)
		end := marks[len(marks)-1]
		return marks, func(v float64) float64 { return from + v/end*(to-from) }
	}
	low, high := math.Log(math.Min(least, 0.8)), math.Log(most*1.1)
	at := func(v float64) float64 { return from + (math.Log(v)-low)/(high-low)*(to-from) }
	var marks []float64
	for power := math.Floor(math.Log10(least)); power <= math.Ceil(math.Log10(most)); power++ {
		for _, digit := range []float64{1, 2, 5} {
			if v := digit * math.Pow(10, power); math.Log(v) >= low && math.Log(v) <= high {
				marks = append(marks, math.Round(v*1e6)/1e6)
			}
		}
	}
	return marks, at
}
