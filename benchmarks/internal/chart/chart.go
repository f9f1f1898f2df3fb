// Package chart draws static SVG.
package chart

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sqlflake/sqlflake/benchmarks/internal/document"
)

const (
	barsWidth = 420 // of a viewBox; narrow, so that text is readable on a phone
	charWidth = 7.0 // of 13 px type, on average
)

// Chart is a picture. Text has all its figures, for screen readers.
type Chart struct {
	Title, Text, Body string
	Width, Height     float64
}

// SVG returns the element. The id is that of its title, unique in the page.
func (c Chart) SVG(id string) string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox="0 0 %s %s" role="img" `+
		`aria-labelledby="%s %s-d"><title id="%s">%s</title><desc id="%s-d">%s</desc>`+"\n%s</svg>",
		at(c.Width), at(c.Height), id, id, id, html.EscapeString(c.Title), id, html.EscapeString(c.Text), c.Body)
}

// at formats a coordinate.
func at(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		v = 0 // an invalid number would hide the whole picture
	}
	return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64)
}

func text(b *strings.Builder, class, anchor string, x, y float64, s string) {
	fmt.Fprintf(b, `<text class="%s" text-anchor="%s" x="%s" y="%s">%s</text>`+"\n",
		class, anchor, at(x), at(y), html.EscapeString(s))
}

func rect(b *strings.Builder, class string, x, y, width, height float64) {
	fmt.Fprintf(b, `<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`+"\n",
		class, at(x), at(y), at(max(width, 0)), at(height))
}

func stroke(b *strings.Builder, class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(b, `<path class="%s" d="M%s %sL%s %s"/>`+"\n", class, at(x1), at(y1), at(x2), at(y2))
}

func width(s string) float64 { return float64(utf8.RuneCountInString(s)) * charWidth }

// Bar is a row of a bar chart. Part of its value is drawn in full colour, the rest pale. Without a label it belongs to the
// bar above.
type Bar struct {
	Label, Class, Text string
	Value, Part        float64
}

// Bars draws a bar for each row, from zero, below its label and beside its text. The legend has lines, or none.
func Bars(title, legend string, bars []Bar) Chart {
	const thick, longest = 11, barsWidth - 150
	y, most := 24.0, 0.0
	for _, one := range bars {
		most = max(most, one.Value)
	}
	c := Chart{Title: title, Width: barsWidth}
	var b strings.Builder
	var figures []string
	text(&b, "head", "start", 0, 14, title)
	for line := range strings.Lines(legend) {
		text(&b, "tick", "start", 0, y+6, strings.TrimSpace(line))
		y += 16
	}
	for _, one := range bars {
		if one.Label != "" {
			text(&b, "", "start", 0, y+13, one.Label)
			y += 18
		}
		long := one.Value / most * longest
		text(&b, "", "end", barsWidth, y+10, one.Text)
		full := long
		if part := one.Part / one.Value; part > 0 && part < 1 {
			full = long * part
			rect(&b, "pale f-"+one.Class, full, y, long-full, thick)
		}
		rect(&b, "f-"+one.Class, 0, y, full, thick)
		y += 15
		figures = append(figures, strings.TrimSpace(one.Label+" "+one.Text))
	}
	c.Height, c.Text, c.Body = y, strings.Join(figures, "; ")+".", b.String()
	return c
}

// Curve is a line of a line chart, of at least two points.
type Curve struct {
	Label, Class string
	Points       [][2]float64
}

// Lines draws curves from zero. The horizontal axis is logarithmic if it spans a factor of 10 or more.
func Lines(title, below string, curves []Curve) Chart {
	const left, top, bottom, high = 46, 30, 40, 300
	c := Chart{Title: title, Width: barsWidth + 40, Height: high}
	low, far, most, right := math.Inf(1), 0.0, 0.0, 0.0
	var marks []float64 // where something was measured
	for _, one := range curves {
		right = max(right, width(one.Label)+10)
		for _, p := range one.Points {
			low, far, most, marks = min(low, p[0]), max(far, p[0]), max(most, p[1]), append(marks, p[0])
		}
	}
	scale := func(v float64) float64 { return v }
	if low > 0 && far/low >= 10 {
		scale = math.Log10
	}
	x := func(v float64) float64 {
		return left + (scale(v)-scale(low))/(scale(far)-scale(low))*(c.Width-left-right)
	}
	rows := ticks(most, 4)
	y := func(v float64) float64 { return high - bottom - v/rows[len(rows)-1]*(high-top-bottom) }
	var b strings.Builder
	text(&b, "head", "start", 0, 14, title)
	for _, v := range rows {
		stroke(&b, "grid", left, y(v), c.Width-right, y(v))
		text(&b, "tick", "end", left-6, y(v)+4, document.Short(v))
	}
	slices.Sort(marks)
	for next := math.Inf(-1); len(marks) > 0; marks = marks[1:] {
		if v := marks[0]; x(v) >= next {
			next = x(v) + width(document.Short(v)) + 12
			stroke(&b, "grid", x(v), top, x(v), high-bottom)
			text(&b, "tick", "middle", x(v), high-bottom+16, document.Short(v))
		}
	}
	text(&b, "tick", "middle", (left+c.Width-right)/2, high-6, below)
	slices.SortStableFunc(curves, func(a, b Curve) int { return int(1e6 * (y(last(a)) - y(last(b)))) })
	var figures []string
	floor := 0.0 // labels are 15 units apart, and the last is above the axis
	for i, one := range curves {
		var d []string
		for _, p := range one.Points {
			d = append(d, at(x(p[0]))+" "+at(y(p[1])))
			figures = append(figures, fmt.Sprintf("%s at %s: %s", one.Label, document.Short(p[0]), document.Number(p[1], 0)))
		}
		fmt.Fprintf(&b, `<path class="curve s-%s" d="M%s"/>`+"\n", one.Class, strings.Join(d, "L"))
		floor = max(floor+15, min(y(last(one))+4, high-bottom-15*float64(len(curves)-1-i)))
		text(&b, "", "start", c.Width-right+8, floor, one.Label)
	}
	c.Text, c.Body = strings.Join(figures, "; ")+".", b.String()
	return c
}

func last(c Curve) float64 { return c.Points[len(c.Points)-1][1] }

// ticks returns about n round numbers from 0 to at least most.
func ticks(most float64, n int) []float64 {
	if most <= 0 || math.IsNaN(most) || math.IsInf(most, 0) {
		return []float64{0, 1}
	}
	step := math.Pow(10, math.Floor(math.Log10(most/float64(n))))
	for _, round := range []float64{1, 2, 5, 10} {
		if step*round*float64(n) >= most {
			step *= round
			break
		}
	}
	all := []float64{0}
	for i := 1; all[len(all)-1] < most*(1-1e-9); i++ {
		all = append(all, float64(i)*step)
	}
	return all
}
