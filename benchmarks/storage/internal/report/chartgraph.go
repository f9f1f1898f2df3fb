package report

import (
	"fmt"
	"slices"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
)

// styled reports whether the groups are different ways to do the same, which share a chart.
func styled(groups []measure.Group) bool { return groups[0].Params.Get("style") != "" }

// graphCharts draws the round trips of all styles, which do not depend on the delay, and the time of all styles for
// each delay.
func (r Report) graphCharts(groups []measure.Group, add func(c Chart, ok bool, text []string), id func() string) {
	var delays []string
	for _, g := range groups {
		if delay := g.Params.Get("delay"); !slices.Contains(delays, delay) {
			delays = append(delays, delay)
		}
	}
	for _, metric := range []string{"round_trips", "time"} {
		for i, delay := range delays {
			if metric == "round_trips" && i > 0 {
				continue
			}
			r.graphChart(groups, metric, delay, add, id)
		}
	}
}

func (r Report) graphChart(
	groups []measure.Group, metric, delay string, add func(c Chart, ok bool, text []string), id func() string,
) {
	m := measure.Find(metric)
	var bars []bar
	var text []string
	for _, g := range groups {
		if g.Params.Get("delay") != delay {
			continue
		}
		style := paramWords(measure.Param{Name: "style", Value: g.Params.Get("style")})
		for _, b := range valueBars(g, m, r.Baseline) {
			b.Label = kindTitle(b.Kind) + ", " + style
			bars = append(bars, b)
		}
		f, ok := g.Figure(focus, metric)
		base, ok2 := g.Figure(r.Baseline, metric)
		if ok && ok2 && verdictOf(f) != unknown && r.Baseline != focus {
			text = append(text, capital(style)+": "+lower(aboutFocus(f, base)))
		}
	}
	heading := fmt.Sprintf("%s on %s", capital(m.Title), engineTitle(groups[0].Engine))
	if delay != "" && metric == "time" {
		heading += ", network delay " + delay
	}
	add(barChart(id(), heading, axisName(m), bars), len(bars) > 1, text)
}
