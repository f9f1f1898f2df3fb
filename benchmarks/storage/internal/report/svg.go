package report

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Chart is a picture with its text.
type Chart struct {
	ID    string // of the element in a page
	Title string
	Desc  string // all its figures, for screen readers
	SVG   string
}

const (
	chartWidth = 760
	rowHeight  = 26
	charWidth  = 7.2 // approximate width of 13 px type
)

// svg writes the elements of a chart.
type svg struct {
	b      strings.Builder
	id     string
	height float64
}

// coordinate formats a position with one decimal, without ".0".
func coordinate(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		v = 0 // callers leave such figures out; an invalid path would hide the others
	}
	return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64)
}

func (s *svg) rect(class string, x, y, width, height float64, hover string) {
	fmt.Fprintf(&s.b, `<rect class="%s" x="%s" y="%s" width="%s" height="%s">%s</rect>`+"\n",
		class, coordinate(x), coordinate(y), coordinate(max(width, 0)), coordinate(height), title(hover))
}

// hatch draws lines over a rectangle.
func (s *svg) hatch(x, y, width, height float64) {
	fmt.Fprintf(&s.b, `<rect class="quiet" fill="url(#%s-hatch)" x="%s" y="%s" width="%s" height="%s"/>`+"\n",
		s.id, coordinate(x), coordinate(y), coordinate(max(width, 0)), coordinate(height))
}

func (s *svg) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(&s.b, `<line class="%s" x1="%s" y1="%s" x2="%s" y2="%s"/>`+"\n",
		class, coordinate(x1), coordinate(y1), coordinate(x2), coordinate(y2))
}

func (s *svg) circle(class string, x, y, r float64, hover string) {
	fmt.Fprintf(&s.b, `<circle class="%s" cx="%s" cy="%s" r="%s">%s</circle>`+"\n",
		class, coordinate(x), coordinate(y), coordinate(r), title(hover))
}

// text writes a text; anchor is start, middle or end.
func (s *svg) text(class, anchor string, x, y float64, text string) {
	fmt.Fprintf(&s.b, `<text class="%s" text-anchor="%s" x="%s" y="%s">%s</text>`+"\n",
		class, anchor, coordinate(x), coordinate(y), html.EscapeString(text))
}

// path joins points.
func (s *svg) path(class string, points [][2]float64) {
	var d strings.Builder
	for i, p := range points {
		d.WriteString(map[bool]string{true: "M", false: "L"}[i == 0] + coordinate(p[0]) + " " + coordinate(p[1]))
	}
	fmt.Fprintf(&s.b, `<path class="%s" d="%s"/>`+"\n", class, d.String())
}

// shape draws one of several marks of a point, so that lines can be distinguished without colour.
func (s *svg) shape(n int, class string, x, y float64, hover string) {
	const r = 4.5
	var d string
	at := func(dx, dy float64) string { return coordinate(x+dx*r) + " " + coordinate(y+dy*r) }
	switch n % 5 {
	case 0:
		s.circle(class, x, y, r, hover)
		return
	case 1:
		d = "M" + at(-1, -1) + "L" + at(1, -1) + "L" + at(1, 1) + "L" + at(-1, 1) + "Z"
	case 2:
		d = "M" + at(0, -1.2) + "L" + at(1.1, 0.9) + "L" + at(-1.1, 0.9) + "Z"
	case 3:
		d = "M" + at(0, -1.3) + "L" + at(1.3, 0) + "L" + at(0, 1.3) + "L" + at(-1.3, 0) + "Z"
	default:
		d = "M" + at(0, 1.2) + "L" + at(1.1, -0.9) + "L" + at(-1.1, -0.9) + "Z"
	}
	fmt.Fprintf(&s.b, `<path class="%s" d="%s">%s</path>`+"\n", class, d, title(hover))
}

func title(hover string) string {
	if hover == "" {
		return ""
	}
	return "<title>" + html.EscapeString(hover) + "</title>"
}

