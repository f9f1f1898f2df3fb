package report

import (
	"fmt"
	"slices"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
)

// part is a segment of a stacked bar.
type part struct {
	Name  string
	Class string // in addition to the family's
	Hatch bool
	Value float64
}

// bar is a row of a bar chart.
type bar struct {
	Kind  string
	Label string // left of the bar; empty: the kind's title
	Parts []part
	Total float64
	Text  string // right of the bar
}

func (b bar) label() string {
	if b.Label != "" {
		return b.Label
	}
	return kindTitle(b.Kind)
}

// barChart draws bars below each other, with a legend if they have several parts.
func barChart(id, heading, axis string, bars []bar) Chart {
	s := &svg{id: id}
	label, value, most := 0.0, 0.0, 0.0
	var legend []part
	seen := map[string]bool{}
	for _, b := range bars {
		label, value, most = max(label, textWidth(b.label())), max(value, textWidth(b.Text)), max(most, b.Total)
		for _, p := range b.Parts {
			if !seen[p.Name] {
				seen[p.Name] = true
				legend = append(legend, p)
			}
		}
	}
	top := 8.0
	if len(legend) > 1 {
		drawLegend(s, legend)
		top = 34
	}
	left, bottom := label+12, top+float64(len(bars)*rowHeight)
	marks := ticks(most, 5)
	scale := (chartWidth - left - value - 14) / max(marks[len(marks)-1], most)
	drawAxis(s, marks, func(v float64) float64 { return left + v*scale }, top, bottom, axis)
	var desc []string
	for i, b := range bars {
		y := top + float64(i*rowHeight)
		s.text("label", "end", left-8, y+17, b.label())
		x := left
		for _, p := range b.Parts {
			width := p.Value * scale
			s.rect("f-"+family(b.Kind)+" "+p.Class, x, y+4, width, rowHeight-8, b.label()+", "+p.Name+": "+number(p.Value, 1))
			if p.Hatch {
				s.hatch(x, y+4, width, rowHeight-8)
			}
			x += width
		}
		s.text("value", "start", x+6, y+17, b.Text)
		desc = append(desc, b.label()+": "+b.Text)
	}
	s.line("base", left, top, left, bottom)
	s.height = bottom + 40
	return s.chart(heading, desc)
}

func drawLegend(s *svg, parts []part) {
	x := 4.0
	for _, p := range parts {
		s.rect("f-legend "+p.Class, x, 6, 16, 14, "")
		if p.Hatch {
			s.hatch(x, 6, 16, 14)
		}
		s.text("label", "start", x+22, 18, p.Name)
		x += 22 + textWidth(p.Name) + 18
	}
}

// drawAxis draws vertical lines with their numbers below.
func drawAxis(s *svg, marks []float64, x func(float64) float64, top, bottom float64, name string) {
	for _, v := range marks {
		s.line("grid", x(v), top, x(v), bottom)
		s.text("tick", "middle", x(v), bottom+16, short(v))
	}
	s.text("axis", "end", chartWidth-4, bottom+34, name)
}

// stackChart draws the bytes of a row: rows, index of the key, other indexes. It returns false without sizes.
func stackChart(id string, g measure.Group, kinds []string, baseline string) (Chart, bool) {
	var bars []bar
	for _, kind := range kinds {
		total, ok := g.Figure(kind, "bytes_table")
		if !ok {
			continue
		}
		rows, _ := g.Figure(kind, "bytes_rows") // it contains the key's index
		secondary, _ := g.Figure(kind, "bytes_secondary")
		b := bar{Kind: kind, Total: total.Median, Text: number(total.Median, 1) + " B"}
		if kind != baseline && hasRatio(total.Metric) && verdictOf(total) != unknown {
			b.Text += ", " + factor(total.Ratio) + "x" + markText(total)
		}
		if primary, ok := g.Figure(kind, "bytes_primary"); ok {
			b.Parts = append(b.Parts,
				part{Name: "rows", Class: "pale", Value: rows.Median - primary.Median},
				part{Name: "index of the primary key", Class: "full", Value: primary.Median})
		} else {
			b.Parts = append(b.Parts, part{Name: "rows with the key", Class: "middle", Value: rows.Median})
		}
		if secondary.Median > 0 {
			b.Parts = append(b.Parts, part{Name: "secondary indexes", Class: "middle", Hatch: true, Value: secondary.Median})
		}
		bars = append(bars, b)
	}
	return barChart(id, fmt.Sprintf("Bytes a row on %s, %s",
		engineTitle(g.Engine), paramText(g.Params)), "bytes a row", bars), len(bars) > 0
}

// valueChart draws one metric; false if fewer than two kinds have it.
func valueChart(id string, g measure.Group, metric, baseline string) (Chart, bool) {
	m := measure.Find(metric)
	bars := valueBars(g, m, baseline)
	heading := fmt.Sprintf("%s on %s, %s", capital(m.Title), engineTitle(g.Engine), paramText(g.Params))
	return barChart(id, heading, axisName(m), bars), len(bars) > 1 && says(g, m)
}

func valueBars(g measure.Group, m measure.Metric, baseline string) []bar {
	var bars []bar
	for _, kind := range g.Kinds {
		f, ok := g.Figure(kind, m.Name)
		if !ok || known(f.Median) == nil || f.Median < 0 {
			continue
		}
		b := bar{
			Kind: kind, Total: f.Median, Text: withUnit(m, f.Median),
			Parts: []part{{Name: m.Title, Class: "full", Value: f.Median}},
		}
		if kind != baseline && hasRatio(m) && verdictOf(f) != unknown {
			b.Text += ", " + factor(f.Ratio) + "x" + markText(f)
		}
		bars = append(bars, b)
	}
	return bars
}

func axisName(m measure.Metric) string {
	if m.Unit == "" || m.Unit == "1/s" || m.Unit == "B" {
		return m.Title
	}
	return m.Title + ", " + m.Unit
}

func markText(f measure.Figure) string {
	switch verdictOf(f) {
	case tie:
		return " = tie"
	case noisy:
		return " ~ noisy"
	case few:
		return " ? few rounds"
	}
	return ""
}

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
