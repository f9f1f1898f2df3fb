package report

import (
	"math"
	"strconv"
	"strings"

	"github.com/sqlflake/sqlflake/benchmarks/internal/document"
	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
)

// withUnit formats a value for a bar or a sentence.
func withUnit(m measure.Metric, value float64) string {
	text := document.Number(value, m.Digits)
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
	c := cell{Value: document.Number(f.Median, f.Metric.Digits), Figure: f}
	if kind == r.Baseline || math.IsNaN(f.Ratio) || f.Verdict == measure.Unknown {
		return c, true
	}
	c.Ratio = document.Factor(f.Ratio) + "×"
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

// caseLabels formats the parameters of cases without those named, or with all if two cases would have the same text.
func caseLabels(groups []measure.Group, without ...string) []string {
	seen := map[string]bool{}
	labels := make([]string, len(groups))
	for i, g := range groups {
		labels[i] = caseText(g.Params, without...)
		if seen[labels[i]] && len(without) > 0 {
			return caseLabels(groups)
		}
		seen[labels[i]] = true
	}
	return labels
}

var paramForms = map[string]string{
	"batch": "# a statement", "rate": "# rows/s", "drawn": "# drawn at once", "create": "# a Create",
	"bulk": "in bulk, # at a time", "of": "of # ones", "style": "#", "fill": "fill factor #", "delay": "# to the server",
	"by": "by #", "added": "# added",
}

func paramText(p measure.Param) string {
	value := p.Value
	if n, err := strconv.Atoi(value); err == nil {
		value = document.Number(float64(n), 0)
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