// chart finishes the picture.
func (s *svg) chart(heading string, desc []string) Chart {
	text := strings.Join(desc, "; ") + "."
	// The heading is not a <title>: browsers would show it as a tooltip of the whole chart, instead of the value of a
	// bar.
	head := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox="0 0 %d %s" role="img" `+
		`aria-label="%s" aria-describedby="%s-desc"><desc id="%s-desc">%s</desc>`+"\n"+
		`<defs><pattern id="%s-hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">`+
		`<line class="hatch" x1="0" y1="0" x2="0" y2="6"/></pattern></defs>`+"\n",
		chartWidth, coordinate(s.height), html.EscapeString(heading), s.id, s.id, html.EscapeString(text), s.id)
	return Chart{ID: s.id, Title: heading, Desc: text, SVG: head + s.b.String() + "</svg>"}
}

func textWidth(text string) float64 { return float64(utf8.RuneCountInString(text)) * charWidth }

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

// short formats the number of a tick: "200k", "1.5M", "0.2".
func short(v float64) string {
	switch {
	case v >= 1e6:
		return strconv.FormatFloat(v/1e6, 'g', 6, 64) + "M"
	case v >= 1e4:
		return strconv.FormatFloat(v/1e3, 'g', 6, 64) + "k"
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}

// The colours of kinds differ in lightness, so that colour-blind readers can distinguish them. They are variables, so
// that one SVG works on white, on black and on paper.
const chartColors = `
.chart{--ink:#1b1f24;--soft:#57606a;--grid:#d8dee4;--paper:#fff;
--auto:#6e7781;--snow:#0b6bcb;--uuid:#c2570c;--text:#a3265f;
--h0:#fbe3d3;--h1:#dbe9f8;--h2:#a9cdf0;--h3:#5b9fdd;--h4:#0b5cad;--on3:#1b1f24}
@media (prefers-color-scheme:dark){.chart{--ink:#e6edf3;--soft:#9aa5b1;--grid:#30363d;--paper:#0d1117;
--auto:#9aa5b1;--snow:#58a6ff;--uuid:#f0883e;--text:#f778ba;
--h0:#5a2d14;--h1:#12283f;--h2:#174a7a;--h3:#3d8ad6;--h4:#79b8ff;--on3:#0d1117}}
@media print{.chart{--ink:#000;--soft:#333;--grid:#ccc;--paper:#fff;
--auto:#6e7781;--snow:#0b6bcb;--uuid:#c2570c;--text:#a3265f;
--h0:#fbe3d3;--h1:#dbe9f8;--h2:#a9cdf0;--h3:#5b9fdd;--h4:#0b5cad;--on3:#000}}
`

const chartStyle = chartColors + `
.chart text{font:13px system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;fill:var(--ink)}
.chart .tick,.chart .axis{fill:var(--soft);font-size:12px}
.chart .value{font-variant-numeric:tabular-nums}
.chart .grid{stroke:var(--grid);stroke-width:1}
.chart .base,.chart .one{stroke:var(--soft);stroke-width:1.5}
.chart .whisker{stroke:var(--ink);stroke-width:1.3}
.chart .stem{stroke-width:3;opacity:.45}
.chart .hatch{stroke:var(--paper);stroke-width:4}
.chart .quiet{pointer-events:none}
.chart .f-auto{fill:var(--auto)}.chart .f-snow{fill:var(--snow)}
.chart .f-uuid{fill:var(--uuid)}.chart .f-text{fill:var(--text)}
.chart .s-auto{stroke:var(--auto)}.chart .s-snow{stroke:var(--snow)}
.chart .s-uuid{stroke:var(--uuid)}.chart .s-text{stroke:var(--text)}
.chart .f-legend{fill:var(--soft)}
.chart .pale{opacity:.35}.chart .middle{opacity:.7}
.chart .dot{stroke-width:2}.chart .hollow{fill:var(--paper)}
.chart .curve{fill:none;stroke-width:2}
.chart .dash1{stroke-dasharray:7 3}.chart .dash2{stroke-dasharray:2 3}.chart .dash3{stroke-dasharray:9 3 2 3}
.chart .heat0{fill:var(--h0)}.chart .heat1{fill:var(--h1)}.chart .heat2{fill:var(--h2)}
.chart .heat3{fill:var(--h3)}.chart .heat4{fill:var(--h4)}
.chart .on3{fill:var(--on3)}.chart .on4{fill:var(--paper)}
`
