package report

import (
	"math"
	"strconv"
	"strings"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
)

// number formats a value with commas between thousands.
func number(value float64, digits int) string {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return "–"
	}
	text := strconv.FormatFloat(math.Abs(value), 'f', digits, 64)
	whole, rest, _ := strings.Cut(text, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if rest != "" {
		whole += "." + rest
	}
	if value < 0 {
		return "-" + whole
	}
	return whole
}

// factor formats a ratio with about three digits.
func factor(ratio float64) string {
	switch {
	case math.IsNaN(ratio) || math.IsInf(ratio, 0):
		return "–"
	case ratio >= 99.5:
		return number(ratio, 0)
	case ratio >= 9.95:
		return number(ratio, 1)
	case ratio > 0 && ratio < 0.0995:
		return number(ratio, 3)
	}
	return number(ratio, 2)
}

// withUnit formats a value for a bar or a sentence.
func withUnit(m measure.Metric, value float64) string {
	text := number(value, m.Digits)
	switch m.Unit {
	case "":
		return text
	case "1/s":
		return text + "/s"
	}
	return text + " " + m.Unit
}

// cell is a figure in a table: its value, its ratio to the baseline, and the verdict as a class, a sign and a word.
type cell struct {
	Head, Rule                      string // the title of its column, the family of its kind
	Value, Ratio, Class, Sign, Word string
	Figure                          measure.Figure
}

// strong is the cost, or the gain, from which a cell has the stronger colour.
const strong = 1.5

func (r Report) cell(g measure.Group, kind, metric string) (cell, bool) {
	f, ok := g.Figure(kind, metric)
	if !ok {
		return cell{Value: "–"}, false
	}
	c := cell{Value: number(f.Median, f.Metric.Digits), Figure: f}
	if kind == r.Baseline || math.IsNaN(f.Ratio) || f.Verdict == measure.Unknown {
		return c, true
	}
	c.Ratio = factor(f.Ratio) + "×"
	switch f.Verdict {
	case measure.Few:
		c.Class, c.Sign, c.Word = "few", "?", "too few rounds"
	case measure.Same:
		c.Class, c.Sign, c.Word = "same", "=", "no difference shown"
		if unsure(f) {
			c.Sign, c.Word = "~", "not certain"
		}
	case measure.Better:
		c.Class, c.Sign, c.Word = "better", "▲", "better"
	default:
		c.Class, c.Sign, c.Word = "worse", "▼", "worse"
	}
	if cost := cost(f); (c.Class == "worse" && cost >= strong) || (c.Class == "better" && cost <= 1/strong) {
		c.Class += " much"
	}
	return c, true
}

// unsure reports whether a figure seems to differ much, although its rounds do not show it.
func unsure(f measure.Figure) bool {
	const much = 1.25
	return f.Verdict == measure.Same && (f.Ratio >= much || f.Ratio <= 1/much)
}

// Text returns a cell as one text: "22.5 (1.32× ▼)".
func (c cell) Text() string {
	if c.Ratio == "" {
		return c.Value
	}
	return c.Value + " (" + c.Ratio + " " + c.Sign + ")"
}

// cost is the ratio of a figure of which less is better, and its inverse otherwise: more than 1 is worse.
func cost(f measure.Figure) float64 {
	if f.Metric.More {
		return 1 / f.Ratio
	}
	return f.Ratio
}

// caseText formats parameters: "200,000 rows, 1,000 a statement". It leaves out those named.
func caseText(p measure.Params, without ...string) string {
	var parts []string
	for _, param := range p {
		skip := false
		for _, name := range without {
			skip = skip || name == param.Name
		}
		if !skip {
			parts = append(parts, paramText(param))
		}
	}
	return strings.Join(parts, ", ")
}

var paramForms = map[string]string{
	"batch": "# a statement", "rate": "# rows/s", "drawn": "# drawn at once", "create": "# a Create",
	"bulk": "in bulk, # at a time", "of": "of # ones", "style": "#", "fill": "fill factor #", "delay": "# to the server",
	"by": "by #", "added": "# added",
}

func paramText(p measure.Param) string {
	value := p.Value
	if n, err := strconv.Atoi(value); err == nil {
		value = number(float64(n), 0)
	}
	if p.Name == "style" {
		value = strings.NewReplacer("rows", "row by row", "statements", "a statement for each level").Replace(value)
	}
	if form, ok := paramForms[p.Name]; ok {
		return strings.Replace(form, "#", value, 1)
	}
	if one, ok := strings.CutSuffix(p.Name, "s"); ok { // rows, parents, clients, workers, graphs
		if value == "1" {
			return "1 " + one
		}
		return value + " " + p.Name
	}
	return p.Name + " " + value
}

func parse(text string) float64 { n, _ := strconv.ParseFloat(text, 64); return n }

// short formats a round number: "200k", "1.5M".
func short(v float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e6, "M"}, {1e3, "k"}} {
		if v >= unit.size {
			return strconv.FormatFloat(v/unit.size, 'g', 4, 64) + unit.name
		}
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}
