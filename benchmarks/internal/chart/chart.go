// Package chart draws bars as SVG.
package chart

import (
	_ "embed"
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
)

// The columns of a bar chart, in units of its viewBox. It is narrow enough for a phone to show its text.
const (
	barsLeft    = 150 // after the labels
	barsLongest = 300
	valueRight  = 545
	ratioRight  = 600
	barsWidth   = 620
)

// style has colours for light and dark screens and for paper.
//
//go:embed style.css
var style string

// Chart is a part of a picture. Its text has all its figures, for screen readers.
type Chart struct {
	title, text, body string
	height            float64
}

// at formats a coordinate.
func at(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }

func text(b *strings.Builder, class, anchor string, x, y float64, s string) {
	if s == "" {
		return
	}
	fmt.Fprintf(b, `<text class="%s" text-anchor="%s" x="%s" y="%s">%s</text>`+"\n",
		class, anchor, at(x), at(y), html.EscapeString(s))
}

func rect(b *strings.Builder, class string, x, y, width, height float64) {
	fmt.Fprintf(b, `<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`+"\n",
		class, at(x), at(y), at(width), at(height))
}

// Bar is a row of a bar chart. Part of its value has the full colour, the rest is pale. Without a label it belongs to
// the bar above.
type Bar struct {
	Label, Class string
	Note         string // next to the bar, such as who measured it
	Text         string // the value
	Ratio, Sign  string // compared with the baseline, and whether that is better
	Value, Part  float64
}

// Bars draws a bar for each row, from zero: its label on the left, its figures in columns on the right.
func Bars(title, legend string, bars []Bar) Chart {
	const thick = 11
	y, most := 24.0, 0.0
	for _, one := range bars {
		most = max(most, one.Value)
	}

	var b strings.Builder
	var figures []string
	text(&b, "head", "start", 0, 14, title)

	if legend != "" {
		text(&b, "tick", "start", 0, y+6, legend)
		y += 16
	}

	for _, one := range bars {
		if one.Label != "" {
			y += 5
			text(&b, "", "start", 0, y+10, one.Label)
		}

		long := one.Value / most * barsLongest
		full := long
		if part := one.Part / one.Value; part > 0 && part < 1 {
			full = long * part
			rect(&b, "pale f-"+one.Class, barsLeft+full, y, long-full, thick)
		}
		rect(&b, "f-"+one.Class, barsLeft, y, full, thick)

		text(&b, "tick", "start", barsLeft+long+6, y+10, one.Note)
		text(&b, "", "end", valueRight, y+10, one.Text)
		text(&b, "", "end", ratioRight, y+10, one.Ratio)
		text(&b, "", "start", ratioRight+3, y+10, one.Sign)
		y += 15

		words := strings.Fields(one.Label + " " + one.Note + " " + one.Text + " " + one.Ratio + one.Sign)
		figures = append(figures, strings.Join(words, " "))
	}

	return Chart{title: title, text: strings.Join(figures, "; ") + ".", body: b.String(), height: y}
}

// SVG returns charts below each other, as one picture.
func SVG(title string, charts ...Chart) string {
	const width = barsWidth + 20
	var body, text strings.Builder
	height := 10.0
	for _, c := range charts {
		fmt.Fprintf(&body, `<g transform="translate(10 %s)">%s</g>`+"\n", at(height), c.body)
		fmt.Fprintf(&text, "%s: %s ", c.title, c.text)
		height += c.height + 14
	}

	// A picture without a size fills the width of a README.
	return fmt.Sprintf(`<svg width="%[1]d" height="%[2]s" xmlns="http://www.w3.org/2000/svg" class="chart" `+
		`viewBox="0 0 %[1]d %[2]s" role="img" aria-labelledby="title title-d"><title id="title">%[3]s</title>`+
		`<desc id="title-d">%[4]s</desc>`+"\n<style>%[5]s</style>\n"+
		`<rect class="back" width="%[1]d" height="%[2]s"/>`+"\n%[6]s</svg>\n",
		width, at(height), html.EscapeString(title), html.EscapeString(text.String()), style, &body)
}
